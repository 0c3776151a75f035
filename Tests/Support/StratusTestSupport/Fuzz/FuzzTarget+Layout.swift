// Fuzzing keys and values: any bytes are refused, or decode and encode to the same bytes (`LayoutChecks`).

import StratusLayout
import StratusModel

extension FuzzTarget {
    package static let key = FuzzTarget(
        name: "key",
        // Type codes, small numbers, the tags of all keyspaces as integers, the beginnings of zone, database and global
        // keys, escapes.
        dictionary: (UInt8(0)...0x40).map { [$0] } + keyspaceTags.map { [0x11, $0] } + [
            [0x11, 0x01, 0x11, 0x01], [0x11, 0x01, 0x10], [0x10, 0x10], [0x01, 0x01], [0x01, 0x02], [0x03, 0x61, 0x00],
            [0x12, 0x01, 0x00],
        ],
        validInput: { random in
            let zone = ZoneKeys(database: DatabaseNumber(1), zone: ZoneNumber(UInt64(1 + random.below(2) * 300)))
            // Each keyspace is equally likely, whatever it belongs to.
            let drawn = random.below(
                ZoneKeyspace.allCases.count + DatabaseKeyspace.allCases.count + GlobalKeyspace.allCases.count)
            let others = drawn - ZoneKeyspace.allCases.count
            if others < 0 { return KeyGenerator.key(of: ZoneKeyspace.allCases[drawn], in: zone, &random) }
            let globals = others - DatabaseKeyspace.allCases.count
            if globals < 0 { return KeyGenerator.key(of: DatabaseKeyspace.allCases[others], &random) }
            return KeyGenerator.key(of: GlobalKeyspace.allCases[globals], &random)
        },
        check: { input in
            let line = KeyDescription.text(of: input)
            if let problem = LayoutChecks.key(input, describedAs: line) { return .violation(problem) }
            return line.hasPrefix("damaged key") ? .refused : .accepted
        })

    /// The tags of all keyspaces, and the first unused one.
    private static let keyspaceTags: ClosedRange<UInt8> = {
        var tags: Set<UInt8> = []
        for keyspace in ZoneKeyspace.allCases { tags.insert(keyspace.rawValue) }
        for keyspace in DatabaseKeyspace.allCases { tags.insert(keyspace.rawValue) }
        for keyspace in GlobalKeyspace.allCases { tags.insert(keyspace.rawValue) }
        return 1...((tags.max() ?? 0) + 1)
    }()

    package static let record = FuzzTarget(
        name: "record",
        // Kinds, versions and types; numbers that are too long or too large; text that is not UTF-8.
        dictionary: (UInt8(0)...0x20).map { [$0] } + (UInt8(0x80)...0x8A).map { [$0] } + [
            [0x80, 0x00], [0xFF, 0xFF, 0xFF, 0xFF, 0x0F], [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01],
            [0xC1, 0xBF], [0xED, 0xA0, 0x80], [0xF4, 0x90], [0xFF, 0xFF], [0x01, 0x61], [0x09, 0x01, 0x07],
        ],
        validInput: { random in
            if random.isOne(in: 4) {
                return ParentEntry(
                    parent: RecordGenerator.name(&random), parentSince: RecordGenerator.number(&random),
                    share: random.isOne(in: 2) ? nil : RecordGenerator.name(&random),
                    shareSince: RecordGenerator.number(&random), hasChildren: random.isOne(in: 2)
                ).encoded()
            }
            if random.isOne(in: 4) {
                return Tombstone(
                    sequence: RecordGenerator.number(&random), type: "T", parent: RecordGenerator.name(&random),
                    deleted: RecordGenerator.stamp(&random)
                ).encoded()
            }
            // Generated records are small and contain nothing that cannot be stored.
            return (try? RecordCodec.encoded(RecordGenerator.record(&random))) ?? []
        },
        check: { input in
            if let problem = LayoutChecks.record(input) { return .violation(problem) }
            let isRead =
                (try? RecordCodec.decode("name", input.span)) != nil
                || (try? Tombstone(decoding: input.span)) != nil || (try? ParentEntry(decoding: input.span)) != nil
            return isRead ? .accepted : .refused
        })
}
