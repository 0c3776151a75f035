// Shares, participants and a server to answer about them, for tests that need no store.

import Foundation
import StratusCloud
import StratusModel
import StratusStore
import Synchronization

@testable import StratusKit

enum ShareSamples {
    static let zoneID = CKRecordZone.ID(zoneName: "Folders")
    static let container = ContainerName("iCloud.com.example.app")
    static let account = AccountID("alice")
    static let origin = RecordOrigin(container: container, database: .private, account: account)
    static let date = Date(timeIntervalSinceReferenceDate: 800_000_000)

    static func root(_ name: String = "root") -> CKRecord {
        CKRecord(recordType: "Folder", recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
    }

    /// A participant that was looked up.
    static func person(
        _ id: String, email: String? = nil, phone: String? = nil, user: String? = nil, isOneTime: Bool = false
    ) -> CKShare.Participant {
        CKShareParticipant(told(id, email: email, phone: phone, user: user, isOneTime: isOneTime), viewer: account)
    }

    static func told(
        _ id: String, email: String? = nil, phone: String? = nil, user: String? = nil,
        role: ParticipantRole = .privateUser, permission: ParticipantPermission = .readOnly,
        status: AcceptanceStatus = .pending, isOneTime: Bool = false
    ) -> ClientParticipant {
        let lookup: IdentityLookup? = email.map { .email($0) } ?? phone.map { .phone($0) }
        return ClientParticipant(
            id: id,
            identity: ClientIdentity(
                lookup: lookup, userName: user, name: PersonName(given: id, family: "Smith"), hasAccount: true),
            role: role, permission: permission, status: status, isOneTime: isOneTime)
    }

    static func owner(_ user: String = CKCurrentUserDefaultName) -> ClientParticipant {
        told("owner", user: user, role: .owner, permission: .readWrite, status: .accepted)
    }

    static func petitioner(_ id: String, email: String, user: String) -> ClientPetitioner {
        ClientPetitioner(
            id: id,
            identity: ClientIdentity(
                lookup: .email(email), userName: user, name: PersonName(given: id), hasAccount: true))
    }

    /// What a server returns for a share.
    static func sharing(
        _ participants: [ClientParticipant] = [], publicPermission: ParticipantPermission = .none,
        currentUserID: String? = "owner", requesters: [ClientPetitioner] = [], blocked: [ClientPetitioner] = []
    ) -> ClientShare {
        ClientShare(
            root: root().recordID.address, url: "https://example.com/share/secret", publicPermission: publicPermission,
            allowsAccessRequests: false, participants: [owner()] + participants, ownerID: "owner",
            currentUserID: currentUserID, requesters: requesters, blocked: blocked)
    }

    static func record(
        _ sharing: ClientShare?, tag: String = "1", name: String = "Share-1", owner: String? = nil,
        later seconds: Double = 0
    ) -> ClientRecord {
        var zone = zoneID.address
        if let owner { zone.ownerName = owner }
        return ClientRecord(
            address: RecordAddress(recordName: name, zone: zone), type: "cloudkit.share", changeTag: tag,
            creationDate: date, modificationDate: date + seconds, creatorUserName: CKCurrentUserDefaultName,
            lastModifiedUserName: CKCurrentUserDefaultName,
            fields: ["cloudkit.title": ClientField(.string("Holiday"), isEncrypted: false)], sharing: sharing)
    }

    /// A share that was fetched.
    static func share(_ sharing: ClientShare = sharing()) -> CKShare {
        CKShare(share: record(sharing), origin: origin)
    }

    static func metadata(
        _ share: ClientRecord = record(sharing(currentUserID: nil)), url: String = "https://example.com/share/secret",
        root: ClientRecord? = nil
    ) -> ClientShareMetadata {
        ClientShareMetadata(
            url: url, container: container, share: share, rootRecord: root, role: .privateUser, status: .pending,
            permission: .readWrite,
            owner: ClientIdentity(lookup: nil, userName: "_owner", name: PersonName(given: "Olga"), hasAccount: true))
    }

    static func metadata(_ told: ClientShareMetadata) -> CKShare.Metadata {
        CKShareMetadata(told, account: account) { record, origin in CKRecord.from(record, origin: origin) }
    }
}

extension CKShare {
    /// The mistake that its save would fail with.
    var misuse: String? { beginSave().makeSave(to: ShareSamples.origin).misuse }

