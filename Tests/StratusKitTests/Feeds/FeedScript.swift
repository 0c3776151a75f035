// A server with feeds that a test writes down, for the operations that read them.

import Foundation
@testable import StratusCloud
import StratusModel

@testable import StratusKit

enum FeedScript {
    /// A zone with so many changes, delivered in pages of two unless a limit is given. Every third change is a
    /// deletion; a token is the number of delivered changes.
    static func zone(_ request: FetchZoneChangesRequest, changeCount: Int) -> FetchZoneChangesResponse {
        let start = request.token.map { Int($0[0]) } ?? 0
        let end = min(start + (request.limit == 0 ? 2 : request.limit), changeCount)
        var response = FetchZoneChangesResponse(
            changed: [], deleted: [], token: [UInt8(end)], isMoreComing: end < changeCount)
        for number in start..<max(start, end) {
            let address = RecordAddress(recordName: "r\(number)", zone: request.zone)
            if number % 3 == 2 {
                response.deleted.append(RecordDeletion(address: address, type: "Note"))
            } else {
                response.changed.append(
                    ClientRecord(
                        ToldRecord(
                            address: address, type: "Note", changeTag: "\(number)", creationDate: ShareSamples.date,
                            modificationDate: ShareSamples.date, creatorUserName: CKCurrentUserDefaultName,
                            lastModifiedUserName: CKCurrentUserDefaultName,
                            fields: ClientFields(["number": ClientField(.int64(Int64(number)))]))))
            }
        }
        if response.isMoreComing { response.clientChangeTokenData = [9] }
        return response
    }

    /// A database in which the zones `z0`, `z1`, … have changed and three are gone, delivered in pages of two.
    static func database(_ request: FetchDatabaseChangesRequest, zoneCount: Int) -> FetchDatabaseChangesResponse {
        let start = request.token.map { Int($0[0]) } ?? 0
        let end = min(start + (request.limit == 0 ? 2 : request.limit), zoneCount)
        var response = FetchDatabaseChangesResponse(
            changed: (start..<max(start, end)).map { ZoneAddress(zoneName: "z\($0)") }, deleted: [],
            token: [UInt8(end)], isMoreComing: end < zoneCount)
        if !response.isMoreComing {
            response.deleted = ZoneDeletionReason.allCases.map {
                ZoneDeletion(zone: ZoneAddress(zoneName: "\($0)"), reason: $0)
            }
        }
        return response
    }

    /// What a token says.
    static func place(_ token: CKServerChangeToken?) -> String { token.map { "\($0.bytes)" } ?? "nil" }
}

/// The deprecated blocks, reachable without a warning.
protocol LegacyFetchZoneChanges: AnyObject {
    var recordChangedBlock: ((CKRecord) -> Void)? { get set }
    var recordZoneFetchCompletionBlock: ((CKRecordZone.ID, CKServerChangeToken?, Data?, Bool, (any Error)?) -> Void)? {
        get set
    }
    var fetchRecordZoneChangesCompletionBlock: (((any Error)?) -> Void)? { get set }
    var optionsByRecordZoneID: [CKRecordZone.ID: CKFetchRecordZoneChangesOperation.ZoneConfiguration]? { get set }
}

/// The deprecated blocks, reachable without a warning.
protocol LegacyFetchDatabaseChanges: AnyObject {
    var fetchDatabaseChangesCompletionBlock: ((CKServerChangeToken?, Bool, (any Error)?) -> Void)? { get set }
}

extension CKFetchRecordZoneChangesOperation: LegacyFetchZoneChanges {}
extension CKFetchDatabaseChangesOperation: LegacyFetchDatabaseChanges {}
