// The limits of long-lived operations.

import Foundation
import StratusCloud
import StratusModel
import Testing

@testable import StratusKit

@Suite("Limits of long-lived operations")
struct LongLivedLimitTests {
    private final class Member {}

    private func entry(_ id: String, of account: String?) -> LongLivedEntry {
        LongLivedEntry(id: id, container: "c", account: account, kind: "modifyRecords", request: Data())
    }

    /// The code that joining is refused with.
    private func refusal(_ registry: LongLivedRegistry, _ entry: LongLivedEntry) throws -> CloudError.Code? {
        do {
            _ = try registry.join(entry, as: ObjectIdentifier(Member())) {}
            return nil
        } catch let error as CloudError { return error.code }
    }

    @Test("[O-14] an account at the limit of long-lived operations gets no more, and does not block others")
    func perAccount() throws {
        let store = MemoryLongLivedStore()
        let registry = LongLivedRegistry(store: store, clock: HandClock())
        for number in 1..<LongLivedRegistry.accountLimit { store.save(entry("\(number)", of: "alice")) }
        #expect(try refusal(registry, entry("last", of: "alice")) == nil)
        #expect(try refusal(registry, entry("more", of: "alice")) == .requestRateLimited)
        #expect(throws: CloudError.self) { try registry.checkRoom(for: "alice") }
        // A stored operation can still be joined.
        #expect(try refusal(registry, entry("1", of: "alice")) == nil)
        #expect(try refusal(registry, entry("other", of: "bob")) == nil)
        #expect(try refusal(registry, entry("nobody's", of: nil)) == nil)
        #expect(store.entry("more") == nil)
    }

    @Test("[O-14] operations without a signed-in account are dropped after a month, unless they are running")
    func nobodys() throws {
        let store = MemoryLongLivedStore()
        let clock = HandClock()
        let registry = LongLivedRegistry(store: store, clock: clock)
        let (gone, running) = (Member(), Member())
        for (id, account) in [("old", nil), ("alice's", "alice")] as [(String, String?)] {
            _ = try registry.join(entry(id, of: account), as: ObjectIdentifier(gone)) {}
            try registry.release(id, by: ObjectIdentifier(gone))
        }
        _ = try registry.join(entry("running", of: nil), as: ObjectIdentifier(running)) {}
        clock.advance(bySeconds: 30 * 86_400 - 1)
        _ = try registry.join(entry("new", of: nil), as: ObjectIdentifier(gone)) {}
        try registry.release("new", by: ObjectIdentifier(gone))
        #expect(store.entries().count == 4)
        clock.advance(bySeconds: 1)
        try registry.checkRoom(for: nil)
        #expect(Set(store.entries().map(\.id)) == ["alice's", "running", "new"])
    }

    @Test("[O-14] nothing is kept of a purged account: no operation, no answer, no file")
    func forgotten() throws {
        let store = MemoryLongLivedStore()
        let registry = LongLivedRegistry(store: store, clock: HandClock())
        let directory = try HostDirectory()
        let source = directory.url.appendingPathComponent("source")
        try Data("sunset".utf8).write(to: source)
        let member = Member()
        let file = try #require(try registry.keepFile(source.path, as: 0, of: "a"))
        #expect(file.path != source.path)
        _ = try registry.join(entry("a", of: "alice"), as: ObjectIdentifier(member)) {}
        let waiting = Member()
        _ = try registry.join(entry("a", of: "alice"), as: ObjectIdentifier(waiting)) {}
        _ = try registry.join(entry("b", of: "bob"), as: ObjectIdentifier(member)) {}
        try registry.forget(AccountID("alice"))
        #expect(store.entries().map(\.id) == ["b"])
        #expect(!FileManager.default.fileExists(atPath: file.path))
        // The request was running: its answer reaches the waiting caller, and is not stored.
        try registry.answer(entry("a", of: "alice"), with: Data("answer".utf8))
        let step = try registry.join(entry("a", of: "alice"), as: ObjectIdentifier(waiting)) {}
        if case .replay(let answer) = step { #expect(answer == Data("answer".utf8)) } else { Issue.record("\(step)") }
        #expect(store.entry("a") == nil)
        #expect(try refusal(registry, entry("c", of: "alice")) == .notAuthenticated)
        try registry.answer(entry("b", of: "bob"), with: Data("answer".utf8))
        #expect(store.entry("b")?.answer == Data("answer".utf8))
    }
}
