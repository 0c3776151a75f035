// Queries, their predicates, orders and cursors in archives and copies.

import Foundation
import StratusCloud
import StratusRecords
import StratusTestSupport
import Testing

@testable import StratusKit

@Suite struct QueryArchiveTests {
    /// The object after each kind of archive.
    private func archived<Object: NSObject & NSSecureCoding>(_ object: Object) throws -> [Object] {
        let data = try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: true)
        return [
            try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: Object.self, from: data)),
            try StratusArchive.decode(Object.self, from: data),
        ]
    }

    @Test("a query round-trips through an archive")
    func query() throws {
        let query = CKQuery(
            recordType: "Note",
            predicate: NSPredicate(
                format: "a = %@ AND NOT b IN %@ AND #in > %@ AND place = %@ AND self CONTAINS 'ä'", PredicateSamples.id,
                ["x", "ü"], PredicateSamples.date, PredicateSamples.place))
        query.sortDescriptors = [
            NSSortDescriptor(key: "größe", ascending: false),
            CKLocationSortDescriptor(key: "place", relativeLocation: PredicateSamples.place),
        ]
        for copy in try archived(query) + [#require(query.copy() as? CKQuery)] {
            #expect(copy !== query)
            #expect(copy.recordType == "Note")
            #expect(copy.predicate == query.predicate)
            #expect(copy.sortDescriptors?.count == 2)
            #expect(copy.sortDescriptors?.first == query.sortDescriptors?.first)
            #expect(
                (copy.sortDescriptors?.last as? CKLocationSortDescriptor)?.relativeLocation.coordinate.latitude == 52)
        }
        let plain = CKQuery(recordType: "T", predicate: NSPredicate(value: true))
        for copy in try archived(plain) {
            #expect(copy.sortDescriptors == nil)
            #expect(copy.predicate == NSPredicate(value: true))
        }
    }

    @Test("[X-25] mistakes are kept in archives and copies")
    func mistakes() throws {
        for predicate in [
            NSPredicate(format: "a = "), NSPredicate { _, _ in true }, NSPredicate(format: "a = %@", UUID()),
            NSPredicate(format: "a = 1 OR b = 2"),
        ] {
            let query = CKQuery(recordType: "Note", predicate: predicate)
            let told = PredicateSamples.lowered(query.predicate)
            #expect(told.first?.hasPrefix("! ") == true)
            for copy in try archived(query) { #expect(PredicateSamples.lowered(copy.predicate) == told) }
        }
    }

    @Test("every predicate round-trips through an archive")
    func predicates() throws {
        var generator = PredicateGenerator(SplitMix64.announced("archived predicates"))
        for number in 0..<60 {
            let syntax = generator.syntax(depth: number % 4)
            let query = CKQuery(recordType: "Note", predicate: FormatPredicate(.success(syntax)))
            for copy in try archived(query) {
                #expect(CapturedPredicate(copy.predicate).content == .success(syntax), "number \(number)")
            }
        }
    }

    @Test("changing a compound after it was given to a query does not change the query")
    func compounds() {
        let compound = NSCompoundPredicate(andPredicateWithSubpredicates: [
            NSPredicate(format: "a = 1"), NSPredicate(format: "b = 2"),
        ])
        let query = CKQuery(recordType: "Note", predicate: compound)
        compound.subpredicates = []
        (query.predicate as? NSCompoundPredicate)?.subpredicates = []
        #expect(PredicateSamples.lowered(query.predicate) == ["a equals 1", "b equals 2"])
        #expect((query.predicate as? NSCompoundPredicate)?.subpredicates.count == 2)
    }

    @Test("[Q-14] a cursor round-trips through an archive")
    func cursor() throws {
        let cursor = CKQueryCursor([1, 2, 3])
        for copy in try archived(cursor) {
            #expect(copy == cursor)
            #expect(copy.hash == cursor.hash)
        }
        #expect(CKQueryCursor([1]) != cursor)
        #expect(cursor.copy() as? CKQueryCursor === cursor)
    }

    @Test("[Q-14] a query's work so far is not part of its cursor: neither archives nor equality include it")
    func cursorWork() throws {
        let cursor = CKQueryCursor([1, 2, 3], work: QueryWork(settledCount: 5, openCount: 2))
        #expect(cursor == CKQueryCursor([1, 2, 3]))
        #expect(cursor.hash == CKQueryCursor([1, 2, 3]).hash)
        for copy in try archived(cursor) {
            #expect(copy == cursor)
            #expect(copy.work == QueryWork())
        }
    }

    @Test("[Q-13] sort descriptors for keys have their key and order, and sort records themselves")
    func sortDescriptors() throws {
        let up = NSSortDescriptor(key: "age", ascending: true)
        let down = try #require(up.reversedSortDescriptor as? NSSortDescriptor)
        #expect(up.key == "age")
        #expect(up.ascending)
        #expect(down.key == "age")
        #expect(!down.ascending)
        #expect(up != down)
        #expect(up == NSSortDescriptor(key: "age", ascending: true))
        func record(_ age: Int?) -> CKRecord {
            let record = CKRecord(recordType: "T")
            record["age"] = age
            return record
        }
        #expect(up.compare(record(1), to: record(2)) == .orderedAscending)
        #expect(down.compare(record(1), to: record(2)) == .orderedDescending)
        #expect(up.compare(record(nil), to: record(2)) == .orderedAscending)
        #expect(up.compare(1, to: "x") == .orderedSame)
        let near = CKLocationSortDescriptor(key: "place", relativeLocation: PredicateSamples.place)
        for copy in try archived(near) {
            #expect(copy == near)
            #expect(copy.key == "place")
        }
        let here = CKRecord(recordType: "T")
        here["place"] = PredicateSamples.place
        #expect(near.compare(here, to: record(1)) == .orderedAscending)
    }

    @Test("clients' spellings compile and mean what they say")
    func idioms() {
        let prefix = "x"
        let date = PredicateSamples.date
        let reference = CKRecord.Reference(recordID: PredicateSamples.id, action: .none)
        let predicates = [
            NSPredicate(format: "name BEGINSWITH %@ AND age > %d", prefix, 3), NSPredicate(value: true),
            NSPredicate(format: "recordID = %@", CKRecord.ID(recordName: "x")),
            NSPredicate(format: "modificationDate > %@", date as NSDate),
            NSPredicate(format: "%K == %@", "owner", reference),
            NSPredicate(format: "%K == %@", argumentArray: ["owner", reference]),
            NSPredicate(format: "TRUEPREDICATE"),
            NSCompoundPredicate(andPredicateWithSubpredicates: [NSPredicate(format: "a = %@", prefix)]),
        ]
        func made(_ format: String, _ arguments: any CVarArg...) -> NSPredicate {
            NSPredicate(format: format, argumentArray: arguments)
        }
        #expect(made("name = %@ AND age = %ld", prefix, 3) == NSPredicate(format: "name = 'x' AND age = 3"))
        #expect(
            predicates.map(PredicateSamples.lowered) == [
                ["name beginsWith 'x'", "age greaterThan 3"], [], ["recordID equals →x in _defaultZone"],
                ["modificationDate greaterThan date 500.5"], ["owner equals →x in Notes"], ["owner equals →x in Notes"],
                [], ["a equals 'x'"],
            ])
    }
}
