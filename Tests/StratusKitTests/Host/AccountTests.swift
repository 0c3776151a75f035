// Accounts in the host API: created, found, changed, signed in, deleted.

import Foundation
import StratusKit
import StratusStore
import Testing

@Suite("Host accounts")
struct HostAccountTests {
    private let id = CKRecord.ID(recordName: "a")

    @Test("an account is created once per external identifier, also under concurrent calls")
    func externalID() async throws {
        let store = try await Stratus.inMemory(options: .tested())
        var name = PersonNameComponents()
        name.givenName = "Alice"
        let profile = Stratus.NewAccount(
            emails: ["Alice@Example.com"], phoneNumbers: ["+49 30 1234567"], name: name, quotaByteCount: 1 << 20)
        #expect(try await store.account(externalID: "user-17") == nil)
        let accounts = try await withThrowingTaskGroup(of: Stratus.Account.self) { group in
            for _ in 0..<8 {
                group.addTask { try store.account(externalID: "user-17", createIfMissing: profile) }
            }
            return try await group.reduce(into: [Stratus.Account]()) { $0.append($1) }
        }
        let account = accounts[0]
        #expect(accounts.allSatisfy { $0 == account })
        #expect(account.externalID == "user-17")
        #expect(account.emails == ["alice@example.com"])
        #expect(account.phoneNumbers == ["+49301234567"])
        #expect(account.name.givenName == "Alice")
        #expect(account.standing == .good)
        #expect(account.quotaByteCount == 1 << 20)
        #expect(try await store.accounts() == [account])
    }

    @Test("[X-08] an account is found by every identifier and verified handle, however it is written")
    func finding() throws {
        let store = try Stratus.inMemory(options: .tested())
        let account = try store.createAccount(.init(emails: ["bob@example.com"], phoneNumbers: ["+1 (555) 010-9999"]))
        #expect(account.externalID == nil)
        #expect(try store.account(id: account.id) == account)
        #expect(try store.account(email: "BOB@example.COM") == account)
        #expect(try store.account(phoneNumber: "+15550109999") == account)
        #expect(try store.account(userRecordName: account.userRecordName) == account)
        #expect(try store.account(email: "carol@example.com") == nil)
        #expect(try store.account(id: "nobody") == nil)
    }

    @Test("a handle belongs to one account at a time, and a malformed one to none")
    func handles() throws {
        let store = try Stratus.inMemory(options: .tested())
        let alice = try store.createAccount(.init(emails: ["shared@example.com"]), externalID: "alice")
        let bob = try store.createAccount(.init(), externalID: "bob")
        var error = try #require(throws: StratusError.self) {
            try store.setHandles(emails: ["shared@example.com"], of: bob)
        }
        #expect(error.code == .alreadyTaken)
        error = try #require(throws: StratusError.self) { try store.setHandles(emails: ["no address"], of: bob) }
        #expect(error.code == .invalidArgument)
        error = try #require(throws: StratusError.self) { try store.createAccount(.init(), externalID: "bob") }
        #expect(error.code == .alreadyTaken)

