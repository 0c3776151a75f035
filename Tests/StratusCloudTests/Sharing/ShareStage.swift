// Shares written below the server's rules, as it writes them: record, mark, secret and entries in one transaction. So
// these tests of entries, releases and verifiers do not depend on the rules of who may share what.

import Foundation
@testable import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport

/// A server with Alice, who shares, and people who take part.
struct ShareStage {
    let bench: ReleaseBench
    let bob: StoredAccount
    let carol: StoredAccount

    var alice: StoredAccount { bench.account }
    var engine: RecordEngine { bench.service.engine }

    init(on store: (any OrderedStore)? = nil, batchCount: Int = 1_000) throws {
        try self.init(try ReleaseBench(on: store, batchCount: batchCount))
    }

    private init(_ bench: ReleaseBench) throws {
        self.bench = bench
        bob = try bench.service.account(
            externalID: "bob", createIfMissing: AccountDraft(handles: [.email("bob@example.com")]))
        carol = try bench.service.account(externalID: "carol", createIfMissing: AccountDraft())
    }

    /// The server of the next process over the same store.
    func next(on store: any OrderedStore, batchCount: Int = 1_000) throws -> ShareStage {
        // Each process draws other identifiers, by the number of requests for files.
        _ = try? bench.files.names(in: "/store")
        return try ShareStage(bench.next(on: store, batchCount: batchCount))
    }

    // MARK: Contents

    static func token(_ number: Int) -> ShareToken {
        let bytes = (0..<ShareToken.byteCount).map { UInt8(truncatingIfNeeded: number >> ($0 % 4 * 8)) ^ UInt8($0) }
        guard let token = ShareToken(bytes: bytes) else { preconditionFailure("A secret has 16 bytes.") }
        return token
    }

    /// A content with only its owner. `number` determines its secret.
    func content(root: RecordName?, _ number: Int) -> ShareContent {
        ShareContent(
            root: root, token: Self.token(number),
            participants: [
                ShareParticipant(
                    id: "owner", role: .owner, permission: .readWrite, status: .accepted, user: alice.userName,
                    added: bench.clock.now)
            ])
    }

    func accepted(_ account: StoredAccount, _ permission: ParticipantPermission = .readWrite) -> ShareParticipant {
        ShareParticipant(
            id: ParticipantID("p-\(account.userName)"), role: .privateUser, permission: permission, status: .accepted,
            invitation: .userRecord, user: account.userName, added: bench.clock.now)
    }

    func oneTime(_ number: Int) -> ShareParticipant {
        ShareParticipant(
            id: ParticipantID("one-\(number)"), role: .privateUser, permission: .readOnly, status: .pending,
            invitation: .oneTime(Self.token(number)), added: bench.clock.now)
    }

    /// Bob has accepted, Carol has no permission, and one URL is unused: two acceptances, two URLs.
    func fullContent(root: RecordName?, _ number: Int) -> ShareContent {
        var content = content(root: root, number)
        content.participants += [accepted(bob), accepted(carol, .none), oneTime(number + 1)]
        return content
    }

    // MARK: Writing

    func zoneID(_ zone: ZoneAddress = ReleaseBench.notes) -> ZoneID {
        ZoneID(
            database: DatabaseID(container: ReleaseBench.container, owner: alice.userName, scope: .private),
            name: ZoneName(zone.zoneName))
    }

    func place(_ share: RecordName, in zone: ZoneAddress = ReleaseBench.notes) throws -> SharePlace {
        let id = zoneID(zone)
        let identity = try engine.read { try $0.existingZone(id).header().identity }
        guard let place = SharePlace(id, identity: identity, share: share) else {
            throw ConformanceFailure("A private zone is a place for shares.")
        }
        return place
    }

    func stored(_ share: RecordName, in zone: ZoneAddress = ReleaseBench.notes) throws -> ShareContent? {
        try engine.read { try Self.content(of: share, in: $0.existingZone(zoneID(zone))) }
    }

    private static func content(of share: RecordName, in zone: ZoneReader) throws -> ShareContent? {
        guard case .bytes(let bytes)? = try zone.record(share)?.record.fields[ShareContent.fieldKey]?.value else {
            return nil
        }
        return try ShareContentEntry(decoding: bytes.span).content
    }

