// Records round-trip, bit by bit, whole, in part, and in chunks.

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusStore
import StratusTestSupport
import Testing

@Suite("records as bytes")
struct RecordCodecTests {
    @Test("a record with a field of every kind decodes equal")
    func everyKind() throws {
        let bytes = try RecordCodec.encoded(LayoutSamples.fullRecord)
        #expect(try RecordCodec.decode("a.txt", bytes.span) == LayoutSamples.fullRecord)
        #expect(try !RecordCodec.isTombstone(bytes.span))
        #expect(try RecordCodec.chunkCount(in: bytes.span) == 1)
    }

    @Test("random records round-trip, including NaN payloads, and single fields decode as in the whole record")
    func roundTrips() throws {
        let seed = SplitMix64.announced("records as bytes")
        var buffer: [UInt8] = []
        for index in 0..<1_000 {
            var random = seed.generator(forCase: index)
            let stored = RecordGenerator.record(&random)
            try RecordCodec.encode(stored, into: &buffer)
            let decoded = try RecordCodec.decode(stored.record.name, buffer.span)
            // A NaN is not equal to itself, so the comparison is of bytes; the parts that have no NaN are compared too.
            #expect(try RecordCodec.encoded(decoded) == buffer)
            #expect(decoded.record.fields.count == stored.record.fields.count)
            #expect(decoded.record.parent == stored.record.parent)
            #expect(decoded.record.share == stored.record.share)
            #expect(decoded.record.type == stored.record.type)
            #expect(decoded.system.changeTag == stored.system.changeTag)
            #expect(decoded.system.changeSequence == stored.system.changeSequence)
            #expect(LayoutChecks.record(buffer) == nil)
            let expected = stored.record.fields.sorted { $0.key < $1.key }.flatMap(Self.references)
            let found = try RecordCodec.headerAndReferences(in: buffer.span).references
            #expect(found.map(\.field) == expected.map(\.field))
            #expect(found.map(\.reference) == expected.map(\.reference))
        }
    }

    private static func references(key: FieldKey, field: Field) -> [(field: FieldKey, reference: RecordReference)] {
        let values = if case .list(let items) = field.value { items } else { [field.value] }
        return values.compactMap { if case .reference(let reference) = $0 { (key, reference) } else { nil } }
    }

    @Test("numbers keep every bit")
    func bits() throws {
        let doubles: [Double] = [
            -0.0, 0, .nan, Double(bitPattern: 0x7FF8_0000_0000_1234), .signalingNaN, -.infinity, .leastNonzeroMagnitude,
        ]
        for double in doubles {
            #expect(try bitPattern(of: read(.double(double))) == double.bitPattern)
            let date = Date(timeIntervalSinceReferenceDate: double)
            #expect(try bitPattern(of: read(.date(date))) == double.bitPattern)
        }
        for number in [Int64.min, -1, 0, 1, .max] {
            let value = try read(.int64(number))
            #expect(value == .int64(number))
        }
    }

    private func bitPattern(of value: FieldValue?) -> UInt64? {
        switch value {
        case .double(let double): double.bitPattern
        case .date(let date): date.timeIntervalSinceReferenceDate.bitPattern
        default: nil
        }
    }

    /// The value after a way through a record's bytes.
    private func read(_ value: FieldValue) throws -> FieldValue? {
        let bytes = try encoded(value)
        return try RecordCodec.decode("a", bytes.span, fields: .only(["f"])).record.fields["f"]?.value
    }

    @Test("each selection of some keys decodes these fields, whatever the others are called")
    func selections() throws {
        let keys: [FieldKey] = [
            "a", "ab", "ac", "b", "ba", "\u{E9}", "e\u{301}", "no small text: a", "no small text: b",
        ]
        var stored = LayoutSamples.smallRecord
        stored.record.fields = [:]
        for (index, key) in keys.enumerated() { stored.record.fields[key] = Field(.int64(Int64(index))) }
        let bytes = try RecordCodec.encoded(stored)
        for bits in 0..<1 << keys.count {
            let selected = Set(keys.indices.filter { bits >> $0 & 1 == 1 }.map { keys[$0] })
            for wanted in [selected, selected.union(["absent"])] {
                let decoded = try RecordCodec.decode("b", bytes.span, fields: .only(wanted))
                #expect(decoded.record.fields == stored.record.fields.only(selected))
            }
        }
    }

