// Operations that apps derive from CloudKit's: with values and initialisers of their own, with blocks that are set at
// their creation, and with additional work when they start, are cancelled or finish.

import CloudKit

/// Saves one record and remembers how it went.
public final class SaveOneOperation: CKModifyRecordsOperation, @unchecked Sendable {
    // @unchecked because the lock guards `kept`.
    private let lock = NSLock()
    private var kept: Result<CKRecord, Error>?

    /// An operation that saves this record.
    public init(_ record: CKRecord, in database: CKDatabase, qualityOfService: QualityOfService = .userInitiated) {
        super.init()
        recordsToSave = [record]
        savePolicy = .changedKeys
        self.database = database
        self.qualityOfService = qualityOfService
        perRecordSaveBlock = { [weak self] _, result in self?.keep(result) }
    }

    /// The result; nil until the server has answered.
    public var result: Result<CKRecord, Error>? {
        lock.lock()
        defer { lock.unlock() }
        return kept
    }

    private func keep(_ result: Result<CKRecord, Error>) {
        lock.lock()
        kept = result
        lock.unlock()
    }
}

/// Fetches records of one zone by their names.
public class FetchByNameOperation: CKFetchRecordsOperation, @unchecked Sendable {
    // @unchecked because `names` never changes.
    /// The requested names.
    public let names: [String]

    /// An operation that fetches the records of these names.
    public init(names: [String], zoneID: CKRecordZone.ID = .default) {
        self.names = names
        super.init()
        recordIDs = names.map { CKRecord.ID(recordName: $0, zoneID: zoneID) }
    }
}

/// Fetches zones, and counts how often it was started and cancelled.
public final class CountingZonesOperation: CKFetchRecordZonesOperation, @unchecked Sendable {
    // @unchecked because the lock guards the counts.
    private let lock = NSLock()
    private var counts = (starts: 0, cancellations: 0)
    private let label: String

    /// An operation with a label.
    public init(label: String) {
        self.label = label
        super.init()
        name = label
        recordZoneIDs = [.default]
    }

    public override func start() {
        lock.lock()
        counts.starts += 1
        lock.unlock()
        super.start()
    }

    public override func cancel() {
        lock.lock()
        counts.cancellations += 1
        lock.unlock()
        super.cancel()
    }

    /// The log so far.
    public var log: String {
        lock.lock()
        defer { lock.unlock() }
        return "\(label): started \(counts.starts), cancelled \(counts.cancellations)"
    }
}

/// Creates a zone, with nothing of its own but a convenience initialiser.
public final class MakeZoneOperation: CKModifyRecordZonesOperation, @unchecked Sendable {
    // @unchecked because it adds nothing that is stored.
    /// An operation that makes a zone of this name.
    public convenience init(zoneName: String) {
        self.init(recordZonesToSave: [CKRecordZone(zoneName: zoneName)], recordZoneIDsToDelete: nil)
    }
}

/// Work between operations of a database, which takes part in dependencies like them.
public final class CheckpointOperation: CKDatabaseOperation, @unchecked Sendable {
    // @unchecked because `title` never changes.
    /// The milestone.
    public let title: String

    /// A checkpoint.
    public init(_ title: String) {
        self.title = title
        super.init()
    }
}

/// A run of all of them, one after another.
public final class OperationTour: @unchecked Sendable {
    // @unchecked because the lock guards `lines`.
    private let database: CKDatabase
    private let lock = NSLock()
    private var lines: [String] = []

    /// A tour of a container's private database.
    public init(container: CKContainer = .default()) { database = container.privateCloudDatabase }

    private func write(_ line: String) {
        lock.lock()
        lines.append(line)
        lock.unlock()
    }

    /// Runs the tour, and passes its log to `completion`.
    public func run(completion: @escaping @Sendable ([String]) -> Void) {
        let zoneID = CKRecordZone.ID(zoneName: "Tour")
        let make = MakeZoneOperation(zoneName: zoneID.zoneName)
        make.perRecordZoneSaveBlock = { id, _ in self.write("made \(id.zoneName)") }
        let record = CKRecord(recordType: "Stop", recordID: CKRecord.ID(recordName: "bridge", zoneID: zoneID))
        record["title"] = "Bridge"
        let save = SaveOneOperation(record, in: database)
        let checkpoint = CheckpointOperation("saved")
        let fetch = FetchByNameOperation(names: ["bridge", "tower"], zoneID: zoneID)
        fetch.perRecordResultBlock = { id, result in
            switch result {
            case .success(let record): self.write("\(id.recordName): \(record["title"] as? String ?? "")")
            case .failure(CKError.unknownItem): self.write("\(id.recordName): unknown")
            case .failure(let error): self.write("\(id.recordName): \(error)")
            }
        }
        let dropped = CountingZonesOperation(label: "dropped")
        dropped.cancel()
        let last = CountingZonesOperation(label: "last")
        last.perRecordZoneResultBlock = { id, _ in self.write("zone \(id.zoneName)") }
        last.completionBlock = { [unowned last] in
            self.write("\(checkpoint.title): \((try? save.result?.get())?.recordChangeTag != nil)")
            self.write(dropped.log)
            self.write(last.log)
            completion(self.lines)
        }
        save.addDependency(make)
        checkpoint.addDependency(save)
        fetch.addDependency(checkpoint)
        last.addDependency(fetch)
        last.addDependency(dropped)
        let operations: [CKDatabaseOperation] = [last, dropped, fetch, checkpoint, save, make]
        for operation in operations { database.add(operation) }
    }
}
