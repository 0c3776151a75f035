// W11: what the face costs. The same 400 new records, durable, in one request: by a `CKModifyRecordsOperation` that is
// added to a database and calls its blocks for every record, by the server's call below the face with what the operation
// would send, and by the record layer alone. Each contestant saves into a zone of its own of the same fill. Making the
// records is in nobody's time.

import Foundation
import StratusCloud
import StratusKit
import StratusModel
import StratusRecords
import Synchronization

enum OperationWorkload: Workload {
    static let name = "W11"
    static let title = "the operation queue: 400 records"
    private static let recordCount = 400
    private static let rounds = 41

    static func run(_ run: BenchmarkRun) throws {
        let side = try FaceSide(at: run.folder + "/face")
        defer { side.close() }
        let numbers = NumberSource()
        let contestants = [side.saveByOperation, side.saveByService, side.saveByEngine]
        var processors = contestants.map { _ in [Double]() }
        let medians = try Stopwatch.medians(
            rounds: rounds,
            contestants.indices.map { index in
                {
                    let records = (0..<recordCount).map { _ in numbers.next().record }
                    let before = FaceSide.processSeconds
                    let seconds = try contestants[index](records)
                    processors[index].append(FaceSide.processSeconds - before)
                    return seconds
                }
            })
        let times = medians.map { $0 * 1e3 }
        let subject = "400 records, one commit"
        run.add(
            Figure(
                name, subject, times[0], "ms", against: "below the face", times[1], ratio: .ourShareOfTheirs,
                .atMost(1.5)))
        run.add(
            Figure(
                name, subject, times[0], "ms", against: "the engine's apply", times[2], ratio: .ourShareOfTheirs, .none)
        )
        let processor = processors.map { Stopwatch.median($0) * 1e3 }
        run.add(
            Figure(
                name, "processor time of the process", processor[0], "ms", against: "below the face", processor[1],
                ratio: .ourShareOfTheirs, .none))
        run.add(
            Figure(
                name, "processor time of the process", processor[0], "ms", against: "the engine's apply", processor[2],
                ratio: .ourShareOfTheirs, .none))
    }
}

/// A store opened as a host opens it, and three ways to save into it.
final class FaceSide {
    private static let containerName = "iCloud.com.example.benchmarks"

    private let stratus: Stratus
    private let service: CloudService
    private let database: CKDatabase
    private let caller: Caller
    private let owner: UserName

    init(at path: String) throws {
        var options = Stratus.Options()
        options.upkeepIntervalSeconds = nil
        options.logger = nil
        stratus = try Stratus.open(at: URL(fileURLWithPath: path), options: options)
        service = try stratus.service
        let account = try stratus.account(externalID: "benchmarks", createIfMissing: .init())
        database = stratus.container(Self.containerName, signedInAs: account).privateCloudDatabase
        caller = Caller(container: ContainerName(Self.containerName), account: AccountID(account.id))
        owner = UserName(account.userRecordName)
        for zone in ["operation", "service", "engine"] {
            let response = try service.modifyZones(
                ModifyZonesRequest(saves: [ClientZone(address: ZoneAddress(zoneName: zone))]), as: caller,
                in: .private)
            for result in response.saves { _ = try result.get() }
        }
    }

    func close() { stratus.close() }

    /// The seconds from the making of the operation to the end of its last block.
    func saveByOperation(_ records: [Record]) throws -> Double {
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
        guard savedCount.withLock({ $0 }) == records.count else { throw PeerError("A record was not saved.") }
        return seconds
    }

    /// The seconds of the request that the operation would make.
    func saveByService(_ records: [Record]) throws -> Double {
        let zone = ZoneAddress(zoneName: "service")
        let request = ModifyRecordsRequest(saves: records.map { Self.save($0, zone) })
        return try Stopwatch.seconds {
            let response = try service.modifyRecords(request, as: caller, in: .private)
            for result in response.saves { _ = try result.get() }
        }
    }

    /// The seconds of the commit alone.
    func saveByEngine(_ records: [Record]) throws -> Double {
        let database = DatabaseID(container: ContainerName(Self.containerName), owner: owner, scope: .private)
        let zone = ZoneID(database: database, name: "engine")
        return try Stopwatch.seconds {
            let request = MutationRequest(
                records.map { .save($0) }, stamp: Stamp(date: Date(), user: owner), tagSalt: .random(in: 0 ... .max))
            try service.engine.transact { _ = try $0.apply(request, in: zone) }
        }
    }

    /// The processor time of the whole process, compaction included.
    static var processSeconds: Double {
        var time = timespec()
        _ = unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private static func clientRecord(_ record: Record, _ zone: CKRecordZone.ID) -> CKRecord {
        let made = CKRecord(
            recordType: record.type.text, recordID: CKRecord.ID(recordName: record.name.text, zoneID: zone))
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