    @Test("fields that are not requested are left out; the header and the system fields are always included")
    func selection() throws {
        let full = LayoutSamples.fullRecord
        let bytes = try RecordCodec.encoded(full)
        let none = try RecordCodec.decode("a.txt", bytes.span, fields: .none)
        #expect(none.record.fields.isEmpty)
        #expect(none.system == full.system)
        #expect(none.record.parent == "folder")
        let two = try RecordCodec.decode("a.txt", bytes.span, fields: .only(["int", "secret", "absent"]))
        #expect(Set(two.record.fields.keys) == ["int", "secret"])
        #expect(two.record.fields["secret"] == full.record.fields["secret"])
        let header = try RecordHeader(decoding: bytes.span)
        #expect(header.type == "File")
        #expect(header.parent == "folder")
        #expect(header.share == "Share-1")
        #expect(header.system == full.system)
    }

    @Test("fields whose keys are canonically equivalent are two fields")
    func equivalentKeys() throws {
        var stored = LayoutSamples.smallRecord
        stored.record.fields = ["\u{E9}": Field(.int64(1)), "e\u{301}": Field(.int64(2))]
        let bytes = try RecordCodec.encoded(stored)
        let decoded = try RecordCodec.decode("b", bytes.span)
        #expect(decoded.record.fields["\u{E9}"]?.value == .int64(1))
        #expect(decoded.record.fields["e\u{301}"]?.value == .int64(2))
    }

    @Test("a record that cannot be stored is refused with the reason")
    func refusals() throws {
        let reference = RecordReference(target: "x", action: .none)
        let values: [FieldValue] = [
            .list([.int64(1), .string("a")]), .list([.list([])]), .list([.reference(reference), .int64(1)]),
            .asset(AssetDescriptor(digest: [1, 2], byteCount: 2)),
        ]
        for value in values {
            let error = #expect(throws: StoreError.self) { try encoded(value) }
            #expect(error?.code == .invalidRequest)
        }
        var stored = LayoutSamples.smallRecord
        stored.record.fields["big"] = Field(.bytes([UInt8](repeating: 0, count: 1_300_000)))
        let error = #expect(throws: StoreError.self) { try RecordCodec.encoded(stored) }
        #expect(error?.code == .invalidRequest)
    }

    @Test("a tombstone is recognised by its first byte, and never decodes as a live record")
    func tombstones() throws {
        let tombstone = Tombstone(sequence: 5, type: "T", parent: "p", deleted: LayoutSamples.stamp)
        let bytes = tombstone.encoded()
        #expect(try RecordCodec.isTombstone(bytes.span))
        #expect(try Tombstone(decoding: bytes.span) == tombstone)
        #expect(throws: StoreError.self) { try RecordCodec.decode("a", bytes.span) }
        #expect(throws: StoreError.self) { try RecordHeader(decoding: bytes.span) }
        let live = try RecordCodec.encoded(LayoutSamples.smallRecord)
        #expect(throws: StoreError.self) { try Tombstone(decoding: live.span) }
        let empty: [UInt8] = []
        #expect(throws: StoreError.self) { try RecordCodec.isTombstone(empty.span) }
    }

    private func encoded(_ value: FieldValue) throws -> [UInt8] {
        var stored = LayoutSamples.smallRecord
        stored.record.fields = ["f": Field(value)]
        return try RecordCodec.encoded(stored)
    }
}

