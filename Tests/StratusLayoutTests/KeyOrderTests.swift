// Order and ranges: bytes sort like the parts, and a range contains exactly what it names.

import StratusLayout
import StratusModel
import StratusStore
import StratusTestSupport
import Testing

@Suite("the order of keys")
struct KeyOrderTests {
    private static let names: [RecordName] = [
        "", "\0", "\0\0", "\u{1}", "a", "a\0", "a\0b", "a\u{1}", "aa", "ab", "b", "e\u{301}", "\u{E9}", "\u{FFFF}",
        "\u{10FFFF}", RecordName(String(repeating: "\u{FFFF}", count: 255)),
    ]
    private let zone = ZoneKeys(database: DatabaseNumber(1), zone: ZoneNumber(2))

    @Test("records sort by the bytes of their names, each directly before its chunks")
    func records() {
        var keys: [[UInt8]] = []
        for name in Self.names.sorted() {
            keys.append(zone.record(name))
            keys += [1, 2, 255, 256, 65_536].map { zone.recordChunk(name, index: $0) }
        }
        expectAscending(keys)
    }

    @Test("children sort by parent, then by child; share counts of records without a parent come first")
    func pairs() {
        let names = Self.names.sorted()
        expectAscending(names.flatMap { parent in names.map { zone.child(parent: parent, name: $0) } })
        let parents: [RecordName?] = [nil] + names
        expectAscending(parents.flatMap { parent in names.map { zone.shareCount(parent: parent, name: $0) } })
        expectAscending(names.flatMap { type in names.map { zone.type(RecordType(type.text), name: $0) } })
    }

    @Test("changes and ended entries sort by number")
    func numbers() {
        let numbers: [UInt64] = [0, 1, 255, 256, 65_535, 65_536, 1 << 32, 1 << 63, .max]
        expectAscending(numbers.map { zone.change(sequence: $0) })
        let names = Self.names.sorted()
        expectAscending(names.flatMap { name in numbers.map { zone.endedParent(child: name, ended: $0) } })
        expectAscending(names.flatMap { name in numbers.map { zone.endedShare(root: name, ended: $0) } })
        expectAscending(
            names.flatMap { parent in
                numbers.flatMap { ended in names.map { zone.endedChild(parent: parent, child: $0, ended: ended) } }
            })
    }

    @Test("references sort by target, source, field and action")
    func references() {
        let names = Self.names.sorted()
        expectAscending(
            names.flatMap { target in
                names.flatMap { source in
                    ["a", "b"].flatMap { (field: FieldKey) in
                        ReferenceAction.allCases.map {
                            zone.reference(target: target, source: source, field: field, action: $0)
                        }
                    }
                }
            })
    }

    @Test("a zone's range contains all keys of the zone and none of another zone, database or the store")
    func zoneRanges() {
        let numbers: [UInt64] = [1, 2, 254, 255, 256, 257, 65_535, 65_536, .max]
        let zones = numbers.flatMap { database in
            numbers.map { ZoneKeys(database: DatabaseNumber(database), zone: ZoneNumber($0)) }
        }
        let keys = zones.map { ($0, [$0.header(), $0.record("\u{10FFFF}"), $0.endedShare(root: "z", ended: .max)]) }
        for zone in zones {
            for (other, otherKeys) in keys {
                #expect(otherKeys.allSatisfy { zone.all.contains($0) == (zone == other) })
                let database = DatabaseKeys(zone.database)
                #expect(otherKeys.allSatisfy { database.all.contains($0) == (zone.database == other.database) })
            }
            #expect(!zone.all.contains(DatabaseKeys(zone.database).zone("z")))
            #expect(!zone.all.contains(GlobalKeys.format()))
        }
    }

    @Test("a keyspace's range contains exactly the zone's keys of that keyspace")
    func keyspaceRanges() {
        for keyspace in ZoneKeyspace.allCases {
            let range = LayoutSamples.zone.keyspace(keyspace)
            for key in LayoutSamples.allKeys {
                #expect(range.contains(key) == (LayoutSamples.zone.keyspace(of: key.span) == keyspace))
            }
        }
    }

