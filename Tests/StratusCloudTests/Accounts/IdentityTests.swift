// Looking for other people.

import StratusCloud
import StratusModel
import StratusTestSupport
import Testing

@Suite("looking for people")
struct IdentityTests {
    private struct People {
        let bench: AccountBench
        let alice: StoredAccount
        let bob: StoredAccount
        let hidden: StoredAccount

        init() throws {
            bench = try AccountBench()
            alice = try bench.service.createAccount(
                .init(handles: [.email("alice@example.com")], name: .init(given: "Alice")))
            bob = try bench.service.createAccount(
                .init(handles: [.email("bob@example.com"), .phone("+49301")], name: .init(given: "Bob")))
            hidden = try bench.service.createAccount(
                .init(handles: [.email("hidden@example.com")], name: .init(given: "Hidden"), isDiscoverable: false))
        }

        var caller: Caller { bench.caller(alice) }
    }

    @Test("people are found by e-mail address, telephone number and user record, in the order requested")
    func discover() throws {
        let people = try People()
        let lookups: [IdentityLookup] = [
            .phone("0049 301"), .email("nobody@example.com"), .email("BOB@example.com"),
            .userRecord(people.bob.userName.text), .email("not an address"), .userRecord("_nobody"), .userRecord(""),
        ]
        let found = try people.bench.service.discover(lookups, as: people.caller)
        #expect(
            found.map { $0?.userName }
                == [0, 2, 3].reduce(into: Array(repeating: nil, count: 7)) { list, index in
                    list[index] = people.bob.userName
                })
        #expect(found[0]?.name.given == "Bob")
        #expect(found[0]?.lookup == lookups[0])
    }

    @Test("people who are not discoverable find only themselves; suspended and deleted accounts are not found")
    func notDiscoverable() throws {
        let people = try People()
        let service = people.bench.service
        let byEveryMeans: [IdentityLookup] = [
            .email("hidden@example.com"), .userRecord(people.hidden.userName.text),
        ]
        #expect(try service.discover(byEveryMeans, as: people.caller) == [nil, nil])
        let own = try service.discover(
            byEveryMeans + [.userRecord(ZoneAddress.currentUser)], as: people.bench.caller(people.hidden))
        #expect(own.map { $0?.userName } == Array(repeating: people.hidden.userName, count: 3))
        try service.changeAccount(people.hidden.id) { $0.isDiscoverable = true }
        #expect(try service.discover(byEveryMeans, as: people.caller).allSatisfy { $0?.name.given == "Hidden" })
        try service.setStanding(.suspended, of: people.hidden.id)
        #expect(try service.discover(byEveryMeans, as: people.caller) == [nil, nil])
        try service.setStanding(.good, of: people.hidden.id)
        try service.deleteAccount(people.hidden.id)
        #expect(try service.discover(byEveryMeans, as: people.caller) == [nil, nil])
    }

    @Test("looking for people needs an account in good standing and has a limit")
    func refusals() throws {
        let people = try People()
        let service = people.bench.service
        let signedOut = people.bench.caller(nil)
        #expect(cloudError { _ = try service.discover([], as: signedOut) }?.code == .notAuthenticated)
        #expect(cloudError { _ = try service.shareParticipants(for: [], as: signedOut) }?.code == .notAuthenticated)
        #expect(try service.discover([], as: people.caller).isEmpty)
        let many = (0...service.options.requestItemCount).map { IdentityLookup.email("\($0)@example.com") }
        #expect(cloudError { _ = try service.discover(many, as: people.caller) }?.code == .limitExceeded)
        #expect(cloudError { _ = try service.shareParticipants(for: many, as: people.caller) }?.code == .limitExceeded)
        #expect(try service.discover(Array(many.dropLast()), as: people.caller).count == 400)
        try service.setStanding(.restricted, of: people.alice.id)
        #expect(cloudError { _ = try service.discover([], as: people.caller) }?.code == .managedAccountRestricted)
    }

    @Test("anyone can be invited: an unknown handle has no account; a malformed handle or unknown record is an error")
    func invited() throws {
        let people = try People()
        let service = people.bench.service
        let lookups: [IdentityLookup] = [
            .email("bob@example.com"), .email("hidden@example.com"), .userRecord(people.hidden.userName.text),
            .email("new@example.com"), .phone("+49999"), .email("bob"), .phone("x"), .userRecord("_nobody"),
        ]
        let answers = try service.shareParticipants(for: lookups, as: people.caller)
        let known = try answers.prefix(5).map { try $0.get().identity }
        #expect(known.map(\.hasAccount) == [true, true, true, false, false])
        #expect(known.map(\.userName) == [people.bob.userName.text, nil, people.hidden.userName.text, nil, nil])
        #expect(known.map { $0.name?.given } == ["Bob", nil, nil, nil, nil])
        #expect(known.map(\.lookup) == Array(lookups.prefix(5)))
        let codes = answers.suffix(3).map { answer in cloudError { _ = try answer.get() }?.code }
        #expect(codes == [.invalidArguments, .invalidArguments, .unknownItem])
        try service.setStanding(.suspended, of: people.bob.id)
        #expect(try service.shareParticipants(for: lookups, as: people.caller)[0].get().identity.hasAccount == false)
    }
}