    /// What its save would send in addition to the fields.
    var claim: ShareClaim? { beginSave().makeSave(to: ShareSamples.origin).sharing }
}

/// A server that answers as the test says.
final class ScriptedServer: CloudServer, @unchecked Sendable {
    // Unchecked because a test sets its answers before its requests.
    var onModify: (ModifyRecordsRequest) throws -> ModifyRecordsResponse = { _ in throw ScriptedServer.refusal }
    var onFetch: (FetchRecordsRequest) throws -> FetchRecordsResponse = { _ in throw ScriptedServer.refusal }
    var onParticipants: ([IdentityLookup]) throws -> [Result<ClientParticipant, CloudError>] = { _ in
        throw ScriptedServer.refusal
    }
    var onMetadata: (ShareMetadataRequest) throws -> [Result<ClientShareMetadata, CloudError>] = { _ in
        throw ScriptedServer.refusal
    }
    var onAccept: ([String]) throws -> [Result<ClientRecord, CloudError>] = { _ in throw ScriptedServer.refusal }
    var onRequest: ([String]) throws -> [Result<Void, CloudError>] = { _ in throw ScriptedServer.refusal }
    var onDatabaseChanges: (FetchDatabaseChangesRequest) throws -> FetchDatabaseChangesResponse = { _ in
        throw ScriptedServer.refusal
    }
    var onZoneChanges: (FetchZoneChangesRequest) throws -> FetchZoneChangesResponse = { _ in
        throw ScriptedServer.refusal
    }
    var onQuery: (QueryRequest) throws -> QueryResponse = { _ in throw ScriptedServer.refusal }
    var onModifySubscriptions: (ModifySubscriptionsRequest, Caller) throws -> ModifySubscriptionsResponse = { _, _ in
        throw ScriptedServer.refusal
    }
    var onFetchSubscriptions:
        (FetchSubscriptionsRequest, Caller) throws -> [(String, Result<ClientSubscription, CloudError>)] = { _, _ in
            throw ScriptedServer.refusal
        }
    private let count = Atomic<Int>(0)

    static let refusal = CloudError(.networkUnavailable, "The network is not there.")

    /// The number of requests.
    var requestCount: Int { count.load(ordering: .relaxed) }

    private func counting<Value>(_ body: () throws -> Value) rethrows -> Value {
        count.add(1, ordering: .relaxed)
        return try body()
    }

    func modifyRecords(
        _ request: ModifyRecordsRequest, as caller: Caller, in database: DatabaseSelector
    ) throws -> ModifyRecordsResponse { try counting { try onModify(request) } }

    func fetchRecords(
        _ request: FetchRecordsRequest, as caller: Caller, in database: DatabaseSelector
    ) throws -> FetchRecordsResponse { try counting { try onFetch(request) } }

    func shareParticipants(
        for lookups: [IdentityLookup], as caller: Caller
    ) throws -> [Result<ClientParticipant, CloudError>] { try counting { try onParticipants(lookups) } }

    func shareMetadata(
        _ request: ShareMetadataRequest, as caller: Caller
    ) throws -> [Result<ClientShareMetadata, CloudError>] { try counting { try onMetadata(request) } }

    func acceptShares(_ urls: [String], as caller: Caller) throws -> [Result<ClientRecord, CloudError>] {
        try counting { try onAccept(urls) }
    }

