// A server with two people over a real LevelDB directory, or in memory for tests that run many times; the test controls
// clock, identifiers and planned errors.

import Foundation
import StratusCloud
import StratusLevelDB
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

/// A clock that stands still until a test moves it.
final class BenchClock: CloudClock {
    private let seconds = Locked(0.0)
    private let nextLook = Locked<(@Sendable () -> Void)?>(nil)

    var now: Date {
        let action = nextLook.withLock { action in
            defer { action = nil }
            return action
        }
        action?()
        return Date(timeIntervalSinceReferenceDate: 700_000_000 + seconds.value)
    }
    var uptimeSeconds: Double { seconds.value }

    func advance(bySeconds count: Double) { seconds.withLock { $0 += count } }

    /// Runs `action` at the next reading of the time.
    func onNextLook(_ action: @escaping @Sendable () -> Void) { nextLook.withLock { $0 = action } }
}

/// Identifiers from a seed.
final class BenchIdentifiers: IdentifierSource {
    private let random: Locked<SplitMix64>
    /// What is drawn before anything else: for a source that repeats itself.
    let nextUUIDs = Locked<[UUID]>([])
    /// What is drawn in place of every secret.
    let fixedSecret = Locked<[UInt8]?>(nil)

    init(seed: UInt64) { random = Locked(SplitMix64(seed: seed)) }

    func makeUUID() -> UUID {
        if let next = nextUUIDs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { return next }
        return random.withLock { $0.uuid() }
    }
    func makeSalt() -> UInt32 { random.withLock { UInt32(truncatingIfNeeded: $0.next()) } }
    func makeSecret(byteCount: Int) -> [UInt8] {
        fixedSecret.value ?? random.withLock { $0.bytes(count: byteCount) }
    }
}

extension Locked {
    func set(_ value: Value) where Value: Sendable { withLock { $0 = value } }
}

/// Errors by the moment at which they occur.
final class BenchFaults: FaultSource {
    typealias Plan = @Sendable (StratusCloud.FaultPoint) -> CloudError?
    private let plan = Locked<Plan?>(nil)

    func set(_ new: Plan?) { plan.withLock { $0 = new } }

    func error(at point: StratusCloud.FaultPoint) -> CloudError? {
        plan.value?(point)
    }
}

/// A store, a server over it, and Alice and Bob.
final class RecordBench: Sendable {
    static let container = ContainerName("iCloud.com.example.notes")
    static let notes = ZoneAddress(zoneName: "Notes")

    private let directory: URL
    let clock = BenchClock()
    let faults = BenchFaults()
    let events = Locked<[CloudEvent]>([])
    let invitations = Locked<[ShareInvitation]>([])
    let identifiers: BenchIdentifiers
    let store: any OrderedStore
    let service: CloudService
    let alice: StoredAccount
    let bob: StoredAccount

