// The server over the engine that is measured, so that its requests meet the very records that the engine's figures are
// of.

package import Foundation
package import StratusCloud
package import StratusModel
package import StratusRecords
import Synchronization

/// A server whose accounts are the owner of the benchmarks' zones and participants.
package final class ServerSide: Sendable {
    package let service: CloudService
    package let owner: Caller

    package convenience init(_ stratus: StratusSide, options: CloudOptions = CloudOptions()) throws {
        try self.init(engine: stratus.engine, options: options)
    }

    /// A server over an engine, whatever its store is.
    package init(engine: RecordEngine, options: CloudOptions = CloudOptions()) throws {
        let identifiers = SeededIdentifiers()
        service = CloudService(
            engine: engine, environment: CloudEnvironment(clock: DataClock(), identifiers: identifiers),
            options: options)
        var birth = AccountBirth(
            identifier: identifiers.makeUUID(), user: identifiers.makeUUID(), created: DataClock.stamp.date)
        guard let name = StratusSide.database.owner else {
            throw WorkloadError("The benchmarks' database has no owner.")
        }
        birth.userName = name
        let (service, wanted) = (service, birth)
        let known = try service.account(userName: name)
        let account =
            try known ?? engine.transact { try service.accountDirectory.create(AccountDraft(), wanted, in: $0) }
        owner = Caller(container: StratusSide.database.container, account: account.id)
    }

    /// Somebody with an address.
    package func guest(_ name: String) throws -> Guest {
        let email = "\(name)@example.com"
        let account = try service.account(
            externalID: name, createIfMissing: AccountDraft(handles: [Handle.email(email)]))
        return Guest(account: account, caller: Caller(container: owner.container, account: account.id), email: email)
    }

    /// Creates a zone of an account; the owner's without one.
    package func createZone(_ zone: ZoneAddress, of caller: Caller? = nil) throws {
        let request = ModifyZonesRequest(saves: [ClientZone(address: zone)])
        _ = try service.modifyZones(request, as: caller ?? owner, in: .private).saves[0].get()
    }

    /// Saves records by one request of an account, the owner's without one.
    package func save(_ saves: [RecordSave], as caller: Caller? = nil) throws {
        let request = ModifyRecordsRequest(saves: saves, policy: .changedKeys)
        let answer = try service.modifyRecords(request, as: caller ?? owner, in: .private)
        for save in answer.saves { _ = try save.get() }
    }

    /// What a client sends to save a record with these contents.
    package static func save(
        _ name: RecordName, _ content: RecordContent, below parent: RecordName? = nil, in zone: ZoneAddress
    ) -> RecordSave {
        let fields: [String: ClientField] = [
            "title": ClientField(.string(content.title)), "size": ClientField(.int64(content.size)),
            "mode": ClientField(.int64(content.mode)), "digest": ClientField(.bytes(.init(content.digest))),
        ]
        return RecordSave(
            address: RecordAddress(recordName: name.text, zone: zone), type: content.type.text,
            parent: parent.map {
                ClientReference(target: RecordAddress(recordName: $0.text, zone: zone), action: .none)
            },
            isParentChanged: parent != nil, fields: fields, changedKeys: Set(fields.keys))
    }

    /// Shares an existing record with participants, who have not accepted yet. Returns the share's URL.
    package func share(_ root: Record, in zone: ZoneAddress, with guests: [Guest]) throws -> String {
        let answers = try service.modifyRecords(Self.sharing(root, in: zone, with: guests), as: owner, in: .private)
        _ = try answers.saves[0].get()
        guard let url = try answers.saves[1].get().sharing?.url else { throw WorkloadError("A share has no URL.") }
        return url
    }

    /// A client's request to share an existing record: root and share in one request (SH-05).
    package static func sharing(_ root: Record, in zone: ZoneAddress, with guests: [Guest] = []) -> ModifyRecordsRequest
    {
        let address = RecordAddress(recordName: root.name.text, zone: zone)
        var share = RecordSave(address: shareAddress(root, in: zone), type: "cloudkit.share")
        share.sharing = ShareClaim(
            root: address, publicPermission: ParticipantPermission.none,
            participants: guests.map(\.claim))
        return ModifyRecordsRequest(
            saves: [RecordSave(address: address, type: root.type.text), share], policy: .changedKeys)
    }

    package func stopSharing(_ root: Record, in zone: ZoneAddress) throws {
        let request = ModifyRecordsRequest(deletes: [Self.shareAddress(root, in: zone)])
        _ = try service.modifyRecords(request, as: owner, in: .private).deletes[0].get()
    }

    package static func shareAddress(_ root: Record, in zone: ZoneAddress) -> RecordAddress {
        RecordAddress(recordName: "share of \(root.name.text)", zone: zone)
    }

    /// Moves an existing record below another one.
    package func move(_ record: RecordName, _ type: RecordType, below parent: RecordName, in zone: ZoneAddress) throws {
        let save = RecordSave(
            address: RecordAddress(recordName: record.text, zone: zone), type: type.text,
            parent: ClientReference(target: RecordAddress(recordName: parent.text, zone: zone), action: .none),
            isParentChanged: true)
        let request = ModifyRecordsRequest(saves: [save], policy: .changedKeys)
        _ = try service.modifyRecords(request, as: owner, in: .private).saves[0].get()
    }

    package func accept(_ url: String, by guest: Guest) throws {
        _ = try service.acceptShares([url], as: guest.caller)[0].get()
    }

    /// Reads a zone's feed to its end.
    package func readFeed(
        of zone: ZoneAddress, after token: [UInt8]? = nil, as caller: Caller? = nil, keys: Set<String>? = nil
    ) throws -> FeedReading {
        var reading = FeedReading(token: token)
        repeat {
            let request = FetchZoneChangesRequest(zone: zone, token: reading.token, limit: 1_000, desiredKeys: keys)
            let page = try service.fetchZoneChanges(
                request, as: caller ?? owner, in: caller == nil ? .private : .shared)
            reading.toldCount += page.changed.count + page.deleted.count
            reading.pageCount += 1
            for record in page.changed { try Self.takeOut(record) }
            reading.token = page.token
            reading.isMoreComing = page.isMoreComing
        } while reading.isMoreComing
        return reading
    }

    /// Reads every part and every value of a record, like the peers: they are converted to the client's types on
    /// access.
    package static func takeOut(_ record: ClientRecord) throws {
        let (address, parent, share) = (record.address, record.parent, record.share)
        let texts = (record.type, record.changeTag, record.creatorUserName, record.lastModifiedUserName)
        guard !address.recordName.isEmpty, !texts.0.isEmpty, !texts.1.isEmpty, !texts.2.isEmpty, !texts.3.isEmpty,
            parent.map({ !$0.target.recordName.isEmpty }) ?? true,
            share.map({ !$0.target.recordName.isEmpty }) ?? true, record.creationDate <= record.modificationDate
        else { throw WorkloadError("A record is not whole.") }
        let fields = record.fields
        var byteCount = 0
        for (key, field) in fields { byteCount += key.utf8.count + field.value.contentByteCount }
        guard byteCount > 0 || fields.isEmpty else { throw WorkloadError("A record has fields without values.") }
    }

    /// A zone of the benchmarks as a guest names it.
    package static func shared(_ zone: ZoneID) -> ZoneAddress {
        ZoneAddress(zoneName: zone.name.text, ownerName: zone.database.owner?.text ?? "")
    }
}