    @Test("the ranges of a name contain that name's keys and no others, even for names with common prefixes")
    func nameRanges() {
        for name in Self.names {
            for other in Self.names {
                let isSame = name == other
                #expect(zone.children(of: name).contains(zone.child(parent: other, name: "x")) == isSame)
                #expect(zone.shareCounts(below: name).contains(zone.shareCount(parent: other, name: "x")) == isSame)
                #expect(!zone.shareCounts(below: nil).contains(zone.shareCount(parent: other, name: "x")))
                #expect(zone.recordWithChunks(name).contains(zone.recordChunk(other, index: 3)) == isSame)
                #expect(zone.recordWithChunks(name).contains(zone.record(other)) == isSame)
                #expect(
                    zone.ended(.endedParents, of: name, after: 0).contains(zone.endedParent(child: other, ended: 1))
                        == isSame)
                let reference = zone.reference(target: other, source: "s", field: "f", action: .none)
                #expect(zone.references(to: name).contains(reference) == isSame)
            }
        }
    }

    @Test("a range after an element begins after it and all that belongs to it")
    func rangesAfter() {
        for name in Self.names {
            for other in Self.names {
                let isAfter = name < other
                #expect(zone.records(after: name).contains(zone.record(other)) == isAfter)
                #expect(zone.records(after: name).contains(zone.recordChunk(other, index: 9)) == isAfter)
                let child = zone.child(parent: "p", name: other)
                #expect(zone.children(of: "p", after: name).contains(child) == isAfter)
                #expect(zone.types(of: "T", after: name).contains(zone.type("T", name: other)) == isAfter)
            }
        }
        for sequence: UInt64 in [0, 254, 255, 256, 65_535, .max] {
            for other: UInt64 in [0, 1, 255, 256, 257, 65_536, .max] {
                let isAfter = other > sequence
                #expect(zone.changes(after: sequence).contains(zone.change(sequence: other)) == isAfter)
                let upTo = zone.changes(after: sequence, upTo: 256)
                #expect(upTo.contains(zone.change(sequence: other)) == (isAfter && other <= 256))
                let parent = zone.endedParent(child: "c", ended: other)
                #expect(zone.ended(.endedParents, of: "c", after: sequence).contains(parent) == isAfter)
                let child = zone.endedChild(parent: "p", child: "\u{10FFFF}", ended: other)
                #expect(zone.ended(.endedChildren, of: "p", after: sequence).contains(child) == isAfter)
                let share = zone.endedShare(root: "r", ended: other)
                #expect(zone.ended(.endedShares, of: "r", after: sequence).contains(share) == isAfter)
            }
        }
    }

    @Test("the longest names make keys of at most 2,048 bytes")
    func longestKeys() throws {
        let limit = LayoutLimits.maximumNameByteCount
        for unit in ["\u{FFFF}", "\0", "\u{1}", "a"] {
            let name = RecordName(String(repeating: unit, count: 255))
            #expect(name.text.utf8.count <= limit)
            let long = ZoneKeys(database: DatabaseNumber(.max), zone: ZoneNumber(.max))
            let field = FieldKey(String(repeating: "f", count: LayoutLimits.maximumSchemaNameByteCount))
            let type = RecordType(field.text)
            let value = TupleElement.string(String(repeating: "v", count: IndexedValue.maximumTextByteCount))
            let keys = [
                long.child(parent: name, name: name), long.shareCount(parent: name, name: name),
                long.reference(target: name, source: name, field: field, action: .deleteSelf),
                long.endedChild(parent: name, child: name, ended: .max), long.recordChunk(name, index: .max),
                long.token(name.text, field: field, name: name),
                long.field(type: type, field: field, value: value, name: name),
            ]
            #expect(keys.allSatisfy { $0.count <= 2_048 })
        }
    }

    private func expectAscending(_ keys: [[UInt8]], sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(isStrictlyAscending(keys), sourceLocation: sourceLocation)
        // The check itself must notice two keys that changed places.
        var swapped = keys
        swapped.swapAt(0, keys.count - 1)
        #expect(!isStrictlyAscending(swapped), sourceLocation: sourceLocation)
    }

    private func isStrictlyAscending(_ keys: [[UInt8]]) -> Bool {
        zip(keys, keys.dropFirst()).allSatisfy { $0.lexicographicallyPrecedes($1) }
    }
}
