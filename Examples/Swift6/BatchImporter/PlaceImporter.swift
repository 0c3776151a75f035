// A batch importer: many records through `CKModifyRecordsOperation`, in batches that the server accepts, with progress.

import CloudKit

/// Imports places, a line each: name, latitude, longitude.
public final class PlaceImporter {
    /// What became of an import.
    public struct Summary: Equatable, Sendable {
        /// Places that are in iCloud now.
        public var savedCount = 0
        /// Requests that were answered.
        public var batchCount = 0
        /// Error codes by the names of records.
        public var refused: [String: String] = [:]
        /// Numbers of lines that are no places.
        public var malformedLines: [Int] = []
    }

    /// Grows as records are saved; can be shown in a window or cancelled.
    public let progress = Progress(totalUnitCount: 0)

    private let database: CKDatabase
    private let zoneID = CKRecordZone.ID(zoneName: "Places")
    private let queue = OperationQueue()
    private let batchSize: Int
    /// Guards what the callback blocks of several operations share.
    private let lock = NSLock()
    private var summary = Summary()
    private var firstError: Error?

    /// An importer into a container.
    public init(container: CKContainer = CKContainer.default(), batchSize: Int = 400) {
        self.database = container.privateCloudDatabase
        self.batchSize = batchSize
        queue.maxConcurrentOperationCount = 2
        queue.qualityOfService = .utility
    }

    /// Imports the lines and waits. Throws the error that failed the import as a whole.
    public func importLines(_ lines: [String]) throws -> Summary {
        var records: [CKRecord] = []
        for (index, line) in lines.enumerated() {
            guard let record = makeRecord(line, number: index + 1) else {
                summary.malformedLines.append(index + 1)
                continue
            }
            records.append(record)
        }
        progress.totalUnitCount = Int64(records.count)

        let zoneOperation = CKModifyRecordZonesOperation(recordZonesToSave: [CKRecordZone(zoneID: zoneID)])
        zoneOperation.modifyRecordZonesResultBlock = { [self] result in
            if case .failure(let error) = result { note(error) }
        }
        zoneOperation.database = database
        queue.addOperation(zoneOperation)

        let group = CKOperationGroup()
        group.name = "Import of places"
        group.quantity = records.count
        var start = 0
        while start < records.count {
            let batch = Array(records[start..<min(start + batchSize, records.count)])
            let operation = makeOperation(saving: batch, group: group)
            operation.addDependency(zoneOperation)
            queue.addOperation(operation)
            start += batchSize
        }
        queue.waitUntilAllOperationsAreFinished()

        lock.lock()
        defer { lock.unlock() }
        if let error = firstError { throw error }
        return summary
    }

    private func makeOperation(saving records: [CKRecord], group: CKOperationGroup) -> CKModifyRecordsOperation {
        let operation = CKModifyRecordsOperation(recordsToSave: records, recordIDsToDelete: nil)
        operation.savePolicy = .allKeys
        operation.isAtomic = false
        operation.group = group
        operation.database = database
        operation.perRecordProgressBlock = { [self] _, fraction in
            guard fraction >= 1 else { return }
            // Two operations run at once, and adding to a progress is no single step.
            lock.lock()
            defer { lock.unlock() }
            progress.completedUnitCount += 1
        }
        operation.perRecordSaveBlock = { [self] recordID, result in
            lock.lock()
            defer { lock.unlock() }
            switch result {
            case .success:
                summary.savedCount += 1
            case .failure(let error):
                summary.refused[recordID.recordName] = (error as? CKError).map { "\($0.code.rawValue)" } ?? "\(error)"
            }
        }
        operation.modifyRecordsResultBlock = { [self] result in
            switch result {
            case .success:
                lock.lock()
                summary.batchCount += 1
                lock.unlock()
            case .failure(let error as CKError) where error.code == .limitExceeded && records.count > 1:
                // Too much for the server: split into two operations.
                let half = records.count / 2
                queue.addOperation(makeOperation(saving: Array(records[..<half]), group: group))
                queue.addOperation(makeOperation(saving: Array(records[half...]), group: group))
            case .failure(let error):
                note(error)
            }
        }
        return operation
    }

    private func note(_ error: Error) {
        lock.lock()
        defer { lock.unlock() }
        if firstError == nil { firstError = error }
        queue.cancelAllOperations()
    }

    private func makeRecord(_ line: String, number: Int) -> CKRecord? {
        let columns = line.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        guard columns.count == 3, let latitude = Double(columns[1]), let longitude = Double(columns[2]) else {
            return nil
        }
        let recordID = CKRecord.ID(recordName: "place-\(number)", zoneID: zoneID)
        let record = CKRecord(recordType: "Place", recordID: recordID)
        record["name"] = columns[0] as NSString
        record["location"] = CLLocation(latitude: latitude, longitude: longitude)
        record["line"] = number
        record["importedAt"] = Date(timeIntervalSince1970: 1_700_000_000)
        return record
    }
}
