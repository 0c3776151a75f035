// Entries of indexes for queries are tallied and not looked up, and every planted fault in them must be found and named
// all the same.

import Foundation
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import Testing

@Suite("Verification of indexes for queries")
struct QueryIndexVerifierTests {
    private static let texts = ["red fox", "blue whale", "red panda", "grey owl"]

    private func indexed() throws -> SampleZone {
        let sample = try SampleZone()
        var request = MutationRequest([], stamp: SampleZone.stamp, tagSalt: 7)
        for (number, text) in Self.texts.enumerated() {
            let fields: RecordFields = ["age": Field(.int64(Int64(number))), "title": Field(.string(text))]
            request.mutations.append(.save(Record(name: RecordName("n\(number)"), type: "Note", fields: fields)))
        }
        request.queryIndexes = ["Note": ["age": [.values, .missing], "title": .all]]
        let sent = request
        try sample.engine.transact { _ = try $0.apply(sent, in: sample.id) }
        return sample
    }

    private func indexEntries(_ sample: SampleZone) throws -> [(key: [UInt8], value: [UInt8])] {
        let keys = try sample.keys()
        return try sample.entries().filter {
            [.fields, .tokens].contains(keys.keyspace(of: $0.key.span))
        }
    }

    @Test("a removed entry is reported missing, by its key, and nothing else is")
    func missing() throws {
        let sample = try indexed()
        #expect(try sample.engine.verify().isClean)
        let entries = try indexEntries(sample)
        // Four ages, four titles, eight words.
        #expect(entries.count == 16)
        for entry in entries {
            try sample.plant(nil, at: entry.key)
            let report = try sample.engine.verify()
            #expect(report.summary == "1 missing, 0 dangling, 0 wrong counts")
            #expect(report.findings.map(\.place) == [KeyDescription.text(of: entry.key)])
            try sample.plant(entry.value, at: entry.key)
        }
        #expect(try sample.engine.verify().isClean)
    }

    @Test("an entry that replaces another, with an unchanged count, is dangling, and the other missing")
    func replaced() throws {
        let sample = try indexed()
        let keys = try sample.keys()
        var planted: [UInt8] = []
        keys.fieldEntry(type: "Note", field: "age", element: .double(7), name: "n1", into: &planted)
        for entry in try indexEntries(sample) where keys.keyspace(of: entry.key.span) == .fields {
            try sample.plant(nil, at: entry.key)
            try sample.plant(entry.value, at: planted)
            let report = try sample.engine.verify()
            #expect(report.missingCount == 1, "\(report.findings)")
            #expect(report.danglingCount == 1, "\(report.findings)")
            try sample.plant(entry.value, at: entry.key)
            try sample.plant(nil, at: planted)
        }
        #expect(try sample.engine.verify().isClean)
    }

    @Test("an entry with another value is wrong")
    func wrong() throws {
        let sample = try indexed()
        for entry in try indexEntries(sample) {
            try sample.plant(entry.value + [1], at: entry.key)
            #expect(try !sample.engine.verify().isClean, "\(KeyDescription.text(of: entry.key))")
            try sample.plant(entry.value, at: entry.key)
        }
        #expect(try sample.engine.verify().isClean)
    }

    @Test("without faults no entry is looked up")
    func cost() throws {
        let sample = try indexed()
        let before = sample.store.statistics.cost.reads
        #expect(try sample.engine.verify().isClean)
        let indexed = sample.store.statistics.cost.reads - before
        let plain = try SampleZone()
        let records = Self.texts.indices.map { RecordMutation.save(Record(name: RecordName("n\($0)"), type: "Note")) }
        let request = MutationRequest(records, stamp: SampleZone.stamp, tagSalt: 7)
        try plain.engine.transact { _ = try $0.apply(request, in: plain.id) }
        let start = plain.store.statistics.cost.reads
        #expect(try plain.engine.verify().isClean)
        #expect(indexed <= plain.store.statistics.cost.reads - start + 2)
    }

    @Test("next to an unfinished index the others are counted, and every fault in either is found once")
    func unfinished() throws {
        let sample = try indexed()
        let keys = try sample.keys()
        try sample.engine.transact { transaction in
            let wanted: [FieldKey: QueryIndexKinds] = ["age": [.values, .missing], "title": .all, "place": .missing]
            try transaction.setQueryIndexes(wanted, of: "Note", in: try transaction.existingZone(sample.id))
        }
        #expect(try sample.engine.read { try $0.existingZone(sample.id).queryIndexes(of: "Note").isUnfinished })
        let before = sample.store.statistics.cost.reads
        #expect(try sample.engine.verify().isClean)
        let reads = sample.store.statistics.cost.reads - before
        for entry in try indexEntries(sample) {
            try sample.plant(nil, at: entry.key)
            #expect(try sample.engine.verify().summary == "1 missing, 0 dangling, 0 wrong counts")
            try sample.plant(entry.value, at: entry.key)
        }
        for (field, name) in [("age", "n1"), ("place", "stranger")] {
            var planted: [UInt8] = []
            keys.fieldEntry(
                type: "Note", field: FieldKey(field), element: .double(7), name: RecordName(name), into: &planted)
            try sample.plant(EmptyEntry().encoded(), at: planted)
            let report = try sample.engine.verify()
            #expect(report.summary == "0 missing, 1 dangling, 0 wrong counts", "\(report.findings)")
            try sample.plant(nil, at: planted)
        }
        try sample.engine.buildIndexes(pause: {})
        let start = sample.store.statistics.cost.reads
        #expect(try sample.engine.verify().isClean)
        // Three more for the work in hand, and none for the sixteen entries of the other indexes.
        #expect(reads <= sample.store.statistics.cost.reads - start + 3)
    }

    @Test("a changed value leaves no entry of the old value, and a deleted record none")
    func changed() throws {
        let sample = try indexed()
        try sample.apply(
            .save(Record(name: "n1", type: "Note", fields: ["age": Field(.int64(40)), "title": Field(.string("ant"))])))
        // Two words, blue and whale, are one now.
        #expect(try indexEntries(sample).count == 15)
        #expect(try sample.engine.verify().isClean)
        try sample.apply(.delete("n1"))
        #expect(try indexEntries(sample).count == 12)
        #expect(try sample.engine.verify().isClean)
    }
}
