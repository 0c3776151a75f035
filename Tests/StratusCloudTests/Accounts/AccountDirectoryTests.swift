// Creating, finding and changing accounts on a real store.

import Foundation
@testable import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusTestSupport
import Testing

@Suite("accounts")
struct AccountDirectoryTests {
    private static let alice = AccountDraft(
        externalID: "user-17", handles: [.email("Alice@Example.com"), .phone("+49 30 1234")],
        name: PersonName(given: "Alice", family: "Example"), quotaByteCount: 1_000)

    @Test("an account is found by its identifier, its external identifier, any spelling of a handle, and its user name")
    func lookups() throws {
        let bench = try AccountBench()
        let service = bench.service
        let account = try service.createAccount(Self.alice)
        #expect(account.handles == [.email("alice@example.com"), .phone("+49301234")])
        #expect(account.created == bench.clock.now)
        #expect(account.userName.text.hasPrefix("_"))
        #expect(account.userName.text.count == 33)
        for found in [
            try service.account(account.id), try service.account(externalID: "user-17"),
            try service.account(handle: .email(" ALICE@example.com ")),
            try service.account(handle: .phone("004930/1234")),
            try service.account(userName: account.userName),
        ] { #expect(found == account) }
        #expect(try service.account("nobody") == nil)
        #expect(try service.account(externalID: "user-18") == nil)
        #expect(try service.account(externalID: String(repeating: "x", count: 5_000)) == nil)
        #expect(try service.account(handle: .email("user-17")) == nil)
        #expect(try service.account(handle: .phone("alice@example.com")) == nil)
        #expect(try service.account(userName: UserName(String(repeating: "x", count: 5_000))) == nil)
    }

    @Test("an account is unchanged after the store is reopened")
    func restart() throws {
        let bench = try AccountBench()
        var account = try bench.service.createAccount(Self.alice)
        account = try bench.service.setStanding(.restricted, of: account.id)
        try bench.reopen()
        #expect(try bench.service.account(account.id) == account)
        #expect(try bench.service.account(handle: .email("alice@example.com")) == account)
        try bench.reopen()
        #expect(try bench.service.accounts().accounts == [account])
    }

    @Test("everything about an account can be changed, and its old handles and identifiers no longer find it")
    func changes() throws {
        let bench = try AccountBench()
        let service = bench.service
        let account = try service.createAccount(Self.alice)
        try service.changeAccount(account.id) { $0.handles = [.email("new@example.com")] }
        try service.changeAccount(account.id) { $0.handles.insert(.phone("112 112")) }
        try service.changeAccount(account.id) { $0.externalID = "user-18" }
        try service.changeAccount(account.id) { $0.name = PersonName(nickname: "Al") }
        try service.changeAccount(account.id) { $0.isDiscoverable = false }
        try service.changeAccount(account.id) { $0.quotaByteCount = nil }
        var changed = try #require(try service.account(externalID: "user-18"))
        #expect(changed.handles == [.email("new@example.com"), .phone("112112")])
        #expect(changed.name == PersonName(nickname: "Al"))
        #expect(!changed.isDiscoverable)
        #expect(changed.quotaByteCount == nil)
        #expect(try service.account(externalID: "user-17") == nil)
        #expect(try service.account(handle: .email("alice@example.com")) == nil)
        changed = try service.changeAccount(account.id) { $0.handles.remove(.phone("112112")) }
        #expect(try service.account(handle: .phone("112112")) == nil)
        #expect(try service.account(handle: .email("new@example.com")) == changed)
        // A released handle is free.
        #expect(try service.createAccount(.init(handles: [.email("alice@example.com")])).id != account.id)
    }

    @Test("a handle of another account is refused with a remedy, without saying whose it is")
    func takenHandle() throws {
        let bench = try AccountBench()
        let service = bench.service
        let alice = try service.createAccount(Self.alice)
        let bob = try service.createAccount(.init(externalID: "bob", handles: [.email("bob@example.com")]))
        let wanted: Set<Handle> = [.email("bob@example.com"), .email("ALICE@EXAMPLE.COM")]
        for error in [
            cloudError { try service.changeAccount(bob.id) { $0.handles = wanted } },
            cloudError { try service.changeAccount(bob.id) { $0.handles.insert(.phone("+49301234")) } },
            cloudError { try service.createAccount(.init(handles: wanted)) },
        ] {
            let error = try #require(error)
            #expect(error.code == .constraintViolation)
            #expect(error.message.contains("Remove it there first"))
            for secret in [alice.id.text, alice.userName.text, "user-17", "Alice"] {
                #expect(!"\(error)".contains(secret))
            }
        }
        #expect(try service.account(bob.id) == bob)
        #expect(try service.accounts().accounts.count == 2)
        // One's own handle, written otherwise, is no conflict.
        try service.changeAccount(bob.id) { $0.handles = [.email("BOB@example.com"), .email("b@example.com")] }
    }

    @Test("an external identifier belongs to one account; asking for it creates at most one account")
    func externalID() throws {
        let bench = try AccountBench()
        let service = bench.service
        let alice = try service.createAccount(Self.alice)
        #expect(cloudError { try service.createAccount(.init(externalID: "user-17")) }?.code == .constraintViolation)
        #expect(try service.account(externalID: "user-17", createIfMissing: .init()) == alice)
        let bob = try service.account(externalID: "bob", createIfMissing: .init(name: .init(given: "Bob")))
        #expect(bob.externalID == "bob")
        #expect(bob.name.given == "Bob")
        #expect(try service.account(externalID: "bob", createIfMissing: .init()) == bob)
        #expect(
            cloudError { try service.changeAccount(alice.id) { $0.externalID = "bob" } }?.code == .constraintViolation)
        // An identifier is not a handle and not a user name.
        let odd = try service.createAccount(.init(externalID: "alice@example.com"))
        #expect(try service.account(handle: .email("alice@example.com")) == alice)
        #expect(try service.account(externalID: alice.userName.text) == nil)
        #expect(try service.account(externalID: "alice@example.com") == odd)
    }

