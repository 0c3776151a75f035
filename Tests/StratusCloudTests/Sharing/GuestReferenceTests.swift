// A participant learns nothing of hidden records, neither from their own references to them nor from the hidden
// records' references to what the participant deletes (decision 0019).

import Foundation
import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import Testing

@Suite("references of participants")
struct GuestReferenceTests {
    private let bench: RecordBench

    /// Bob may write below `root`; `hidden` is next to it, with as many references as allowed.
    init() throws {
        bench = try RecordBench.forSharing { $0.owningReferenceCount = 3 }
        try bench.save(.new("root"), .new("page", parent: "root"), .new("hidden"))
        try bench.save(
            .new("a", ["up": .owned(by: "hidden")]), .new("b", ["up": .owned(by: "hidden")]),
            .new("c", ["up": .owned(by: "hidden")]))
        try bench.share("root", as: "Share", with: bench.bob, "bob@example.com")
    }

    private func owned(_ target: String) -> ClientValue { .owned(by: target, in: bench.others()) }

    private func save(_ saves: [RecordSave], atomic: Bool = true) throws -> [Result<ClientRecord, CloudError>] {
        try bench.modify(saves, policy: .changedKeys, atomic: atomic, by: bench.bob, in: .shared).saves
    }

    private func delete(_ name: String, atomic: Bool = true) throws -> Result<Void, CloudError> {
        try bench.modify(deleting: [bench.shared(name)], atomic: atomic, by: bench.bob, in: .shared).deletes[0].map {
            _ in
        }
    }

    /// Bob's feed of the zone after a token, and the next token.
    private func feed(after token: [UInt8]?) throws -> (changes: [String], token: [UInt8]) {
        let page = try bench.page(token, by: bench.bob)
        #expect(!page.isMoreComing)
        return (page.changed.map(Self.text) + page.deleted.map { "deleted \($0)" }, page.token)
    }

    /// All of a record except tag and dates, which every save changes.
    private static func text(_ record: ClientRecord) -> String {
        let fields = record.fields.dictionary.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
        let parts = [
            "\(record.address)", record.type, "\(String(describing: record.parent))", record.lastModifiedUserName,
        ]
        return (parts + fields).joined(separator: ", ")
    }

    private func reference(of name: String, by account: StoredAccount) throws -> ClientReference? {
        let record = try bench.fetch(
            account.id == bench.bob.id ? bench.shared(name) : .note(name), by: account,
            in: account.id == bench.bob.id ? .shared : .private
        ).get()
        guard case .reference(let reference)? = record.fields["up"]?.value else { return nil }
        return reference
    }

    @Test(
        "[R-06][L-05] a participant's reference to a hidden record is answered, stored and reported like a dangling one"
    )
    func alike() throws {
        /// Everything that Bob can learn from a save with this target, and its cost.
        func traces(_ target: String) throws -> [String] {
            let start = try feed(after: nil).token
            let before = try bench.service.usage(of: bench.alice.userName)
            let saves = [
                RecordSave.new(bench.shared("new"), parent: "root", ["up": owned(target)]),
                .new(bench.shared("list"), parent: "root", ["ups": .list([owned("page"), owned(target)])]),
            ]
            var texts = try save(saves).map { try Self.text($0.get()) }
            texts.append("\(try bench.service.usage(of: bench.alice.userName) - before)")
            for name in ["new", "list"] {
                texts.append(Self.text(try bench.fetch(bench.shared(name), by: bench.bob, in: .shared).get()))
            }
            texts += try feed(after: start).changes
            for name in ["new", "list"] { _ = try delete(name).get() }
            return texts.map { $0.replacing(target, with: "TARGET") }
        }
        #expect(try traces("hidden") == traces("absent"))
        #expect(try traces("absent") == traces("hidden"))
    }

