// A server on a real LevelDB directory with four reachable people, and shares whose content a test chooses: they are
// written through `ShareWriter`, in one transaction with their roots.

import Foundation
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import Testing

@testable import StratusCloud

/// A share that a test has created.
struct TownShare: Sendable {
    let name: RecordName
    /// That of the share; a participant's one-time URL is `url(of:)`.
    let url: String
    let zone: ZoneID
}

/// Alice, who shares; Bob, Carol and Dave, each with an e-mail address and a name.
final class ShareTown: Sendable {
    static let base = CloudOptions().shareURLBase
    static let notes = ZoneName("Notes")

    let bench: RecordBench
    let alice: StoredAccount
    let bob: StoredAccount
    let carol: StoredAccount
    let dave: StoredAccount

    var service: CloudService { bench.service }
    var zone: ZoneID { zone(of: alice, Self.notes) }

    init(
        runsBodiesTwice: Bool = true, store: (any OrderedStore)? = nil,
        _ change: (inout CloudOptions) -> Void = { _ in }
    ) throws {
        bench = try RecordBench(runsBodiesTwice: runsBodiesTwice, store: store, change)
        alice = try Self.settle(bench.alice, "alice", bench.service)
        bob = try Self.settle(bench.bob, "bob", bench.service)
        carol = try Self.settle(bench.service.createAccount(AccountDraft(externalID: "carol")), "carol", bench.service)
        dave = try Self.settle(bench.service.createAccount(AccountDraft(externalID: "dave")), "dave", bench.service)
        try bench.makeNotes()
        try bench.save(
            .new("top"), .new("folder", parent: "top", ["title": .string("Plans"), "size": .int64(3)]),
            .new("page", parent: "folder"), .new("other"))
    }

    private static func settle(
        _ account: StoredAccount, _ name: String, _ service: CloudService
    ) throws -> StoredAccount {
        try service.changeAccount(account.id) { $0.name = PersonName(given: name.capitalized) }
        return try service.changeAccount(account.id) { $0.handles.insert(.email("\(name)@example.com")) }
    }

    func zone(of owner: StoredAccount, _ name: ZoneName) -> ZoneID {
        let database = DatabaseID(container: RecordBench.container, owner: owner.userName, scope: .private)
        return ZoneID(database: database, name: name)
    }

    // MARK: People

    func owner(_ account: StoredAccount? = nil) -> ShareParticipant {
        ShareParticipant(
            id: "owner", role: .owner, permission: .readWrite, status: .accepted, user: (account ?? alice).userName,
            added: bench.clock.now)
    }

    func invited(
        _ id: ParticipantID, _ invitation: ParticipantInvitation, user: UserName? = nil,
        _ permission: ParticipantPermission = .readOnly, role: ParticipantRole = .privateUser
    ) -> ShareParticipant {
        ShareParticipant(
            id: id, role: role, permission: permission, status: .pending, invitation: invitation, user: user,
            added: bench.clock.now)
    }

    func invited(
        _ account: StoredAccount, _ permission: ParticipantPermission = .readOnly, role: ParticipantRole = .privateUser
    ) -> ShareParticipant {
        let name = account.name.given?.lowercased() ?? ""
        return invited(ParticipantID(name), .handle(.email("\(name)@example.com")), permission, role: role)
    }

    func accepted(
        _ account: StoredAccount, _ permission: ParticipantPermission = .readOnly, role: ParticipantRole = .privateUser
    ) -> ShareParticipant {
        var participant = invited(account, permission, role: role)
        participant.status = .accepted
        participant.user = account.userName
        if role == .publicUser { participant.invitation = nil }
        return participant
    }

    // MARK: Shares

    static func token(_ seed: UInt8) -> ShareToken {
        guard let token = ShareToken(bytes: (0..<16).map { seed &+ $0 }) else { preconditionFailure("16 bytes") }
        return token
    }

    static func url(_ seed: UInt8) -> String { base + token(seed).text }

    /// Shares one of Alice's records, or her zone Notes, with the entries that the server would write.
    @discardableResult
    func share(
        _ root: RecordName? = "folder", with people: [ShareParticipant] = [], tokenSeed: UInt8 = 7,
        fields: RecordFields = [:], _ change: (inout ShareContent) -> Void = { _ in }
    ) throws -> TownShare {
        let name = root.map { RecordName("Share-\($0)") } ?? "cloudkit.zoneshare"
        var content = ShareContent(root: root, token: Self.token(tokenSeed), participants: [owner()] + people)
        change(&content)
        let (zone, stamp) = (zone, Stamp(date: bench.clock.now, user: alice.userName))
        try service.engine.transact { [content] transaction in
            let reader = try transaction.existingZone(zone)
            let record = Record(name: name, type: "cloudkit.share", fields: fields).with(content)
            var saves = [record]
            if let root, var marked = try reader.record(root)?.record {
                marked.share = name
                saves.append(marked)
            }
            let before = try saves.reduce(Int64(0)) { sum, save in
                try sum + (reader.record(save.name).map { QuotaLedger.byteCount(of: $0.record) } ?? 0)
            }
            let plan = try transaction.plan(
                MutationRequest(saves.map { .save($0) }, stamp: stamp, tagSalt: 1), in: zone)
            let writer = ShareWriter(
                acceptances: self.service.acceptanceDirectory, zone: reader, transaction: transaction)
            let change = ShareTransition(share: name, old: nil, new: content)
            let settlement = try writer.settlement(of: [change], with: plan, stamp: stamp)
            let after = saves.reduce(Int64(0)) { $0 + QuotaLedger.byteCount(of: $1) }
            try QuotaLedger.charge(
                byteCount: after - before, to: self.alice.userName, zone: plan.header.identity, limit: nil,
                in: transaction)
            try transaction.apply(plan, in: zone)
            try writer.write(settlement)
        }
        return TownShare(name: name, url: ShareLink.url(Self.base, content.token), zone: zone)
    }