    @Test("a change that breaks a limit is refused, and nothing is written")
    func limits() throws {
        let bench = try AccountBench()
        let service = bench.service
        let manyHandles = Set((0...AccountLimits.handleCount).map { Handle.email("\($0)@example.com") })
        let drafts: [AccountDraft] = [
            .init(externalID: ""), .init(externalID: String(repeating: "x", count: 513)), .init(handles: [.email("x")]),
            .init(handles: [.phone("")]), .init(handles: manyHandles), .init(quotaByteCount: -1),
            .init(name: .init(middle: String(repeating: "x", count: 1_025))),
        ]
        for draft in drafts {
            #expect(cloudError { try service.createAccount(draft) }?.code == .invalidArguments, "\(draft)")
        }
        #expect(try service.accounts().accounts.isEmpty)
        #expect(try service.account(handle: .email("0@example.com")) == nil)
        let longest = Handle.email(String(repeating: "x", count: 242) + "@example.com")
        let draft = AccountDraft(externalID: String(repeating: "\u{10FFFF}", count: 128), handles: [longest])
        let account = try service.createAccount(draft)
        #expect(try service.account(handle: longest) == account)
    }

    @Test("changing an account that does not exist is unknownItem")
    func unknown() throws {
        let bench = try AccountBench()
        #expect(cloudError { try bench.service.changeAccount("nobody") { $0.name = .init() } }?.code == .unknownItem)
        #expect(cloudError { try bench.service.deleteAccount("nobody") }?.code == .unknownItem)
    }

    @Test("if the change throws, the account stays as it was")
    func failedChange() throws {
        let bench = try AccountBench()
        let account = try bench.service.createAccount(Self.alice)
        let error = cloudError {
            try bench.service.changeAccount(account.id) { account in
                account.standing = .suspended
                throw CloudError(.operationCancelled, "Changed my mind.")
            }
        }
        #expect(error?.code == .operationCancelled)
        #expect(try bench.service.account(account.id) == account)
    }

    @Test("a store holds a thousand accounts, lists each exactly once in pages, and keeps them over a restart")
    func thousand() throws {
        let bench = try AccountBench()
        try TestThreads.run(8) { thread in
            for index in 0..<125 {
                let number = thread * 125 + index
                let handles: Set<Handle> = [.email("user\(number)@example.com"), .phone("+49\(100_000 + number)")]
                try bench.service.createAccount(.init(externalID: "user-\(number)", handles: handles))
            }
        }
        try bench.reopen()
        let service = bench.service
        var listed: [StoredAccount] = []
        var next: AccountID?
        var pageCount = 0
        repeat {
            let page = try service.accounts(after: next, limit: 64)
            #expect(page.accounts.count <= 64)
            listed += page.accounts
            next = page.next
            pageCount += 1
        } while next != nil
        #expect(pageCount == 16)
        #expect(listed.map(\.id) == listed.map(\.id).sorted())
        #expect(Set(listed.compactMap(\.externalID)) == Set((0..<1_000).map { "user-\($0)" }))
        #expect(Set(listed.map(\.userName)).count == 1_000)
        for account in listed {
            let number = try #require(account.externalID?.dropFirst(5))
            #expect(try service.account(handle: .email("USER\(number)@example.com")) == account)
        }
    }

    @Test("pages end after the last account, for every page size")
    func pages() throws {
        let bench = try AccountBench()
        #expect(try bench.service.accounts() == AccountPage(accounts: [], next: nil))
        for _ in 0..<4 { try bench.service.createAccount(.init()) }
        for limit in [-1, 0, 1, 2, 3, 4, 5, .max] {
            var listed = 0
            var next: AccountID?
            repeat {
                let page = try bench.service.accounts(after: next, limit: limit)
                listed += page.accounts.count
                next = page.next
            } while next != nil
            #expect(listed == 4, "pages of \(limit)")
        }
    }

    @Test("a damaged account fails the page that it is in, and not the page before")
    func damagedPage() throws {
        let bench = try AccountBench()
        for _ in 0..<2 { try bench.service.createAccount(.init()) }
        let all = try bench.service.accounts().accounts
        try bench.service.engine.transact { try $0.set(GlobalKeys.account(all[1].id), to: [0xFF]) }
        let first = try bench.service.accounts(limit: 1)
        #expect(first == AccountPage(accounts: [all[0]], next: all[0].id))
        #expect(throws: CloudError.self) { try bench.service.accounts(after: first.next, limit: 1) }
    }
}