    @Test("[R-03] deleting a hidden record deletes no record with a participant's reference to it")
    func hiddenTarget() throws {
        _ = try save([.new(bench.shared("new"), parent: "root", ["up": owned("hidden")])]).map { try $0.get() }
        // A target that is created later makes no difference.
        _ = try save([.new(bench.shared("later"), parent: "root", ["up": owned("unborn")])]).map { try $0.get() }
        try bench.save(.new("unborn"))
        let start = try feed(after: nil).token
        try bench.delete(.note("hidden"), .note("unborn"))
        #expect(try bench.seen(["new", "later"], by: bench.bob) == ["new", "later"])
        #expect(try feed(after: start).changes == [])
        #expect(try !bench.exists(.note("a")))
        #expect(try !bench.exists(.note("b")))
        #expect(try reference(of: "new", by: bench.alice)?.action == ReferenceAction.none)
    }

    @Test("[R-03] a reference to a visible, just created or already stored record cascades like any other")
    func seenTarget() throws {
        let hidden = try bench.fetch(.note("root")).get()
        try bench.save(.new("target"))
        try bench.save(.change(hidden, ["keep": .owned(by: "target")]))
        _ = try save([
            .new(bench.shared("one"), parent: "root", ["up": owned("page")]),
            .new(bench.shared("both"), parent: "root", ["up": owned("made")]),
            .new(bench.shared("made"), parent: "root"),
        ]).map { try $0.get() }
        #expect(try reference(of: "one", by: bench.bob)?.action == .deleteSelf)
        #expect(try reference(of: "both", by: bench.bob)?.action == .deleteSelf)
        // What the owner has stored stays, even if another person saves the record.
        let root = try bench.fetch(bench.shared("root"), by: bench.bob, in: .shared).get()
        _ = try save([.change(root, ["n": .int64(1), "keep": owned("target")])]).map { try $0.get() }
        guard case .reference(let kept)? = try bench.fetch(.note("root")).get().fields["keep"]?.value else {
            Issue.record("the reference is gone")
            return
        }
        #expect(kept.action == .deleteSelf)
        _ = try delete("page").get()
        #expect(try bench.seen(["one", "both", "made"], by: bench.bob) == ["both", "made"])
        _ = try delete("made").get()
        #expect(try bench.seen(["both"], by: bench.bob) == [])
    }

    @Test("a name that a participant cannot use makes no cascading reference", arguments: [true, false])
    func takenName(atomic: Bool) throws {
        let answers = try save(
            [
                .new(bench.shared("new"), parent: "root", ["up": owned("hidden")]),
                .new(bench.shared("hidden"), parent: "root"),
            ], atomic: atomic)
        #expect(answers[1].code == .permissionFailure)
        guard !atomic else { return }
        #expect(try reference(of: "new", by: bench.bob)?.action == ReferenceAction.none)
    }

    @Test(
        "[R-03] a hidden record is deleted with a participant's deletion, without telling them",
        arguments: [true, false])
    func hiddenHolder(atomic: Bool) throws {
        try bench.save(.new("secret", ["page": .owned(by: "page")]))
        let start = try feed(after: nil).token
        #expect(try delete("page", atomic: atomic).code == nil)
        #expect(try !bench.exists(.note("secret")))
        #expect(try feed(after: start).changes.filter { $0.contains("secret") } == [])
    }

    @Test(
        "[R-08] hidden records do not prevent a participant's deletion: they stay",
        arguments: [true, false])
    func heldHolder(atomic: Bool) throws {
        // One has a child, one is the root of another share; a visible one is still deleted.
        try bench.save(.new("secret", ["page": .owned(by: "page")]), .new("deep", parent: "secret"))
        try bench.save(.new("other", ["page": .owned(by: "page")]))
        try bench.share("other", as: "Other")
        try bench.save(.new("seen", parent: "root", ["page": .owned(by: "page")]))
        #expect(try delete("page", atomic: atomic).code == nil)
        for name in ["secret", "deep", "other", "Other"] { #expect(try bench.exists(.note(name)), "\(name)") }
        #expect(try !bench.exists(.note("page")))
        #expect(try !bench.exists(.note("seen")))
        #expect(try bench.service.engine.verify().isClean)
        #expect(try bench.shareFindings().isEmpty)
    }
}
