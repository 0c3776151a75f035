// Helpers for tests of sharing: people with addresses, shares, invitations, acceptances, and the shared database as a
// person sees it.

import Foundation
import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

extension RecordBench {
    /// A server with Alice's zone Notes, where everyone can be reached by `name@example.com`.
    static func forSharing(
        inMemory: Bool = false, runsBodiesTwice: Bool = true, _ change: (inout CloudOptions) -> Void = { _ in }
    ) throws -> RecordBench {
        let bench = try RecordBench(inMemory: inMemory, runsBodiesTwice: runsBodiesTwice, change)
        try bench.service.changeAccount(bench.alice.id) { $0.handles.insert(.email("alice@example.com")) }
        try bench.service.changeAccount(bench.bob.id) { $0.handles.insert(.email("bob@example.com")) }
        try bench.makeNotes()
        return bench
    }

    /// Somebody new.
    func person(_ name: String) throws -> StoredAccount {
        try service.createAccount(
            AccountDraft(
                externalID: name, handles: [.email("\(name)@example.com")], name: PersonName(given: name.capitalized)))
    }

    /// A zone of Alice's as others name it.
    func others(_ zone: ZoneAddress = RecordBench.notes) -> ZoneAddress {
        ZoneAddress(zoneName: zone.zoneName, ownerName: alice.userName.text)
    }

    /// A record of Alice's zone Notes as others name it.
    func shared(_ name: String) -> RecordAddress { RecordAddress(recordName: name, zone: others()) }

    /// Shares a root of Alice's, which is saved with it, and created if it is missing.
    @discardableResult
    func share(
        _ root: String, as name: String, with claims: [ParticipantClaim] = [],
        publicPermission: ParticipantPermission = .none, parent: String? = nil, fields: [String: ClientValue] = [:]
    ) throws -> ClientRecord {
        var save = RecordSave.new(root, parent: parent)
        if case .success(let stored) = try fetch(.note(root)) { save = .change(stored) }
        let share = RecordSave.share(
            name, root: root, with: claims, publicPermission: publicPermission, fields: fields)
        return try modify([save, share]).saves.map { try $0.get() }[1]
    }

    /// Shares all of Alice's zone Notes.
    @discardableResult
    func shareNotes(
        with claims: [ParticipantClaim] = [], publicPermission: ParticipantPermission = .none
    ) throws -> ClientRecord {
        try save(.share("cloudkit.zoneshare", root: nil, with: claims, publicPermission: publicPermission))[0]
    }

    func accept(_ share: ClientRecord, by account: StoredAccount) throws -> Result<ClientRecord, CloudError> {
        let url = try #require(share.sharing?.url)
        let answer = try service.acceptShares([url], as: caller(account))[0]
        #expect(try shareFindings().isEmpty)
        return answer
    }

    /// A share of a root with a person who has accepted.
    @discardableResult
    func share(
        _ root: String, as name: String, with account: StoredAccount, _ email: String,
        _ permission: ParticipantPermission = .readWrite, role: ParticipantRole = .privateUser, parent: String? = nil
    ) throws -> ClientRecord {
        let claim = ParticipantClaim.email(email, permission, role: role)
        let share = try share(root, as: name, with: [claim], parent: parent)
        _ = try accept(share, by: account).get()
        return share
    }

    /// A share's record as its owner sees it.
    func ownShare(_ name: String) throws -> ClientRecord { try fetch(.note(name)).get() }

    /// Changes the participants.
    @discardableResult
    func change(
        _ name: String, by account: StoredAccount? = nil, _ body: (inout ShareClaim) throws -> Void
    ) throws -> Result<ClientRecord, CloudError> {
        let isOwner = account == nil || account?.id == alice.id
        let database = isOwner ? DatabaseSelector.private : .shared
        let record = try fetch(isOwner ? .note(name) : shared(name), by: account, in: database).get()
        var save = RecordSave.change(record)
        var claim = try #require(record.sharing).claim
        try body(&claim)
        save.sharing = claim
        let answer = try modify([save], by: account, in: database).saves[0]
        #expect(try shareFindings().isEmpty)
        return answer
    }

    /// The records of Alice's zone Notes, among those named, that a person sees in their shared database.
    func seen(_ names: [String], by account: StoredAccount) throws -> [String] {
        let request = FetchRecordsRequest(addresses: names.map { shared($0) })
        let answers = try service.fetchRecords(request, as: caller(account), in: .shared).records
        return zip(names, answers).compactMap { $1.error == nil ? $0 : nil }
    }

    /// The faults of shares and of their entries.
    func shareFindings() throws -> [String] {
        try ShareVerifier(engine: service.engine).verify().findings.map(\.description)
    }

    /// The zones of a person's shared database.
    func zones(of account: StoredAccount) throws -> [ClientZone] {
        try service.fetchZones(.all, as: caller(account), in: .shared).map { try $0.1.get() }
    }
}

extension RecordSave {
    /// A new share of a root, or of all of a zone.
    static func share(
        _ name: String, root: String?, with claims: [ParticipantClaim] = [],
        publicPermission: ParticipantPermission = .none, in zone: ZoneAddress = RecordBench.notes,
        fields: [String: ClientValue] = [:]
    ) -> RecordSave {
        var save = RecordSave.new(name, in: zone, type: "cloudkit.share", fields)
        save.sharing = ShareClaim(
            root: root.map { RecordAddress(recordName: $0, zone: zone) }, publicPermission: publicPermission,
            participants: claims)
        return save
    }

    /// The save of a record in Alice's zone by another person.
    static func new(
        _ address: RecordAddress, parent: String? = nil, _ values: [String: ClientValue] = [:]
    ) -> RecordSave {
        .new(address.recordName, in: address.zone, parent: parent, values)
    }
}

extension ParticipantClaim {
    /// A person who is invited by their address.
    static func email(
        _ address: String, _ permission: ParticipantPermission = .readWrite, role: ParticipantRole = .privateUser
    ) -> ParticipantClaim {
        ParticipantClaim(
            id: "new-\(address)", lookup: .email(address), role: role, permission: permission, isAdded: true)
    }
}

extension ClientShare {
    /// The claim without changes.
    var claim: ShareClaim {
        ShareClaim(
            root: root, publicPermission: publicPermission, allowsAccessRequests: allowsAccessRequests,
            participants: participants.map {
                ParticipantClaim(id: $0.id, role: $0.role, permission: $0.permission)
            })
    }

    func participant(_ email: String) -> ClientParticipant? {
        participants.first { $0.identity.lookup == .email(email) }
    }
}
