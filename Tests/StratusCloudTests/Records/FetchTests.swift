// Fetching by name, what it costs, and assets in records.

@testable import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("fetching records")
struct FetchTests {
    @Test("[S-19] a missing record is unknownItem in its position")
    func missing() throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        let saved = try bench.save(.new("a"))[0]
        let request = FetchRecordsRequest(addresses: [
            .note("b"), .note("a"), RecordAddress(recordName: "a"),
            RecordAddress(recordName: "a", zone: ZoneAddress(zoneName: "Other")),
        ])
        let records = try bench.service.fetchRecords(request, as: bench.caller(bench.alice), in: .private).records
        #expect(records.map(\.code) == [.unknownItem, nil, .unknownItem, .zoneNotFound])
        #expect(records[0].error?.innerCode == 2003)
        #expect(try records[1].get() == saved)
    }

    @Test("[T-14] desiredKeys: nil returns all values, an empty set none, and other fields are skipped")
    func desiredKeys() throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        try bench.save(.new("a", ["one": .int64(1), "two": .int64(2)]))
        #expect(try bench.fetch(.note("a")).get().fields.keys.sorted() == ["one", "two"])
        #expect(try bench.fetch(.note("a"), keys: []).get().fields.isEmpty)
        #expect(try bench.fetch(.note("a"), keys: ["two", "three"]).get().fields.keys.sorted() == ["two"])
    }

    @Test(
        "[A-10] duplicates are read once, and a small record costs one store read",
        .enabled(if: TestStores.letCachesAnswer))
    func costs() throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        _ = try bench.modify((0..<100).map { .new("r\($0)", ["n": .int64(1)]) })
        _ = try bench.fetch(.note("r0"))
        func reads(_ addresses: [RecordAddress]) throws -> StoreCost {
            let before = bench.store.statistics.cost
            let request = FetchRecordsRequest(addresses: addresses)
            let answer = try bench.service.fetchRecords(request, as: bench.caller(bench.alice), in: .private)
            #expect(answer.records.allSatisfy { $0.error == nil })
            return bench.store.statistics.cost - before
        }
        let one = try reads([.note("r1")])
        #expect(one.pointReads == 1)
        #expect(one.seeks == 0)
        let hundred = try reads((0..<100).map { .note("r\($0)") })
        #expect(hundred.pointReads == 100)
        #expect(hundred.seeks == 0)
        #expect(try reads([.note("r1"), .note("r1"), .note("r1")]).pointReads == 1)
    }

    @Test("saving 400 new records costs a fixed number of reads per record")
    func saveCosts() throws {
        let bench = try RecordBench(runsBodiesTwice: false)
        try bench.makeNotes()
        try bench.save(.new("first", ["n": .int64(1)]))
        func cost(_ count: Int, _ name: String) throws -> Int {
            let before = bench.store.statistics.cost
            _ = try bench.modify((0..<count).map { .new("\(name)\($0)", ["n": .int64(1)]) }).saves.map { try $0.get() }
            return (bench.store.statistics.cost - before).reads
        }
        let small = try cost(100, "s")
        let large = try cost(400, "l")
        #expect(large - small == 2 * 300)
        #expect(large < 2 * 400 + 20)
    }

    @Test("two files whose names look alike but differ in bytes each have their own content")
    func namesByBytes() throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        let composed = try bench.file("\u{E9}", [1])
        let decomposed = try bench.file("e\u{301}", [2, 2])
        let saved = try bench.save(
            .new("a", ["photo": .asset(.file(path: composed))]), .new("b", ["photo": .asset(.file(path: decomposed))]))
        let sizes = saved.map { record -> Int64? in
            guard case .asset(.content(let content)) = record.fields["photo"]?.value else { return nil }
            return content.byteCount
        }
        #expect(sizes == [1, 2])
    }

    @Test("[R-14] an asset is imported with its record, counted once, and released with the field or the record")
    func assets() throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        let file = try bench.file("photo", [1, 2, 3])
        let saved = try bench.save(.new("a", ["photo": .asset(.file(path: file))]))[0]
        guard case .asset(.content(let content)) = saved.fields["photo"]?.value else {
            Issue.record("no content: \(saved.fields)")
            return
        }
        #expect(content.byteCount == 3)
        #expect(try count(of: content, bench) == 1)
        // Saving the fetched record again keeps the content.
        let again = try bench.save(.change(saved, ["photo": .asset(.content(content)), "n": .int64(1)]))[0]
        #expect(try count(of: content, bench) == 1)
        try bench.save(.new("b", ["photos": .list([.asset(.file(path: file)), .asset(.file(path: file))])]))
        #expect(try count(of: content, bench) == 3)
        try bench.save(.change(again, ["photo": nil]))
        #expect(try count(of: content, bench) == 2)
        _ = try bench.service.modifyZones(
            .init(deletes: [RecordBench.notes]), as: bench.caller(bench.alice), in: .private)
        #expect(try count(of: content, bench) == 2)
        try bench.service.releaseAssets(UpkeepPace(pause: {}))
        #expect(try count(of: content, bench) == nil)
    }

    @Test("[S-07] the assets of a conflict's server record have no content")
    func conflictAssets() throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        let photo = ClientValue.asset(.file(path: try bench.file("photo", [1])))
        try bench.save(.new("a", ["photo": photo, "photos": .list([photo]), "n": .int64(1)]))
        let server = try bench.modify([.new("a")]).saves[0].error?.serverRecord
        #expect(server?.fields["photo"] == ClientField(.asset(.missing)))
        #expect(server?.fields["photos"] == ClientField(.list([.asset(.missing)])))
        #expect(server?.fields["n"] == ClientField(.int64(1)))
        // Merging into that record and saving all of it leaves the assets as they are.
        let before = try bench.fetch(.note("a")).get()
        let merged = try bench.save(.change(try #require(server), ["n": .int64(2)]), policy: .allKeys)[0]
        #expect(merged.fields["photo"] == before.fields["photo"])
        #expect(merged.fields["photos"] == before.fields["photos"])
    }

    @Test("[X-22] content that the stored field does not hold is a claim that counts nothing; missing files fail")
    func claims() throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        let file = try bench.file("photo", [1, 2])
        let saved = try bench.save(.new("a", ["photo": .asset(.file(path: file))]))[0]
        let content = try #require(saved.fields["photo"]).value
        #expect(try bench.modify([.new("b", ["photo": content])]).saves[0].code == .assetNotAvailable)
        #expect(try bench.modify([.change(saved, ["other": content])]).saves[0].code == .assetNotAvailable)
        #expect(try bench.modify([.new("b", ["photo": .asset(.missing)])]).saves[0].code == .assetFileNotFound)
        let commits = bench.commitCount
        let answer = try bench.modify([.new("b", ["photo": .asset(.file(path: file + "-not-there"))]), .new("c")])
        #expect(answer.saves.map(\.code) == [.assetFileNotFound, .batchRequestFailed])
        #expect(bench.commitCount == commits)
    }

    private func count(of content: AssetDescriptor, _ bench: RecordBench) throws -> Int? {
        try bench.service.engine.read { reader in
            try AssetLedger.entry(of: AssetKey(owner: bench.alice.userName, digest: content.digest), in: reader)
                .map { Int($0.count) }
        }
    }
}
