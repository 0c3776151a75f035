// Shares, participants and a server to answer about them, for tests that need no store.

import Foundation
@testable import StratusCloud
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
            ToldRecord(
                address: RecordAddress(recordName: name, zone: zone), type: "cloudkit.share", changeTag: tag,
                creationDate: date, modificationDate: date + seconds, creatorUserName: CKCurrentUserDefaultName,
                lastModifiedUserName: CKCurrentUserDefaultName,
                fields: ClientFields(["cloudkit.title": ClientField(.string("Holiday"), isEncrypted: false)]),
                sharing: sharing))
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
        let isOwn = told.share.address.zone.ownerName == CKCurrentUserDefaultName
        let origin = RecordOrigin(
            container: told.container, database: isOwn ? .private : .shared, account: account)
        return CKShareMetadata(
            told, share: CKShare(share: told.share, origin: origin),
            root: told.rootRecord.map { CKRecord.from($0, origin: origin) })
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
    var onRequest: ([String]) throws -> [Result<Done, CloudError>] = { _ in throw ScriptedServer.refusal }
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

    func answer<Request: CloudRequest>(
        _ request: Request, as caller: Caller, in place: Request.Place
    ) throws -> Request.Answer {
        if let answer = try uncounted(request) as? Request.Answer { return answer }
        count.add(1, ordering: .relaxed)
        guard let answer = try counted(request, as: caller) as? Request.Answer else { throw Self.refusal }
        return answer
    }

    /// What clients ask before a request, and not as one.
    private func uncounted(_ request: any CloudRequest) throws -> (any Sendable)? {
        switch request {
        case is RequestLimitsRequest: RequestSize()
        case is CheckFileSizeRequest: false
        default: nil
        }
    }

    private func counted(_ request: any CloudRequest, as caller: Caller) throws -> any Sendable {
        switch request {
        case let request as ModifyRecordsRequest: try onModify(request)
        case let request as FetchRecordsRequest: try onFetch(request)
        case let request as ShareParticipantsRequest: ItemList(try onParticipants(request.lookups))
        case let request as ShareMetadataRequest: ItemList(try onMetadata(request))
        case let request as AcceptSharesRequest: ItemList(try onAccept(request.urls))
        case let request as RequestShareAccessRequest: ItemList(try onRequest(request.urls))
        case let request as FetchDatabaseChangesRequest: try onDatabaseChanges(request)
        case let request as FetchZoneChangesRequest: try onZoneChanges(request)
        case let request as QueryRequest: try onQuery(request)
        case let request as ModifySubscriptionsRequest: try onModifySubscriptions(request, caller)
        case let request as FetchSubscriptionsRequest:
            FetchSubscriptionsResponse(try onFetchSubscriptions(request, caller))
        default: throw Self.refusal
        }
    }

    func copyAsset(_ wanted: HeldAsset, as caller: Caller, in database: DatabaseSelector) throws -> String {
        throw Self.refusal
    }
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