@Suite("change tags")
struct ChangeTagTests {
    @Test("different numbers give different tags")
    func differentTexts() {
        var random = SplitMix64.announced("change tags")
        var seen: [String: [UInt64]] = [:]
        let edges: [UInt64] = [0, 1, 35, 36, .max]
        for index in 0..<2_000 {
            let sequence = index < edges.count ? edges[index] : RecordGenerator.number(&random)
            let salt = random.element(of: [0, 1, .max, UInt32(truncatingIfNeeded: random.next())])
            let text = ChangeTag.text(sequence: sequence, salt: salt)
            #expect(
                seen.updateValue([sequence, UInt64(salt)], forKey: text).map { $0 == [sequence, UInt64(salt)] } ?? true)
        }
    }
}

@Suite("records in chunks")
struct RecordChunksTests {
    private static let limit = LayoutLimits.maximumChunkByteCount

    private func record(byteCount: Int, sequence: UInt64 = 9) throws -> (StoredRecord, [UInt8]) {
        var random = SplitMix64(seed: UInt64(byteCount))
        let system = SystemFields(
            changeSequence: sequence, tagSalt: 5,
            created: LayoutSamples.stamp, modified: LayoutSamples.stamp)
        let field = Field(.bytes(random.bytes(count: byteCount)))
        let record = Record(name: "big", type: "T", fields: ["bytes": field])
        let stored = StoredRecord(record: record, system: system)
        return (stored, try RecordCodec.encoded(stored))
    }

    @Test(
        "a record up to the limit is one value, and a larger one is chunks within the limit that join to the same bytes"
    )
    func roundTrips() throws {
        for byteCount in [0, 99_000, 99_900, 99_950, 100_000, 100_001, 199_900, 199_968, 200_100, 500_000, 1_000_000] {
            let (stored, value) = try record(byteCount: byteCount)
            let chunks = try RecordChunks.split(value, record: "big", changeSequence: 9)
            #expect((chunks.count == 1) == (value.count <= Self.limit))
            #expect(chunks.allSatisfy { $0.count <= Self.limit })
            let first = try #require(chunks.first)
            #expect(try RecordCodec.chunkCount(in: first.span) == chunks.count)
            #expect(try RecordHeader(decoding: first.span).system == stored.system)
            #expect(try RecordChunks.join(chunks) == value)
            #expect(try !RecordCodec.isTombstone(first.span))
        }
    }

    @Test("a missing, duplicate, swapped, truncated or foreign chunk is corruption")
    func damage() throws {
        let chunks = try RecordChunks.split(try record(byteCount: 450_000).1, record: "big", changeSequence: 9)
        let other = try RecordChunks.split(
            try record(byteCount: 450_000, sequence: 10).1, record: "big", changeSequence: 10)
        try #require(chunks.count == 5)
        var damaged: [[[UInt8]]] = chunks.indices.map { index in
            var rest = chunks
            rest.remove(at: index)
            return rest
        }
        damaged += chunks.indices.map { index in Array(chunks[0...index] + chunks[index...]) }
        damaged += chunks.indices.map { index in
            var mixed = chunks
            mixed[index] = other[index]
            return mixed
        }
        damaged += chunks.indices.map { index in
            var cut = chunks
            cut[index].removeLast()
            return cut
        }
        damaged.append([chunks[0], chunks[2], chunks[1], chunks[3], chunks[4]])
        damaged.append([])
        for chunks in damaged {
            let error = #expect(throws: StoreError.self) { try RecordChunks.join(chunks) }
            #expect(error?.code == .corruption)
        }
        for chunk in chunks { #expect(throws: StoreError.self) { try RecordCodec.decode("big", chunk.span) } }
    }

    @Test("a value over the limit is refused")
    func tooLarge() {
        let value = [UInt8](repeating: 0, count: 2_000_000)
        let error = #expect(throws: StoreError.self) {
            try RecordChunks.split(value, record: "big", changeSequence: 1)
        }
        #expect(error?.code == .invalidRequest)
    }
}