    /// The bodies of transactions run twice, unless their cost is counted or is too much for a test.
    init(
        inMemory: Bool = false, seed: UInt64 = 1, runsBodiesTwice: Bool = true, store given: (any OrderedStore)? = nil,
        requestItemCount: Int? = nil, _ change: (inout CloudOptions) -> Void = { _ in }
    ) throws {
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("stratus-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
        var options = CloudOptions()
        change(&options)
        identifiers = BenchIdentifiers(seed: seed)
        let path = directory.appendingPathComponent("store").path
        store =
            try given
            ?? TestStores.make(runsBodiesTwice: runsBodiesTwice) {
                if inMemory { return MemoryStore(runsBodiesTwice: runsBodiesTwice) }
                let plain = try LevelDBStore.open(at: path)
                return runsBodiesTwice ? TwiceRunningStore(plain) : plain
            }
        let (events, invitations) = (events, invitations)
        let environment = CloudEnvironment(
            clock: clock, identifiers: identifiers, faults: faults,
            onEvent: { event in events.withLock { $0.append(event) } },
            onInvitation: { invitation in invitations.withLock { $0.append(invitation) } })
        let assets = AssetStore(
            directory: directory.appendingPathComponent("assets").path, session: identifiers.makeUUID(), clock: clock)
        var engineOptions = RecordEngineOptions()
        if let requestItemCount { engineOptions.limits.requestItemCount = requestItemCount }
        service = CloudService(
            engine: try RecordEngine(store: store, options: engineOptions, incarnation: identifiers.makeUUID()),
            environment: environment, options: options, assets: assets)
        alice = try service.createAccount(AccountDraft(externalID: "alice"))
        bob = try service.createAccount(AccountDraft(externalID: "bob"))
    }

    deinit {
        store.close()
        try? FileManager.default.removeItem(at: directory)
    }

    func caller(_ account: StoredAccount?) -> Caller { Caller(container: Self.container, account: account?.id) }

    /// Another server over this bench's files; the bench itself is closed.
    func reopened() throws -> CloudService {
        let identifiers = BenchIdentifiers(seed: 99)
        // A store that was chosen stays open: the other server is one of another process, and this one has ended.
        if TestStores.chosen == nil { store.close() } else { service.engine.leave() }
        let reopened =
            try TestStores.chosen == nil
            ? LevelDBStore.open(at: directory.appendingPathComponent("store").path) : store
        return CloudService(
            engine: try RecordEngine(store: reopened, incarnation: identifiers.makeUUID()),
            environment: CloudEnvironment(clock: clock, identifiers: identifiers))
    }

    /// A file of the bench's directory.
    func file(_ name: String, _ content: [UInt8]) throws -> String {
        let url = directory.appendingPathComponent(name)
        try Data(content).write(to: url)
        return url.path
    }

    /// Makes Alice's zone Notes.
    func makeNotes() throws { try makeZone(Self.notes) }

    func makeZone(_ zone: ZoneAddress, by account: StoredAccount? = nil) throws {
        let request = ModifyZonesRequest(saves: [ClientZone(address: zone)])
        for result in try service.modifyZones(request, as: caller(account ?? alice), in: .private).saves {
            _ = try result.get()
        }
    }

    func modify(
        _ saves: [RecordSave] = [], deleting deletes: [RecordAddress] = [],
        policy: SavePolicy = .ifServerRecordUnchanged, atomic: Bool = true, by account: StoredAccount? = nil,
        in database: DatabaseSelector = .private
    ) throws -> ModifyRecordsResponse {
        let request = ModifyRecordsRequest(saves: saves, deletes: deletes, policy: policy, isAtomic: atomic)
        return try service.modifyRecords(request, as: caller(account ?? alice), in: database)
    }

    /// Saves records that must all be saved.
    @discardableResult
    func save(
        _ saves: RecordSave..., policy: SavePolicy = .ifServerRecordUnchanged, by account: StoredAccount? = nil,
        in database: DatabaseSelector = .private
    ) throws -> [ClientRecord] {
        try modify(saves, policy: policy, by: account, in: database).saves.map { try $0.get() }
    }

    func delete(_ addresses: RecordAddress..., by account: StoredAccount? = nil) throws {
        for result in try modify(deleting: addresses, by: account).deletes { _ = try result.get() }
    }

    func fetch(
        _ address: RecordAddress, keys: Set<String>? = nil, by account: StoredAccount? = nil,
        in database: DatabaseSelector = .private
    ) throws -> Result<ClientRecord, CloudError> {
        let request = FetchRecordsRequest(addresses: [address], desiredKeys: keys)
        return try service.fetchRecords(request, as: caller(account ?? alice), in: database).records[0]
    }

    func exists(_ address: RecordAddress) throws -> Bool {
        switch try fetch(address) {
        case .success: return true
        case .failure(let error) where error.code == .unknownItem: return false
        case .failure(let error): throw error
        }
    }

    var commitCount: Int { store.statistics.transactionsCommitted }
}

extension RecordAddress {
    /// A record of Alice's zone Notes.
    static func note(_ name: String) -> RecordAddress { RecordAddress(recordName: name, zone: RecordBench.notes) }
}

extension RecordSave {
    /// A new record with these values.
    static func new(
        _ name: String, in zone: ZoneAddress = RecordBench.notes, type: String = "Note",
        parent: String? = nil, _ values: [String: ClientValue] = [:]
    ) -> RecordSave {
        RecordSave(
            address: RecordAddress(recordName: name, zone: zone), type: type,
            parent: parent.map { .parent($0, in: zone) }, isParentChanged: parent != nil,
            fields: values.mapValues { ClientField($0) }, changedKeys: Set(values.keys))
    }

    /// A change of a record that was fetched; nil removes a value.
    static func change(_ record: ClientRecord, _ values: [String: ClientValue?] = [:]) -> RecordSave {
        var save = RecordSave(
            address: record.address, type: record.type, baseTag: record.changeTag, parent: record.parent,
            share: record.share, fields: record.fields.dictionary, changedKeys: Set(values.keys))
        for (key, value) in values { save.fields[key] = value.map { ClientField($0) } }
        return save
    }

    func with(parent: String?) -> RecordSave {
        var save = self
        save.parent = parent.map { .parent($0, in: address.zone) }
        save.isParentChanged = true
        return save
    }
}

extension ClientReference {
    static func parent(_ name: String, in zone: ZoneAddress = RecordBench.notes) -> ClientReference {
        ClientReference(target: RecordAddress(recordName: name, zone: zone), action: .none)
    }
}

extension ClientValue {
    static func owned(by name: String, in zone: ZoneAddress = RecordBench.notes) -> ClientValue {
        .reference(ClientReference(target: RecordAddress(recordName: name, zone: zone), action: .deleteSelf))
    }

    static func link(_ name: String, in zone: ZoneAddress = RecordBench.notes) -> ClientValue {
        .reference(ClientReference(target: RecordAddress(recordName: name, zone: zone), action: .none))
    }
}

extension Result where Failure == CloudError {
    /// The code of a failure.
    var code: CloudError.Code? { error?.code }
    var error: CloudError? {
        if case .failure(let error) = self { error } else { nil }
    }
}

/// The error that a request as a whole must throw.
func thrown(sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void) throws -> CloudError {
    do { try body() } catch let error as CloudError { return error }
    Issue.record("nothing was thrown", sourceLocation: sourceLocation)
    return CloudError(.internalError, "nothing was thrown")
}
