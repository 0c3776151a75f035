// Fuzzing keys and values: any bytes are refused, or read so that writing gives the same bytes (`LayoutChecks`).

import StratusLayout
import StratusModel

extension FuzzTarget {
    package static let key = FuzzTarget(
        name: "key",
        // Type codes, small numbers such as tags, the beginnings of zone, database and global keys, escapes.
        dictionary: (UInt8(0)...0x40).map { [$0] } + (UInt8(1)...18).map { [0x11, $0] } + [
            [0x11, 0x01, 0x11, 0x01], [0x11, 0x01, 0x10], [0x10, 0x10], [0x01, 0x01], [0x01, 0x02], [0x03, 0x61, 0x00],
            [0x12, 0x01, 0x00],
        ],
        validInput: { random in
            let zone = ZoneKeys(database: DatabaseNumber(1), zone: ZoneNumber(UInt64(1 + random.below(2) * 300)))
            let (a, b) = (RecordGenerator.name(&random), RecordGenerator.name(&random))
            let number = RecordGenerator.number(&random)
            switch random.below(18) {
            case 0: return zone.recordChunk(a, index: 1 + random.below(300))
            case 1: return zone.child(parent: a, name: b)
            case 2: return zone.shareCount(parent: random.isOne(in: 2) ? nil : a, name: b)
            case 3: return zone.reference(target: a, source: b, field: "f", action: .deleteSelf)
            case 4: return zone.endedChild(parent: a, child: b, ended: number)
            case 5: return zone.change(sequence: number)
            case 6: return DatabaseKeys(DatabaseNumber(1)).zone(ZoneName(a.text))
            case 7: return GlobalKeys.acceptance(user: UserName(a.text), zone: random.uuid(), share: b)
            case 8: return GlobalKeys.identity(.phone, a.text)
            case 9: return GlobalKeys.identity(.externalID, a.text)
            case 10: return GlobalKeys.zoneUsage(of: UserName(a.text), zone: random.uuid())
            case 11: return GlobalKeys.departure(of: UserName(a.text))
            case 12: return GlobalKeys.shareURL(random.bytes(count: random.below(33)))
            case 13: return zone.shareToken(random.isOne(in: 2) ? nil : a)
            case 14: return zone.shareEvent(sequence: number, index: RecordGenerator.number(&random))
            case 15: return zone.endedAcceptance(user: UserName(a.text), ended: number, share: b)
            case 16: return zone.clientToken(of: UserName(a.text))
            default:
                // Generated elements are far from the depth limit, so writing them cannot fail.
                return (try? zone.field(type: "T", field: "f", value: random.tupleElement(), name: a)) ?? []
            }
        },
        check: { input in
            if let problem = LayoutChecks.key(input) { return .violation(problem) }
            return KeyDescription.text(of: input).hasPrefix("damaged key") ? .refused : .accepted
        })

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
            // Generated records are small and hold nothing that cannot be stored.
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
