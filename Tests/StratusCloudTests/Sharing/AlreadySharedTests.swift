// No record is in two shares: the answer to each attempt, and the contents of the error.

import StratusCloud
import StratusModel
import Testing

@Suite("already shared")
struct AlreadySharedTests {
    private static func tree(_ bench: RecordBench) throws {
        _ = try bench.modify([
            .new("a"), .new("b", parent: "a"), .new("c", parent: "b"), .new("x"), .new("y", parent: "x"),
        ]).saves.map { try $0.get() }
    }

    private static func check(
        _ error: CloudError?, rule: String, record: String?, root: String?, share: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(error?.code == .alreadyShared, sourceLocation: sourceLocation)
        #expect(error?.fields["rule"] == rule, sourceLocation: sourceLocation)
        #expect(error?.fields["record"] == record, sourceLocation: sourceLocation)
        #expect(error?.fields["root"] == root, sourceLocation: sourceLocation)
        #expect(error?.fields["share"] == share, sourceLocation: sourceLocation)
        for text in [rule, record, root, share].compactMap({ $0 }) {
            #expect(error?.message.contains(text) == true, sourceLocation: sourceLocation)
        }
    }

    private static func shareAgain(
        _ bench: RecordBench, _ root: String, _ name: String
    ) throws -> ModifyRecordsResponse {
        try bench.modify([.change(try bench.fetch(.note(root)).get()), .share(name, root: root)])
    }

    @Test(
        """
        [R-13][SH-07][X-01][X-02] no ancestor or descendant of a root can be a root: the share's error names \
        the conflict
        """)
    func aboveAndBelow() throws {
        let bench = try RecordBench.forSharing()
        try Self.tree(bench)
        try bench.share("b", as: "B")
        let existing = try bench.ownShare("B")
        for root in ["a", "c"] {
            let saves = try Self.shareAgain(bench, root, "New").saves
            #expect(saves[0].code == .batchRequestFailed)
            Self.check(saves[1].error, rule: "SH-07", record: root, root: "b", share: "B")
            #expect(saves[1].error?.serverRecord == existing)
        }
        #expect(try bench.ownShare("B") == existing)
    }

    @Test("[SH-08][X-01] a second share of a root is refused, and a stale root in the batch has its own conflict")
    func same() throws {
        let bench = try RecordBench.forSharing()
        try Self.tree(bench)
        let stale = try bench.fetch(.note("b")).get()
        try bench.share("b", as: "B")
        let existing = try bench.ownShare("B")
        for atomic in [true, false] {
            let saves = try bench.modify([.change(stale), .share("New", root: "b")], atomic: atomic).saves
            #expect(saves[0].code == .serverRecordChanged)
            Self.check(saves[1].error, rule: "SH-08", record: "b", root: "b", share: "B")
            #expect(saves[1].error?.serverRecord == existing)
        }
        let saves = try Self.shareAgain(bench, "b", "New").saves
        Self.check(saves[1].error, rule: "SH-08", record: "b", root: "b", share: "B")
        // With the same name it is an insert over an existing record.
        let again = try Self.shareAgain(bench, "b", "B").saves[1].error
        #expect(again?.code == .serverRecordChanged)
        #expect(again?.message == "record to insert already exists")
        #expect(try bench.ownShare("B") == existing)
    }

    @Test("[SH-07][X-02] a shared subtree cannot be moved under another root")
    func moved() throws {
        let bench = try RecordBench.forSharing()
        try Self.tree(bench)
        try bench.share("c", as: "C")
        try bench.share("x", as: "X")
        for record in ["a", "b", "c"] {
            let save = RecordSave.change(try bench.fetch(.note(record)).get()).with(parent: "y")
            let error = try bench.modify([save]).saves[0].error
            Self.check(error, rule: "SH-07", record: record, root: "x", share: "X")
        }
    }

    @Test("[SH-07][SH-08] two new shares in one request conflict with each other")
    func inOneRequest() throws {
        let bench = try RecordBench.forSharing()
        try Self.tree(bench)
        let (a, c) = (try bench.fetch(.note("a")).get(), try bench.fetch(.note("c")).get())
        let nested = try bench.modify([
            .change(a), .change(c), .share("A", root: "a"), .share("C", root: "c"),
        ]).saves
        #expect(nested.contains { $0.code == .alreadyShared })
        #expect(nested.allSatisfy { $0.code != nil })
        for name in ["A", "C"] { #expect(try !bench.exists(.note(name))) }
        for name in ["a", "c"] { #expect(try bench.fetch(.note(name)).get().share == nil) }
        let twice = try bench.modify([.change(a), .share("A", root: "a"), .share("B", root: "a")]).saves
        #expect(twice.map(\.code) == [.batchRequestFailed, .batchRequestFailed, .alreadyShared])
        let alone = try bench.modify(
            [.change(a), .share("A", root: "a"), .share("B", root: "a")], atomic: false
        ).saves
        #expect(alone.map(\.code) == [nil, nil, .alreadyShared])
        #expect(try bench.fetch(.note("a")).get().share == .parent("A"))
    }

    @Test("[SH-09][X-01] zone-wide and hierarchical shares exclude each other, and a zone has one zone-wide share")
    func zoneWide() throws {
        let bench = try RecordBench.forSharing()
        try Self.tree(bench)
        try bench.share("b", as: "B")
        let whole = try bench.modify([.share("cloudkit.zoneshare", root: nil)]).saves[0].error
        Self.check(whole, rule: "SH-09", record: nil, root: "b", share: "B")
        try bench.delete(.note("B"))
        try bench.shareNotes()
        let existing = try bench.ownShare("cloudkit.zoneshare")
        let hierarchical = try Self.shareAgain(bench, "b", "New").saves[1].error
        Self.check(hierarchical, rule: "SH-09", record: "b", root: nil, share: "cloudkit.zoneshare")
        #expect(hierarchical?.serverRecord == existing)
        let second = try bench.modify([.share("cloudkit.zoneshare", root: nil)]).saves[0].error
        Self.check(second, rule: "SH-09", record: nil, root: nil, share: "cloudkit.zoneshare")
        #expect(second?.serverRecord == existing)
        try bench.delete(.note("cloudkit.zoneshare"))
        let root = RecordSave.change(try bench.fetch(.note("b")).get())
        let shares: [RecordSave] = [.share("B", root: "b"), .share("cloudkit.zoneshare", root: nil)]
        let both = try bench.modify([root] + shares, atomic: false).saves
        #expect(both.map(\.code) == [nil, nil, .alreadyShared])
    }

    @Test("[SH-03][A-05] without atomicity, a new share and its root are one item")
    func unit() throws {
        let bench = try RecordBench.forSharing()
        try Self.tree(bench)
        let stale = try bench.fetch(.note("b")).get()
        try bench.save(.change(stale, ["n": .int64(1)]))
        let saves = try bench.modify(
            [.new("free"), .change(stale), .share("B", root: "b")], atomic: false
        ).saves
        #expect(saves.map(\.code) == [nil, .serverRecordChanged, .batchRequestFailed])
        #expect(try bench.fetch(.note("B")).code == .unknownItem)
        #expect(try bench.fetch(.note("b")).get().share == nil)
        #expect(try bench.shareFindings().isEmpty)
    }
}