        try store.setHandles(emails: ["alice@example.com"], of: alice)
        #expect(try store.setHandles(emails: ["shared@example.com"], of: bob).emails == ["shared@example.com"])
        #expect(try store.account(email: "shared@example.com")?.id == bob.id)
    }

    @Test("names, discoverability and quotas can change, and a new look at the account shows it")
    func changing() throws {
        let (store, account) = try Stratus.tested()
        var name = PersonNameComponents()
        name.familyName = "Lovelace"
        try store.setName(name, of: account)
        try store.setDiscoverable(false, of: account)
        let changed = try store.setQuota(byteCount: 5, of: account)
        #expect(changed.name.familyName == "Lovelace")
        #expect(!changed.isDiscoverable)
        #expect(changed.quotaByteCount == 5)
        #expect(account.quotaByteCount == nil)
        #expect(try store.account(id: account.id) == changed)
    }

    @Test(
        "[S-17][O-18] clients see the standing of their account",
        arguments: [
            (Stratus.Standing.good, CKAccountStatus.available, CKError.Code?.none),
            (.restricted, .restricted, .managedAccountRestricted),
            (.needsVerification, .temporarilyUnavailable, .accountTemporarilyUnavailable),
            (.suspended, .noAccount, .notAuthenticated),
        ])
    func standing(_ standing: Stratus.Standing, _ status: CKAccountStatus, _ code: CKError.Code?) async throws {
        let (store, account) = try Stratus.tested()
        let container = store.container("iCloud.test", signedInAs: account)
        try await store.setStanding(standing, of: account)
        #expect(try await container.accountStatus() == status)
        do {
            try await container.privateCloudDatabase.save(note("a"))
            #expect(code == nil)
        } catch let error as CKError {
            #expect(error.code == code)
        }
        try await store.setStanding(.good, of: account)
        #expect(try await container.accountStatus() == .available)
        try await container.privateCloudDatabase.save(note("b"))
    }

    @Test("[X-28] containers of several accounts work side by side and see only their own data")
    func sideBySide() async throws {
        let store = try await Stratus.inMemory(options: .tested())
        let alice = try await store.createAccount(.init(), externalID: "alice")
        let bob = try await store.createAccount(.init(), externalID: "bob")
        try await store.signIn(bob)
        let alices = store.container("iCloud.test", signedInAs: alice).privateCloudDatabase
        let bobs = store.container("iCloud.test").privateCloudDatabase
        try await alices.save(note("a", text: "Alice's"))
        try await bobs.save(note("a", text: "Bob's"))
        #expect(try await alices.record(for: id)["text"] as? String == "Alice's")
        #expect(try await bobs.record(for: id)["text"] as? String == "Bob's")
        // Another container of the same account is another world.
        let other = store.container("iCloud.other", signedInAs: alice).privateCloudDatabase
        await #expect {
            try await other.record(for: id)
        } throws: { error in
            (error as? CKError)?.code == .unknownItem
        }
    }

    @Test("[O-17][O-18] signing in and out changes what containers without a fixed account may do, and is posted")
    func signingIn() async throws {
        let (store, account) = try Stratus.tested()
        let posts = Collected<Notification.Name>()
        let observer = NotificationCenter.default.addObserver(forName: .CKAccountChanged, object: nil, queue: nil) {
            posts.append($0.name)
        }
        defer { NotificationCenter.default.removeObserver(observer) }
        let container = store.container("iCloud.test")
        #expect(try await container.accountStatus() == .noAccount)
        await #expect {
            try await container.userRecordID()
        } throws: { error in
            (error as? CKError)?.code == .notAuthenticated
        }
        try await store.signIn(account)
        #expect(try store.signedInAccount == account)
        #expect(try await container.accountStatus() == .available)
        #expect(try await container.userRecordID().recordName == account.userRecordName)
        store.signOut()
        #expect(try await container.accountStatus() == .noAccount)
        await store.settle()
        // Other tests may sign in meanwhile: there is one centre for the process.
        #expect(posts.values.count >= 2)
    }

    @Test(
        "[O-18][X-32] a change is posted once for each existing container of the account, with the container as object")
    func postedContainers() async throws {
        let (store, account) = try Stratus.tested()
        let other = try await store.createAccount(.init(), externalID: "other")
        let containers = [
            store.container("iCloud.a"), store.container("iCloud.a"), store.container("iCloud.b"),
            store.container("iCloud.a", signedInAs: account), store.container("iCloud.a", signedInAs: other),
        ]
        let stranger = try Stratus.tested().store.container("iCloud.a")
        var gone: CKContainer? = store.container("iCloud.gone")
        let wasMade = gone != nil
        gone = nil
        let posts = Locked<[ObjectIdentifier?]>([])
        let observer = NotificationCenter.default.addObserver(forName: .CKAccountChanged, object: nil, queue: nil) {
            let container = ($0.object as? CKContainer).map { ObjectIdentifier($0) }
            posts.withLock { $0.append(container) }
        }
        let last = Locked(0)
        let ofLast = NotificationCenter.default.addObserver(
            forName: .CKAccountChanged, object: containers[2], queue: nil
        ) { _ in last.withLock { $0 += 1 } }
        defer {
            NotificationCenter.default.removeObserver(observer)
            NotificationCenter.default.removeObserver(ofLast)
        }
        /// How often each of the containers was posted for. Other tests post for containers of their own.
        func take() async -> [Int] {
            await store.settle()
            let posted = posts.withLock { posts in
                defer { posts = [] }
                return posts
            }
            #expect(!posted.contains(ObjectIdentifier(stranger)))
            #expect(posted.allSatisfy { $0 != nil })
            return containers.map { container in posted.count { $0 == ObjectIdentifier(container) } }
        }
        try await store.signIn(account)
        #expect(await take() == [1, 1, 1, 0, 0])
        try await store.setStanding(.restricted, of: account)
        #expect(await take() == [1, 1, 1, 1, 0])
        try await store.setStanding(.restricted, of: other)
        #expect(await take() == [0, 0, 0, 0, 1])
        store.signOut()
        #expect(await take() == [1, 1, 1, 0, 0])
        #expect(last.value == 3)
        #expect(wasMade)
        try await store.signIn(account)
        _ = await take()
        try await onThread { try store.deleteAccountWithAllData(account) }
        #expect(await take() == [1, 1, 1, 1, 0], "the signed-in account is deleted")
    }

    @Test("an account of another store cannot be signed in")
    func foreignAccount() throws {
        let (store, _) = try Stratus.tested()
        let (_, stranger) = try Stratus.tested { $0.identifiers = .random }
        let error = try #require(throws: StratusError.self) { try store.signIn(stranger) }
        #expect(error.code == .unknownAccount)
    }

    @Test("deleting an account deletes all that it owns, and nothing of others")
    func deleting() async throws {
        let store = try await Stratus.inMemory(options: .tested())
        let alice = try await store.createAccount(.init(emails: ["alice@example.com"]), externalID: "alice")
        let bob = try await store.createAccount(.init(), externalID: "bob")
        try await store.signIn(alice)
        let alices = store.container("iCloud.test", signedInAs: alice).privateCloudDatabase
        let bobs = store.container("iCloud.test", signedInAs: bob).privateCloudDatabase
        try await alices.save(CKRecordZone(zoneName: "Notes"))
        try await alices.save(note("a", in: "Notes"))
        try await alices.save(note("a"))
        try await bobs.save(note("a", text: "Bob's"))
        let ownByteCount = try await store.usageByteCount(of: alice)
        #expect(ownByteCount > 0)
        #expect(try await store.publicUsageByteCount(ofContainer: "iCloud.test") == 0)
        try await store.container("iCloud.test", signedInAs: alice).publicCloudDatabase.save(note("public"))
        #expect(try await store.publicUsageByteCount(ofContainer: "iCloud.test") > 64)
        #expect(try await store.publicUsageByteCount(ofContainer: "iCloud.other") == 0)
        #expect(try await store.usageByteCount(of: alice) == ownByteCount)

        try await store.deleteAccountWithAllData(alice)
        #expect(try await store.accounts() == [bob])
        #expect(try store.signedInAccount == nil)
        #expect(try await store.container("iCloud.test", signedInAs: alice).accountStatus() == .noAccount)
        await #expect {
            try await alices.record(for: id)
        } throws: { error in
            (error as? CKError)?.code == .notAuthenticated
        }
        try await store.performUpkeep()
        let error = try #require(throws: StratusError.self) { try store.deleteAccountWithAllData(alice) }
        #expect(error.code == .unknownAccount)
        #expect(try await bobs.record(for: id)["text"] as? String == "Bob's")

        // A later account with the same identifiers is a different person.
        let again = try await store.createAccount(.init(emails: ["alice@example.com"]), externalID: "alice")
        #expect(again.id != alice.id)
        let database = store.container("iCloud.test", signedInAs: again).privateCloudDatabase
        #expect(try await database.allRecordZones().map(\.zoneID.zoneName) == ["_defaultZone"])
    }
}
