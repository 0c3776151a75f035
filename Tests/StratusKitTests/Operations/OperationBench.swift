// A store with a session, a clock that is moved by hand, and a hook at every moment of a request.

import Foundation
import StratusCloud
import StratusKit
import StratusLevelDB
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport

/// A clock that stands still until a test moves it.
final class HandClock: HandMovedClock {
    private struct State {
        var now = Date(timeIntervalSinceReferenceDate: 800_000_000)
        var uptimeSeconds = 0.0
        var observers: [@Sendable () -> Void] = []
    }

    private let state = Locked(State())

    var now: Date { state.withLock { $0.now } }
    var uptimeSeconds: Double { state.withLock { $0.uptimeSeconds } }

    func onMove(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.observers.append(body) } }

    func advance(bySeconds seconds: Double) {
        let observers = state.withLock { state in
            state.now += seconds
            state.uptimeSeconds += seconds
            return state.observers
        }
        for observer in observers { observer() }
    }
}

/// Identifiers from a seed.
final class SeededIdentifiers: IdentifierSource {
    private let random: Locked<SplitMix64>

    init(seed: UInt64) { random = Locked(SplitMix64(seed: seed)) }

    func makeUUID() -> UUID { random.withLock { $0.uuid() } }
    func makeSalt() -> UInt32 { random.withLock { UInt32(truncatingIfNeeded: $0.next()) } }
    func makeSecret(byteCount: Int) -> [UInt8] { random.withLock { $0.bytes(count: byteCount) } }
}

/// Errors and pauses at the moments of a request, and the requests.
final class Interference: FaultSource {
    typealias Hook = @Sendable (StratusCloud.FaultPoint) -> CloudError?

    private let hook = Locked<Hook?>(nil)
    private let requests = Locked<[RequestKind]>([])

    /// Decides what happens at a moment; it may wait.
    func intervene(_ body: Hook?) { hook.withLock { $0 = body } }

    /// The requests that the server was sent, in order.
    var sent: [RequestKind] { requests.value }

    func error(at point: StratusCloud.FaultPoint) -> CloudError? {
        if case .request(let kind, _) = point { requests.withLock { $0.append(kind) } }
        return hook.value?(point)
    }
}

/// The store of a bench.
enum BenchStore: CaseIterable, Sendable {
    case memory
    case levelDB
}

/// A store with one account signed in.
final class OperationBench: Sendable {
    static let containerIdentifier = "iCloud.com.example.app"
    let clock = HandClock()
    let interference = Interference()
    let service: CloudService
    let session: CloudSession
    let account: StoredAccount
    let container: CKContainer
    let store: any OrderedStore
    private let directory: URL?

