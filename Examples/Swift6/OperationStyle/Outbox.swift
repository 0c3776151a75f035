// An outbox in the style of operation queues: operations of the program's own, which prepare themselves at their turn,
// and depend on one another.

import CloudKit

/// Drafts that wait to be sent, and the operations that send them.
public final class Outbox: @unchecked Sendable {
    // @unchecked because the lock guards the drafts and the log.
    private let database: CKDatabase
    private let queue = OperationQueue()
    private let lock = NSLock()
    private var drafts: [String: String] = [:]
    private var lines: [String] = []

    /// An outbox of the signed-in user.
    public init(container: CKContainer = CKContainer.default()) {
        database = container.privateCloudDatabase
        queue.qualityOfService = .userInitiated
    }

    /// What was sent and read back so far.
    public var log: [String] { locked { lines } }

    /// Stores a draft under a name, replacing the existing one.
    public func put(_ text: String, as name: String) { locked { drafts[name] = text } }

    /// Sends the waiting drafts, and reads them back; `completion` is called at the end.
    public func flush(completion: @escaping @Sendable () -> Void) {
        let sending = SendingOperation(outbox: self)
        let reading = ReadingOperation(outbox: self, after: sending)
        for operation in [sending, reading] as [CKDatabaseOperation] { operation.database = database }
        reading.addDependency(sending)
        reading.completionBlock = completion
        queue.addOperations([reading, sending], waitUntilFinished: false)
    }

    fileprivate func takeAll() -> [(name: String, text: String)] {
        locked {
            defer { drafts = [:] }
            return drafts.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        }
    }

    fileprivate func write(_ line: String) { locked { lines.append(line) } }

    private func locked<Value>(_ body: () -> Value) -> Value {
        lock.lock()
        defer { lock.unlock() }
        return body()
    }
}

/// Saves the drafts of an outbox. Which they are is decided when it runs.
private final class SendingOperation: CKModifyRecordsOperation, @unchecked Sendable {
    // @unchecked because it adds only constants.
    private let outbox: Outbox

    init(outbox: Outbox) {
        self.outbox = outbox
        super.init()
    }

    override func main() {
        savePolicy = .allKeys
        recordsToSave = outbox.takeAll().map { draft in
            let record = CKRecord(recordType: "Draft", recordID: CKRecord.ID(recordName: draft.name))
            record["text"] = draft.text
            return record
        }
        perRecordSaveBlock = { [outbox] recordID, result in
            if case .success = result { outbox.write("sent \(recordID.recordName)") }
        }
        super.main()
    }
}

/// Reads back the records of another operation.
private final class ReadingOperation: CKFetchRecordsOperation, @unchecked Sendable {
    // @unchecked because it adds only constants.
    private let outbox: Outbox
    private let sending: SendingOperation

    init(outbox: Outbox, after sending: SendingOperation) {
        self.outbox = outbox
        self.sending = sending
        super.init()
    }

    override func main() {
        recordIDs = sending.recordsToSave?.map { $0.recordID }
        perRecordResultBlock = { [outbox] recordID, result in
            let text = (try? result.get())?["text"] as? String
            outbox.write("read \(recordID.recordName): \(text ?? "nothing")")
        }
        super.main()
    }
}