    /// Writes a share's content, or deletes the share. Creates the root if it is missing.
    func write(_ content: ShareContent?, _ share: RecordName, in zone: ZoneAddress = ReleaseBench.notes) throws {
        let (id, place) = (zoneID(zone), try place(share, in: zone))
        let stamp = Stamp(date: bench.clock.now, user: alice.userName)
        try engine.transact { transaction in
            let reader = try transaction.existingZone(id)
            let old = try Self.content(of: share, in: reader)
            let (mutations, byteCount) = try Self.mutations(from: old, to: content, share, in: reader)
            let plan = try transaction.plan(MutationRequest(mutations, stamp: stamp, tagSalt: 5), in: id)
            let sequence =
                plan.saved.first { $0.record.name == share }?.system.changeSequence ?? plan.header.sequence
            let difference = try ShareEntries.difference(
                from: old, to: content, at: place, sequence: sequence, date: stamp.date
            ) { user in
                try transaction.store.withValue(forKey: place.acceptanceKey(of: user)) {
                    try AcceptanceEntry(decoding: $0)
                }
            }
            try QuotaLedger.charge(
                byteCount: byteCount, to: alice.userName, zone: place.zoneIdentity, limit: nil, in: transaction)
            try transaction.apply(plan, in: id)
            for entry in difference.set { try transaction.set(entry.key, to: entry.value) }
            for key in difference.deleted { try transaction.delete(key) }
            for ended in difference.ended {
                let key = reader.keys.endedAcceptance(user: ended.user, ended: sequence, share: share)
                try transaction.set(key, to: EndedPeriodEntry(began: ended.began).encoded())
            }
            if let content {
                let entry = ShareTokenEntry(token: content.token)
                try transaction.set(reader.keys.shareToken(content.root), to: entry.encoded())
            }
        }
    }

    /// The records of a share and its root, and their additional size.
    private static func mutations(
        from old: ShareContent?, to new: ShareContent?, _ share: RecordName, in zone: ZoneReader
    ) throws -> ([RecordMutation], Int64) {
        var record = Record(name: share, type: ShareContent.recordType)
        if let new { record.fields[ShareContent.fieldKey] = Field(.bytes(ShareContentEntry(new).encoded())) }
        var byteCount = new == nil ? 0 : QuotaLedger.byteCount(of: record)
        byteCount -= try zone.record(share).map { QuotaLedger.byteCount(of: $0.record) } ?? 0
        var mutations: [RecordMutation] = [new == nil ? .delete(share) : .save(record)]
        guard let root = (new ?? old)?.root else { return (mutations, byteCount) }
        var rootRecord = Record(name: root, type: "Note")
        if let found = try zone.record(root)?.record {
            rootRecord = found
            byteCount -= QuotaLedger.byteCount(of: found)
        }
        rootRecord.share = new == nil ? nil : share
        byteCount += QuotaLedger.byteCount(of: rootRecord)
        mutations.append(.save(rootRecord))
        return (mutations, byteCount)
    }

    /// Changes a key behind the server's back; nil deletes it.
    func plant(_ value: [UInt8]?, at key: [UInt8]) throws {
        try engine.transact { transaction in
            if let value { try transaction.set(key, to: value) } else { try transaction.delete(key) }
        }
    }

    // MARK: Looking

    /// Every key and value outside the zones that exists because of shares.
    func outside() throws -> [[UInt8]: [UInt8]] {
        try engine.read { reader in
            var entries: [[UInt8]: [UInt8]] = [:]
            for range in [GlobalKeys.keyspace(.acceptances), GlobalKeys.keyspace(.shareURLs)] {
                try reader.store.scan(range) { key, value in
                    entries[key.indices.map { key[$0] }] = value.indices.map { value[$0] }
                    return .next
                }
            }
            return entries
        }
    }

    /// The findings of all verifiers.
    func problems() throws -> [String] {
        try bench.problems() + ShareVerifier(engine: bench.service.engine).verify().findings.map { "\($0.kind): \($0)" }
    }
}