    /// Changes a share in its owner's name.
    func change(_ share: TownShare, by account: StoredAccount? = nil, _ change: (inout ShareContent) -> Void) throws {
        let stamp = Stamp(date: bench.clock.now, user: (account ?? alice).userName)
        try service.engine.transact { transaction in
            let reader = try transaction.existingZone(share.zone)
            let stored = try #require(try reader.record(share.name))
            let old = try #require(try stored.record.shareContent())
            var new = old
            change(&new)
            _ = try ShareWriter(acceptances: self.service.acceptanceDirectory, zone: reader, transaction: transaction)
                .write(new, replacing: old, in: stored, stamp: stamp, tagSalt: 2, self.service.journal())
        }
    }

    /// Stops a share: its record is deleted, and the root's mark with it.
    func stop(_ share: TownShare) throws {
        let stamp = Stamp(date: bench.clock.now, user: alice.userName)
        try service.engine.transact { transaction in
            let reader = try transaction.existingZone(share.zone)
            let stored = try #require(try reader.record(share.name))
            let old = try #require(try stored.record.shareContent())
            var mutations: [RecordMutation] = []
            if let root = old.root, var record = try reader.record(root)?.record {
                record.share = nil
                mutations.append(.save(record))
            }
            mutations.append(.delete(share.name))
            let plan = try transaction.plan(
                MutationRequest(mutations, stamp: stamp, tagSalt: 1), in: share.zone)
            let writer = ShareWriter(
                acceptances: self.service.acceptanceDirectory, zone: reader, transaction: transaction)
            let change = ShareTransition(share: share.name, old: old, new: nil)
            let settlement = try writer.settlement(of: [change], with: plan, stamp: stamp)
            let freed =
                QuotaLedger.byteCount(of: stored.record) + (old.root == nil ? 0 : Int64(share.name.text.utf8.count))
            try QuotaLedger.charge(
                byteCount: -freed, to: self.alice.userName, zone: plan.header.identity, limit: nil, in: transaction)
            try transaction.apply(plan, in: share.zone)
            try writer.write(settlement)
        }
    }

    // MARK: Existing entries

    func content(_ share: TownShare) throws -> ShareContent {
        try service.engine.read { reader in
            let record = try #require(try reader.existingZone(share.zone).record(share.name)?.record)
            return try #require(try record.shareContent())
        }
    }

    func sequence(_ share: TownShare) throws -> UInt64 {
        try service.engine.read { reader in
            try #require(try reader.existingZone(share.zone).record(share.name)).system.changeSequence
        }
    }

    func acceptance(_ account: StoredAccount, _ share: TownShare) throws -> AcceptanceEntry? {
        try service.engine.read { reader in
            let identity = try reader.existingZone(share.zone).header().identity
            let parts = AcceptanceKeyParts(user: account.userName, zone: identity, share: share.name)
            return try service.acceptanceDirectory.acceptance(parts, in: share.zone, reader)
        }
    }

    func acceptanceCount(_ account: StoredAccount) throws -> Int {
        try service.engine.read { reader in
            var count = 0
            try reader.store.scan(GlobalKeys.acceptances(of: account.userName)) { _, _ in
                count += 1
                return .next
            }
            return count
        }
    }

    func events(after position: ShareEventPosition? = nil) throws -> [ShareTrailEvent] {
        try service.shareEvents(of: zone, after: position).events
    }

    // MARK: Asking

    func caller(_ account: StoredAccount?) -> Caller { bench.caller(account) }

    func metadata(
        _ url: String, as account: StoredAccount, root: Bool = false, keys: Set<String>? = nil
    ) throws -> Result<ClientShareMetadata, CloudError> {
        let request = ShareMetadataRequest(urls: [url], wantsRootRecord: root, rootDesiredKeys: keys)
        return try service.shareMetadata(request, as: caller(account))[0]
    }

    func accept(_ url: String, as account: StoredAccount) throws -> Result<ClientRecord, CloudError> {
        try service.acceptShares([url], as: caller(account))[0]
    }

    func ask(_ url: String, as account: StoredAccount) throws -> Result<Void, CloudError> {
        try service.requestShareAccess([url], as: caller(account))[0].map { _ in }
    }
}
