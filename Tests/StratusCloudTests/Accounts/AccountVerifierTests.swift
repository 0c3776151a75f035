// The verifier of accounts finds the planted faults, and nothing else.

import Foundation
import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("verifying accounts")
struct AccountVerifierTests {
    @Test("every planted fault is found and classified correctly")
    func planted() throws {
        let bench = try AccountBench()
        let service = bench.service
        let alice = try service.createAccount(.init(externalID: "alice", handles: [.email("alice@example.com")]))
        let bob = try service.createAccount(.init(handles: [.phone("+491")]))
        let zone = AccountBench.zone("Notes", of: alice.userName)
        try bench.makeZone(zone, by: alice.userName, in: service.engine)
        try bench.save([Record(name: "a", type: "T")], in: zone, engine: service.engine)
        let email = GlobalKeys.identity(.email("alice@example.com"))
        let bobs = AccountIDEntry(account: bob.id).encoded()
        let line = KeyDescription.text(of: email)
        let faults: [([AccountFinding], (RecordTransaction) throws -> Void)] = [
            ([.missing(identity: line, alice.id)], { try $0.delete(email) }),
            ([.dangling(identity: line, bob.id)], { try $0.set(email, to: bobs) }),
            (
                [.dangling(identity: "global / identities / kind phone / \"+49\"", bob.id)],
                { try $0.set(GlobalKeys.identity(.phone("+49")), to: bobs) }
            ),
            ([.miscounted(alice.userName)], { try $0.delete(GlobalKeys.usage(of: alice.userName)) }),
            (
                [.ownerless("_ghost")],
                { try $0.set(GlobalKeys.usage(of: "_ghost"), to: UsageEntry(byteCount: 1).encoded()) }
            ),
        ]
        for (expected, plant) in faults {
            #expect(try AccountVerifier(engine: service.engine).verify().findings == [])
            let found = try service.engine.transact { transaction in
                let before = try faultedKeys.map { ($0(alice), try transaction.store.value(forKey: $0(alice))) }
                try plant(transaction)
                return before
            }
            #expect(try AccountVerifier(engine: service.engine).verify().findings == expected)
            try service.engine.transact { transaction in
                for (key, value) in found {
                    if let value { try transaction.set(key, to: value) } else { try transaction.delete(key) }
                }
            }
        }
        // Without counting, wrong counters stay unseen and everything else is found.
        try service.engine.transact { try $0.delete(GlobalKeys.usage(of: alice.userName)) }
        #expect(try AccountVerifier(engine: service.engine).verify(countsRecords: false).findings == [])
    }

    @Test("a user name of two accounts, and an account with a guessable name, are found")
    func identities() throws {
        let bench = try AccountBench(isInMemory: true)
        let alice = try bench.service.createAccount(.init(externalID: "alice"))
        var twin = alice
        twin.externalID = nil
        let guessed = AccountBirth(identifier: .withoutRandomness, user: .withoutRandomness, created: bench.clock.now)
        let guessable = StoredAccount(
            id: guessed.id, externalID: nil, userName: guessed.userName, handles: [], name: PersonName(),
            standing: .good, isDiscoverable: false, quotaByteCount: nil, created: guessed.created)
        try bench.service.engine.transact { [twin] transaction in
            try transaction.set(GlobalKeys.account("twin"), to: AccountEntry(twin).encoded())
            try transaction.set(GlobalKeys.account(guessed.id), to: AccountEntry(guessable).encoded())
            let key = GlobalKeys.identity(.userRecord, guessed.userName.text)
            try transaction.set(key, to: AccountIDEntry(account: guessed.id).encoded())
        }
        let findings = try AccountVerifier(engine: bench.service.engine).verify().findings
        #expect(Set(findings) == [.repeated(alice.userName, "twin"), .predictable(guessed.id)])
    }

    @Test("of very many faults, the first of each kind are kept and all are counted")
    func manyFaults() throws {
        let bench = try AccountBench()
        let alice = try bench.service.createAccount(.init(externalID: "alice"))
        let kept = VerifierReport<AccountFault>.maximumCount
        try bench.service.engine.transact { transaction in
            for number in 0..<(kept + 30) {
                try transaction.set(
                    GlobalKeys.identity(.externalID, "alice \(number)"),
                    to: AccountIDEntry(account: alice.id).encoded())
            }
            // Twice the same owner.
            try transaction.set(GlobalKeys.usage(of: "_ghost"), to: UsageEntry(byteCount: 1).encoded())
            try transaction.set(
                GlobalKeys.zoneUsage(of: "_ghost", zone: UUID()), to: UsageEntry(byteCount: 1).encoded())
        }
        let report = try AccountVerifier(engine: bench.service.engine).verify()
        #expect(report.count == kept + 31)
        #expect(report.unkeptCount == 30)
        #expect(report.findings.filter { $0.kind != .dangling } == [.ownerless("_ghost")])
    }

    @Test("when two accounts own one identity, the account that the identity does not point to is reported")
    func ownedTwice() throws {
        let bench = try AccountBench()
        let (service, engine) = (bench.service, bench.service.engine)
        let email = Handle.email("alice@example.com")
        let alice = try service.createAccount(.init(externalID: "alice", handles: [email]))
        var bob = try service.createAccount(.init(externalID: "bob"))
        bob.handles = [email]
        let key = GlobalKeys.identity(email)
        try engine.transact { try $0.set(GlobalKeys.account(bob.id), to: AccountEntry(bob).encoded()) }
        for (first, second) in [(alice, bob), (bob, alice)] {
            try engine.transact { try $0.set(key, to: AccountIDEntry(account: first.id).encoded()) }
            #expect(
                try AccountVerifier(engine: engine).verify().findings
                    == [.missing(identity: KeyDescription.text(of: key), second.id)])
        }
        // One user name for both: bob's own points to an account that no longer owns it.
        let bobs = GlobalKeys.identity(.userRecord, bob.userName.text)
        bob = StoredAccount(id: bob.id, externalID: bob.externalID, userName: alice.userName, created: bob.created)
        try engine.transact {
            try $0.set(key, to: AccountIDEntry(account: alice.id).encoded())
            try $0.set(GlobalKeys.account(bob.id), to: AccountEntry(bob).encoded())
        }
        #expect(
            Set(try AccountVerifier(engine: engine).verify().findings) == [
                .repeated(alice.userName, bob.id),
                .dangling(identity: KeyDescription.text(of: bobs), bob.id),
            ])
    }

    @Test("an account that its user name does not point to is reported once, and its data is not reported as orphaned")
    func unled() throws {
        let bench = try AccountBench()
        let alice = try bench.service.createAccount(.init(externalID: "alice"))
        let zone = AccountBench.zone("Notes", of: alice.userName)
        try bench.makeZone(zone, by: alice.userName, in: bench.service.engine)
        try bench.save([Record(name: "a", type: "T")], in: zone, engine: bench.service.engine)
        let key = GlobalKeys.identity(.userRecord, alice.userName.text)
        try bench.service.engine.transact { try $0.delete(key) }
        #expect(
            try AccountVerifier(engine: bench.service.engine).verify().findings
                == [.missing(identity: KeyDescription.text(of: key), alice.id)])
    }

    /// The keys that faults are planted under.
    private let faultedKeys: [@Sendable (StoredAccount) -> [UInt8]] = [
        { _ in GlobalKeys.identity(.email("alice@example.com")) }, { _ in GlobalKeys.identity(.phone("+49")) },
        { GlobalKeys.usage(of: $0.userName) }, { _ in GlobalKeys.usage(of: "_ghost") },
    ]
}