    init(_ kind: BenchStore = .memory, threadCount: Int = 16) throws {
        let identifiers = SeededIdentifiers(seed: 7)
        switch kind {
        case .memory:
            directory = nil
            store = MemoryStore()
        case .levelDB:
            let directory = FileManager.default.temporaryDirectory.appendingPathComponent(
                "stratus-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
            self.directory = directory
            store = try LevelDBStore.open(at: directory.appendingPathComponent("store").path)
        }
        let engine = try RecordEngine(store: store, incarnation: identifiers.makeUUID())
        let environment = CloudEnvironment(clock: clock, identifiers: identifiers, faults: interference)
        service = CloudService(engine: engine, environment: environment)
        account = try service.createAccount(
            AccountDraft(externalID: "alice", handles: [.email("alice@example.com")], name: PersonName(given: "Alice")))
        session = CloudSession(
            server: service, clock: clock, account: account.id, defaultContainerIdentifier: Self.containerIdentifier,
            threadCount: threadCount)
        container = CKContainer(session: session, identifier: Self.containerIdentifier, account: nil)
    }

    deinit {
        session.close()
        session.activity.waitUntilOver()
        store.close()
        if let directory { try? FileManager.default.removeItem(at: directory) }
    }

    var database: CKDatabase { container.privateCloudDatabase }

    /// A zone of the private database.
    func makeZone(_ name: String = "Notes") async throws -> CKRecordZone.ID {
        try await database.save(CKRecordZone(zoneName: name)).zoneID
    }

    /// Which of these record names the server has.
    func stored(_ names: [String], in zoneID: CKRecordZone.ID = .default) async throws -> [String] {
        let answers = try await database.records(for: names.map { CKRecord.ID(recordName: $0, zoneID: zoneID) })
        return answers.filter { (try? $0.value.get()) != nil }.map(\.key.recordName).sorted()
    }

    /// Adds an operation and returns after its `completionBlock`, the last call.
    func run(_ operation: CKDatabaseOperation) async {
        await withCheckedContinuation { continuation in
            operation.completionBlock = { continuation.resume() }
            database.add(operation)
        }
    }

    /// Holds the next requests of a kind before the server works on them.
    func hold(_ kind: RequestKind) -> Hold {
        let hold = Hold()
        interference.intervene { point in
            if case .request(kind, _) = point { hold.pass() }
            return nil
        }
        return hold
    }
}

/// A request that a test holds.
final class Hold: Sendable {
    private let arrival = Gate("a request to arrive")
    private let leave = Latch("the request to be let go")

    func pass() {
        arrival.open()
        try? leave.wait()
    }

    /// Returns when a request has arrived.
    func arrived() async throws { try await TestThreads.offPool { [arrival] in try arrival.wait() } }

    func letGo() { leave.open() }
}

/// What happened, in order.
final class Trace: Sendable {
    private let notes = Locked<[String]>([])

    func note(_ text: String) { notes.withLock { $0.append(text) } }
    var all: [String] { notes.value }
}

/// A note.
func makeRecord(_ name: String, in zoneID: CKRecordZone.ID = .default, text: String = "text") -> CKRecord {
    let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
    record["text"] = text
    return record
}

/// "ok", or the error's code by name.
func outcome<Value>(_ result: Result<Value, any Error>) -> String {
    switch result {
    case .success: "ok"
    case .failure(let error): outcome(error)
    }
}

/// "ok", or the error's code by name.
func outcome(_ error: (any Error)?) -> String {
    guard let error else { return "ok" }
    return (error as? CKError).map { "\($0.code)" } ?? "not a CKError: \(error)"
}

/// The deprecated blocks, reachable without a warning.
protocol LegacyModifyRecords: AnyObject {
    var perRecordCompletionBlock: ((CKRecord, (any Error)?) -> Void)? { get set }
    var modifyRecordsCompletionBlock: (([CKRecord]?, [CKRecord.ID]?, (any Error)?) -> Void)? { get set }
}

/// The deprecated blocks, reachable without a warning.
protocol LegacyFetchRecords: AnyObject {
    var perRecordCompletionBlock: ((CKRecord?, CKRecord.ID?, (any Error)?) -> Void)? { get set }
    var fetchRecordsCompletionBlock: (([CKRecord.ID: CKRecord]?, (any Error)?) -> Void)? { get set }
}

/// The deprecated blocks, reachable without a warning.
protocol LegacyModifyZones: AnyObject {
    var modifyRecordZonesCompletionBlock: (([CKRecordZone]?, [CKRecordZone.ID]?, (any Error)?) -> Void)? { get set }
}

/// The deprecated blocks, reachable without a warning.
protocol LegacyFetchZones: AnyObject {
    var fetchRecordZonesCompletionBlock: (([CKRecordZone.ID: CKRecordZone]?, (any Error)?) -> Void)? { get set }
}

extension CKModifyRecordsOperation: LegacyModifyRecords {}
extension CKFetchRecordsOperation: LegacyFetchRecords {}
extension CKModifyRecordZonesOperation: LegacyModifyZones {}
extension CKFetchRecordZonesOperation: LegacyFetchZones {}
