// A server on a real LevelDB directory, or on the chosen store, that can be closed and reopened, with a controlled
// clock and identifiers.

import Foundation
import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport

/// A clock that a test moves.
final class AccountTestClock: CloudClock {
    private let state = Locked((now: Date(timeIntervalSinceReferenceDate: 800_000_000), uptimeSeconds: 0.0))

    var now: Date { state.withLock { $0.now } }
    var uptimeSeconds: Double { state.withLock { $0.uptimeSeconds } }

    func advance(bySeconds seconds: Double) {
        state.withLock { state in
            state.now += seconds
            state.uptimeSeconds += seconds
        }
    }
}

/// Identifiers from a seed.
final class AccountTestIdentifiers: IdentifierSource {
    private let random: Locked<SplitMix64>

    init(seed: UInt64) { random = Locked(SplitMix64(seed: seed)) }

    func makeUUID() -> UUID { random.withLock { $0.uuid() } }
    func makeSalt() -> UInt32 { random.withLock { UInt32(truncatingIfNeeded: $0.next()) } }
    func makeSecret(byteCount: Int) -> [UInt8] { random.withLock { $0.bytes(count: byteCount) } }
}

/// Planned errors by request.
final class AccountTestFaults: FaultSource {
    private let errors = Locked<[RequestKind: CloudError]>([:])

    func plan(_ kind: RequestKind, _ error: CloudError?) { errors.withLock { $0[kind] = error } }

    func error(at point: StratusCloud.FaultPoint) -> CloudError? {
        guard case .request(let kind, _) = point else { return nil }
        return errors.withLock { $0[kind] }
    }
}

/// A directory, the store in it, and a server over that.
final class AccountBench: Sendable {
    static let container = ContainerName("iCloud.com.example.app")
    private let directory: URL
    let clock = AccountTestClock()
    let identifiers: AccountTestIdentifiers
    let faults = AccountTestFaults()
    let events = Locked<[CloudEvent]>([])
    let options: CloudOptions
    private let place: Locked<any HistoryPlace>
    private let opened: Locked<(store: any OrderedStore, service: CloudService)?>

    /// `isInMemory` is for scenarios that are run many times over, which a server would take too long for.
    init(options: CloudOptions = .init(), seed: UInt64 = 1, isInMemory: Bool = false) throws {
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("stratus-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
        identifiers = AccountTestIdentifiers(seed: seed)
        self.options = options
        let path = directory.appendingPathComponent("store")
        let makeOwn: () throws -> any HistoryPlace = {
            if isInMemory { return MemoryHistoryPlace() }
            return try LevelDBHistoryPlace(at: path)
        }
        let usesOwn = isInMemory && TestStores.chosen == .postgres
        place = Locked(try usesOwn ? makeOwn() : TestStores.makePlace(otherwise: makeOwn))
        opened = Locked(nil)
        try reopen()
    }

    deinit {
        opened.value?.store.close()
        place.withLock { $0.remove() }
        try? FileManager.default.removeItem(at: directory)
    }

    /// Closes the store, if it is open, and reopens it.
    func reopen() throws {
        // As a process that ends: a store that others share would wait for it.
        opened.value?.service.engine.leave()
        opened.value?.store.close()
        let store = try place.withLock { try $0.open() }
        let service = try Self.service(over: store, self)
        opened.withLock { $0 = (store, service) }
    }

    /// Another server over the same open store.
    func service(over store: any OrderedStore) throws -> CloudService { try Self.service(over: store, self) }

    private static func service(over store: any OrderedStore, _ bench: AccountBench) throws -> CloudService {
        let engine = try RecordEngine(store: store, incarnation: bench.identifiers.makeUUID())
        let events = bench.events
        // Nothing is created on the disk before the first asset.
        let assets = AssetStore(
            directory: bench.directory.appendingPathComponent("assets").path, session: bench.identifiers.makeUUID(),
            clock: bench.clock)
        let environment = CloudEnvironment(
            clock: bench.clock, identifiers: bench.identifiers, faults: bench.faults,
            onEvent: { event in events.withLock { $0.append(event) } })
        return CloudService(engine: engine, environment: environment, options: bench.options, assets: assets)
    }

    var service: CloudService {
        guard let opened = opened.value else { preconditionFailure("The bench opens its store when it is made.") }
        return opened.service
    }

    var store: any OrderedStore {
        guard let opened = opened.value else { preconditionFailure("The bench opens its store when it is made.") }
        return opened.store
    }

    /// Writes a file for a client to save as an asset; returns its path.
    func makeFile(_ name: String, _ content: String) throws -> String {
        let file = directory.appendingPathComponent(name)
        try Data(content.utf8).write(to: file)
        return file.path
    }

    /// The names of the directories with an owner's assets.
    func assetDirectories() throws -> [String] {
        let path = directory.appendingPathComponent("assets/content").path
        guard FileManager.default.fileExists(atPath: path) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: path).sorted()
    }

    func caller(_ account: StoredAccount?) -> Caller { Caller(container: Self.container, account: account?.id) }

    func stamp(_ user: UserName) -> Stamp { Stamp(date: clock.now, user: user) }
}

/// The error that `body` must throw, or nil.
func cloudError(_ body: () throws -> Void) -> CloudError? {
    do {
        try body()
        return nil
    } catch let error as CloudError {
        return error
    } catch {
        return CloudError(.internalError, text: "not a CloudError: \(error)")
    }
}

extension AccountBench {
    /// A zone of a person's private database, created without the zone calls of the server.
    static func zone(_ name: String, of owner: UserName, in container: ContainerName = container) -> ZoneID {
        ZoneID(
            database: DatabaseID(container: container, owner: owner, scope: .private), name: ZoneName(name))
    }

    func makeZone(_ id: ZoneID, by user: UserName, in engine: RecordEngine) throws {
        let birth = ZoneBirth(
            identity: identifiers.makeUUID(), incarnation: identifiers.makeUUID(), stamp: stamp(user),
            databaseIdentity: identifiers.makeUUID())
        try engine.transact { try $0.createZone(id, birth) }
    }

    /// Saves records like the server: changes in size are charged in the same transaction.
    func save(
        _ records: [Record], deleting deletes: [RecordName] = [], in zone: ZoneID, limit: Int64? = nil,
        by user: UserName? = nil, engine: RecordEngine
    ) throws {
        let owner = zone.database.owner ?? AssetLedger.publicOwner(of: zone.database.container)
        let request = MutationRequest(
            records.map { .save($0) } + deletes.map { .delete($0) }, stamp: stamp(user ?? owner), tagSalt: 1)
        try engine.transact { transaction in
            let reader = try transaction.existingZone(zone)
            let old = try request.mutations.reduce(0) { sum, mutation in
                try sum + (reader.record(mutation.name).map { QuotaLedger.byteCount(of: $0.record) } ?? 0)
            }
            let plan = try transaction.apply(request, in: zone)
            let new = records.reduce(0) { $0 + QuotaLedger.byteCount(of: $1) }
            try QuotaLedger.charge(
                byteCount: new - old, to: owner, zone: plan.header.identity, limit: limit, in: transaction)
        }
    }
}