/// An invited person.
package struct Guest {
    package let account: StoredAccount
    package let caller: Caller
    package let email: String

    /// The invitation of the guest.
    package var claim: ParticipantClaim {
        ParticipantClaim(
            id: "new-\(email)", lookup: .email(email), role: .privateUser, permission: .readWrite, isAdded: true)
    }
}

/// How far a feed was read.
package struct FeedReading {
    package var token: [UInt8]?
    package var toldCount = 0
    package var pageCount = 0
    package var isMoreComing = false

    package init(token: [UInt8]? = nil) { self.token = token }
}

extension DataClock: CloudClock {
    package var now: Date { Self.stamp.date }
    package var uptimeSeconds: Double { ProcessInfo.processInfo.systemUptime }
}

/// The same identifiers in every run.
private final class SeededIdentifiers: IdentifierSource {
    private let numbers = Mutex(SeededNumbers(seed: 12))

    package func makeUUID() -> UUID {
        let bytes = makeSecret(byteCount: 16)
        return UUID(
            uuid: (
                bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7], bytes[8], bytes[9],
                bytes[10], bytes[11], bytes[12], bytes[13], bytes[14], bytes[15]
            ))
    }

    package func makeSalt() -> UInt32 { numbers.withLock { UInt32(truncatingIfNeeded: $0.next()) } }

    package func makeSecret(byteCount: Int) -> [UInt8] {
        numbers.withLock { numbers in (0..<byteCount).map { _ in UInt8(truncatingIfNeeded: numbers.next()) } }
    }
}