    func requestShareAccess(_ urls: [String], as caller: Caller) throws -> [Result<Void, CloudError>] {
        try counting { try onRequest(urls) }
    }

    func fetchDatabaseChanges(
        _ request: FetchDatabaseChangesRequest, as caller: Caller, in database: DatabaseSelector
    ) throws -> FetchDatabaseChangesResponse { try counting { try onDatabaseChanges(request) } }

    func fetchZoneChanges(
        _ request: FetchZoneChangesRequest, as caller: Caller, in database: DatabaseSelector
    ) throws -> FetchZoneChangesResponse { try counting { try onZoneChanges(request) } }

    func query(_ request: QueryRequest, as caller: Caller, in database: DatabaseSelector) throws -> QueryResponse {
        try counting { try onQuery(request) }
    }

    func modifySubscriptions(
        _ request: ModifySubscriptionsRequest, as caller: Caller, in database: DatabaseSelector
    ) throws -> ModifySubscriptionsResponse { try counting { try onModifySubscriptions(request, caller) } }

    func fetchSubscriptions(
        _ request: FetchSubscriptionsRequest, as caller: Caller, in database: DatabaseSelector
    ) throws -> [(String, Result<ClientSubscription, CloudError>)] {
        try counting { try onFetchSubscriptions(request, caller) }
    }

    func modifyZones(
        _ request: ModifyZonesRequest, as caller: Caller, in database: DatabaseSelector
    ) throws -> ModifyZonesResponse { throw Self.refusal }
    func fetchZones(
        _ request: FetchZonesRequest, as caller: Caller, in database: DatabaseSelector
    ) throws -> [(ZoneAddress, Result<ClientZone, CloudError>)] { throw Self.refusal }
    func fetchNotificationChanges(
        _ request: FetchNotificationChangesRequest, as caller: Caller
    ) throws -> FetchNotificationChangesResponse { throw Self.refusal }
    func markNotificationsRead(_ ids: [UUID], as caller: Caller) throws { throw Self.refusal }
    func modifyBadge(_ badge: Int, as caller: Caller) throws { throw Self.refusal }
    func webAuthToken(apiToken: String, as caller: Caller) throws -> String { throw Self.refusal }
    func requestLimits() throws -> RequestSize { throw Self.refusal }
    func checkItemCount(_ count: Int) throws {}
    func isTooLarge(fileAt path: String) throws -> Bool { false }
    func accountStatus(of caller: Caller) throws -> AccountStatus { throw Self.refusal }
    func userName(of caller: Caller) throws -> UserName { throw Self.refusal }
    func isDiscoverable(_ caller: Caller) throws -> Bool { throw Self.refusal }
    func discover(_ lookups: [IdentityLookup], as caller: Caller) throws -> [DiscoveredIdentity?] {
        throw Self.refusal
    }
    func copyAsset(
        _ asset: AssetDescriptor, in field: String, of record: RecordAddress, as caller: Caller,
        in database: DatabaseSelector
    ) throws -> String { throw Self.refusal }
    func holdAssets() throws -> AssetHold? { nil }
    func copyAssets(
        _ wanted: [HeldAsset], as caller: Caller, in database: DatabaseSelector, under hold: AssetHold?,
        shouldContinue: () -> Bool
    ) throws -> [Result<String, CloudError>] { throw Self.refusal }
    func releaseCopies(_ paths: [String], unseen: [String]) {}

    /// A container whose requests this server answers.
    func container(_ account: AccountID = ShareSamples.account) -> CKContainer {
        let session = CloudSession(server: self, clock: HandClock(), account: account)
        return CKContainer(session: session, identifier: ShareSamples.container.text, account: account)
    }
}

/// Adds an operation and returns when its last block was called.
func run(_ operation: CKOperation, in container: CKContainer) async {
    await withCheckedContinuation { continuation in
        operation.completionBlock = { continuation.resume() }
        container.add(operation)
    }
}
