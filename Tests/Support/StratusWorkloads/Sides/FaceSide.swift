// The CloudKit face over a store of its own, and the floors below it: the same records saved by each.

import Foundation
package import StratusCloud
package import StratusKit
package import StratusModel
import StratusRecords
package import StratusStore
import Synchronization

/// A store opened as a host opens it, and three ways to save into it.
package final class FaceSide {
    private static let containerName = "iCloud.com.example.benchmarks"

    private let stratus: Stratus
    /// The server below the face, with the same store.
    package let service: CloudService
    /// The account's private database.
    package let database: CKDatabase
    /// The account, for the server.
    package let caller: Caller
    private let owner: UserName
    private let isRepeatable: Bool

    /// With `isRepeatable` clock and identifiers are the same in every process, and so are the bytes that are written.
    package init(at path: String, isRepeatable: Bool = false) throws {
        self.isRepeatable = isRepeatable
        var options = Stratus.Options()
        options.upkeepIntervalSeconds = nil
        options.logger = nil
        if isRepeatable {
            options.clock = .manual(Stratus.ManualClock(now: DataClock.stamp.date))
            options.identifiers = .seeded(11)
        }
        stratus = try Stratus.open(at: URL(fileURLWithPath: path), options: options)
        service = try stratus.service
        let account = try stratus.account(externalID: "benchmarks", createIfMissing: .init())
        database = stratus.container(Self.containerName, signedInAs: account).privateCloudDatabase
        caller = Caller(container: ContainerName(Self.containerName), account: AccountID(account.id))
        owner = UserName(account.userRecordName)
        for zone in ["operation", "service", "engine"] { try createZone(zone) }
    }

    package func close() { stratus.close() }

    /// Creates a zone of the account, if there is none of that name.
    package func createZone(_ name: String) throws {
        let response = try service.modifyZones(
            ModifyZonesRequest(saves: [ClientZone(address: ZoneAddress(zoneName: name))]), as: caller, in: .private)
        for result in response.saves { _ = try result.get() }
    }

    /// A zone of the account as the record layer names it.
    package func zoneID(_ name: String) -> ZoneID {
        let database = DatabaseID(container: ContainerName(Self.containerName), owner: owner, scope: .private)
        return ZoneID(database: database, name: ZoneName(name))
    }

    package var store: any OrderedStore { service.engine.store }

    /// The seconds from the creation of the operation to the end of its last block.
    package func saveByOperation(_ records: [Record]) throws -> Double {
        let zone = CKRecordZone.ID(zoneName: "operation")
        let clientRecords = records.map { Self.clientRecord($0, zone) }
        let savedCount = Mutex(0)
        let failure = SharedFailure()
        let seconds = Stopwatch.seconds {
            let operation = CKModifyRecordsOperation(recordsToSave: clientRecords)
            let done = DispatchSemaphore(value: 0)
            operation.perRecordSaveBlock = { _, result in
                switch result {
                case .success: savedCount.withLock { $0 += 1 }
                case .failure(let error): failure.note(error)
                }
            }
            operation.modifyRecordsResultBlock = { result in
                if case .failure(let error) = result { failure.note(error) }
                done.signal()
            }
            database.add(operation)
            done.wait()
        }
        try failure.check()
        guard savedCount.withLock({ $0 }) == records.count else { throw WorkloadError("A record was not saved.") }
        return seconds
    }

    /// The seconds of the request that the operation would send.
    package func saveByService(_ records: [Record]) throws -> Double {
        let zone = ZoneAddress(zoneName: "service")
        let request = ModifyRecordsRequest(saves: records.map { Self.save($0, zone) })
        return try Stopwatch.seconds {
            let response = try service.modifyRecords(request, as: caller, in: .private)
            for result in response.saves { _ = try result.get() }
        }
    }

    /// The seconds of the commit alone.
    package func saveByEngine(_ records: [Record]) throws -> Double {
        let zone = zoneID("engine")
        return try Stopwatch.seconds {
            let stamp = isRepeatable ? DataClock.stamp : Stamp(date: Date(), user: owner)
            let request = MutationRequest(
                records.map { .save($0) }, stamp: stamp, tagSalt: isRepeatable ? 7 : RandomIdentifiers().makeSalt())
            try service.engine.transact { _ = try $0.apply(request, in: zone) }
        }
    }

    /// The record as an app makes it.
    package static func clientRecord(_ record: Record, _ zone: CKRecordZone.ID) -> CKRecord {
        let made = CKRecord(
            recordType: record.type.text, recordID: CKRecord.ID(recordName: record.name.text, zoneID: zone))
        if let parent = record.parent {
            let id = CKRecord.ID(recordName: parent.text, zoneID: zone)
            made.parent = CKRecord.Reference(recordID: id, action: .none)
        }
        for (key, field) in record.fields {
            switch field.value {
            case .string(let text): made[key.text] = text
            case .int64(let number): made[key.text] = number
            case .bytes(let bytes): made[key.text] = Data(bytes)
            default: preconditionFailure("The data sets have no other fields.")
            }
        }
        return made
    }

    private static func save(_ record: Record, _ zone: ZoneAddress) -> RecordSave {
        var fields: [String: ClientField] = [:]
        for (key, field) in record.fields {
            fields[key.text] = ClientField(ClientValue(field.value, zone: zone), isEncrypted: false)
        }
        return RecordSave(
            address: RecordAddress(recordName: record.name.text, zone: zone), type: record.type.text, fields: fields,
            changedKeys: Set(fields.keys))
    }
}
