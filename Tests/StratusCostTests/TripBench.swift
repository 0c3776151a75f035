// A server whose store is at the other end of a wire, or on PostgreSQL, with a person and their guest, whose trips are
// counted request by request.

import Foundation
import StratusCloud
import StratusModel
import StratusPostgres
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

/// What a request took.
struct TripCount {
    /// Flushes of connections that waited for an answer, where there are connections.
    var trips: Int
    /// The same as the store's statistics have it.
    var countedTrips: Int
    var cost: StoreCost
    /// One line for each trip.
    var log: String
}

/// A request with what it needs before.
struct TripRequest: Sendable {
    static let runNames = ["first", "second", "third"]

    var prepare: @Sendable (TripBench) throws -> Void = { _ in }
    /// What comes before each run and is not counted.
    var prepareRun: @Sendable (_ bench: TripBench, _ name: String) throws -> Void = { _, _ in }
    /// The name tells the three runs apart: "first", "second" and "third".
    var run: @Sendable (_ bench: TripBench, _ name: String) throws -> Void

    /// The trips of the request: the second time on one host, and the first time on another. With `isCountedAlike`, its
    /// counted reads and writes must be those of a store that gains nothing from announced reads.
    func trips(
        on kind: TripBench.Kind = .wire, isCountedAlike: Bool = true
    ) async throws -> (warm: TripCount, cold: TripCount) {
        try await TestThreads.offPool {
            let (bench, plain) = (try TripBench(kind), try TripBench(.memory))
            for bench in isCountedAlike ? [bench, plain] : [bench] {
                try prepare(bench)
                try prepareRun(bench, "first")
                try run(bench, "first")
                try prepareRun(bench, "second")
                if kind == .twoHosts { try bench.saveElsewhere() }
            }
            let warm = try bench.count { try run(bench, "second") }
            if isCountedAlike {
                let same = try plain.count { try run(plain, "second") }
                #expect(warm.cost == same.cost, "announcing changes what is counted")
            }
            try prepareRun(bench, "third")
            try bench.forget()
            let cold = try bench.count { try run(bench, "third") }
            return (warm, cold)
        }
    }

    static func expect(
        _ count: (warm: TripCount, cold: TripCount), warm: Int, cold: Int,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(count.warm.trips == warm, "\n\(count.warm.log)", sourceLocation: sourceLocation)
        #expect(count.cold.trips == cold, "\n\(count.cold.log)", sourceLocation: sourceLocation)
        for one in [count.warm, count.cold] {
            #expect(one.countedTrips == one.trips, "the statistics count others", sourceLocation: sourceLocation)
        }
    }
}

/// A store that says that others write to it, and gains nothing from announced reads.
private final class SharedMemoryStore: StoreWrapper {
    let wrapped: any OrderedStore
    let isShared = true

    init(_ wrapped: MemoryStore) { self.wrapped = wrapped }
}

/// A server over a store whose caches only guess.
final class TripBench {
    /// What the server's store is.
    enum Kind: CaseIterable {
        /// A store in memory at the other end of a wire.
        case wire
        /// A store on the test server. Taking the lane's lock, BEGIN, the receipt and COMMIT are in its trips.
        case postgres
        /// The same as `wire`, with another host that has changed the zone before the request that is counted.
        case twoHosts
        /// A store in memory that gains nothing from announced reads.
        case memory

        /// The kinds with trips that can be tested.
        static var tested: [Kind] {
            PostgresTestStore.isServerThere ? [.wire, .twoHosts, .postgres] : [.wire, .twoHosts]
        }
    }

    static let container: ContainerName = "iCloud.com.example.trips"
    static let notes = ZoneAddress(zoneName: "Notes")

    let store: any OrderedStore
    private(set) var service: CloudService
    private let memory = MemoryStore()
    let owner: StoredAccount
    let guest: StoredAccount
    private let identifiers = TripIdentifiers()
    private let directory: URL
    /// Where the store is, on a server.
    private let place: PostgresTestStore?

    init(_ kind: Kind) throws {
        switch kind {
        case .wire, .twoHosts: (place, store) = (nil, TripStore(memory))
        case .memory: (place, store) = (nil, SharedMemoryStore(memory))
        case .postgres:
            let place = try PostgresTestStore(reusesTables: true)
            (self.place, store) = (place, try place.open(checksFormat: true))
        }
        directory = FileManager.default.temporaryDirectory
            .appending(path: "stratus-trips-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
        service = try Self.makeService(store, identifiers, directory)
        owner = try service.account(
            externalID: "owner", createIfMissing: AccountDraft(handles: [.email("owner@example.com")]))
        guest = try service.account(
            externalID: "guest", createIfMissing: AccountDraft(handles: [.email("guest@example.com")]))
        let zones = ModifyZonesRequest(saves: [ClientZone(address: Self.notes)])
        _ = try service.modifyZones(zones, as: caller(owner), in: .private).saves[0].get()
    }

    deinit {
        store.close()
        try? FileManager.default.removeItem(at: directory)
    }

    private static func makeService(
        _ store: any OrderedStore, _ identifiers: TripIdentifiers, _ directory: URL
    ) throws -> CloudService {
        let service = CloudService(
            engine: try RecordEngine(store: store, incarnation: identifiers.makeUUID()),
            environment: CloudEnvironment(clock: TripClock(), identifiers: identifiers),
            assets: AssetStore(
                directory: directory.appending(path: "assets").path, session: identifiers.makeUUID(),
                clock: TripClock()))
        // As a host does when it opens a store.
        try service.tokenKeeper.seal(of: service.engine, identifiers)
        try service.engine.beat()
        return service
    }

    /// Forgets all guesses: another host begins.
    func forget() throws {
        service.engine.leave()
        service = try Self.makeService(store, identifiers, directory)
    }

    /// Saves a record of the zone at another host of the same store in memory.
    func saveElsewhere() throws {
        let elsewhere: any OrderedStore = store is TripStore ? TripStore(memory) : SharedMemoryStore(memory)
        let other = try Self.makeService(elsewhere, identifiers, directory.appending(path: "other"))
        let request = ModifyRecordsRequest(saves: [Self.note("elsewhere")])
        _ = try other.modifyRecords(request, as: caller(owner), in: .private).saves[0].get()
    }

    /// The path of a file with a text.
    func file(_ text: String) throws -> String {
        let url = directory.appending(path: text)
        try Data(text.utf8).write(to: url)
        return url.path
    }

    func caller(_ account: StoredAccount) -> Caller { Caller(container: Self.container, account: account.id) }

    /// The trips of one request.
    func count(_ request: () throws -> Void) throws -> TripCount {
        _ = (store as? TripStore)?.takeLog()
        let flushes = (store as? PostgresStore)?.waitedFlushes ?? 0
        let before = store.statistics
        try request()
        let after = store.statistics
        let counted = after.trips - before.trips
        return TripCount(
            trips: (store as? PostgresStore).map { $0.waitedFlushes - flushes } ?? counted, countedTrips: counted,
            cost: after.cost - before.cost,
            log: (store as? TripStore)?.takeLog().joined(separator: "\n") ?? "")
    }

    // MARK: Requests

    func modify(
        _ saves: [RecordSave] = [], deleting deletes: [RecordAddress] = [], by account: StoredAccount? = nil
    ) throws {
        let request = ModifyRecordsRequest(saves: saves, deletes: deletes, policy: .changedKeys)
        let database: DatabaseSelector = account.map { $0.id == owner.id } ?? true ? .private : .shared
        let answer = try service.modifyRecords(request, as: caller(account ?? owner), in: database)
        for save in answer.saves { _ = try save.get() }
        for delete in answer.deletes { _ = try delete.get() }
    }

    /// A note with a text, below another one.
    static func note(
        _ name: String, below parent: String? = nil, text: String = "text", ownedBy target: String? = nil,
        in zone: ZoneAddress = TripBench.notes
    ) -> RecordSave {
        var fields: [String: ClientField] = ["text": ClientField(.string(text))]
        if let target {
            fields["owner"] = ClientField(
                .reference(ClientReference(target: address(target, in: zone), action: .deleteSelf)))
        }
        return RecordSave(
            address: address(name, in: zone), type: "Note",
            parent: parent.map { ClientReference(target: address($0, in: zone), action: .none) },
            isParentChanged: parent != nil, fields: fields, changedKeys: Set(fields.keys))
    }

    static func address(_ name: String, in zone: ZoneAddress = TripBench.notes) -> RecordAddress {
        RecordAddress(recordName: name, zone: zone)
    }

    /// A chain of records, "c0" at the top.
    func saveChain(_ count: Int) throws {
        for start in stride(from: 0, to: count, by: 400) {
            try modify(
                (start..<min(count, start + 400)).map { Self.note("c\($0)", below: $0 > 0 ? "c\($0 - 1)" : nil) })
        }
    }

    /// A tree of records: "t" at the top, and below each record `width` others, `depth` levels of them.
    func saveTree(depth: Int, width: Int) throws {
        var (saves, level) = ([Self.note("t")], ["t"])
        for _ in 0..<depth {
            let below = level.flatMap { parent in (0..<width).map { (name: "\(parent) \($0)", parent: parent) } }
            saves += below.map { Self.note($0.name, below: $0.parent) }
            level = below.map(\.name)
        }
        try modify(saves)
    }

    /// The owner's zone.
    var notesID: ZoneID {
        ZoneID(
            database: DatabaseID(container: Self.container, owner: owner.userName, scope: .private),
            name: ZoneName(Self.notes.zoneName))
    }

    /// The owner's zone as the guest names it.
    var sharedNotes: ZoneAddress { ZoneAddress(zoneName: Self.notes.zoneName, ownerName: owner.userName.text) }

    /// The request that shares a record, or the whole zone, with the guest.
    func sharing(_ root: String?, in zone: ZoneAddress = TripBench.notes) -> [RecordSave] {
        let name = root.map { "share of \($0)" } ?? ShareContent.zoneWideName.text
        var share = RecordSave(address: Self.address(name, in: zone), type: "cloudkit.share")
        share.sharing = ShareClaim(
            root: root.map { Self.address($0, in: zone) },
            participants: [
                ParticipantClaim(
                    id: "new", lookup: .email("guest@example.com"), role: .privateUser, permission: .readWrite,
                    isAdded: true)
            ])
        return (root.map { [RecordSave(address: Self.address($0, in: zone), type: "Note")] } ?? []) + [share]
    }

    /// Shares a record, or the whole zone, and lets the guest accept.
    func share(_ root: String?, in zone: ZoneAddress = TripBench.notes) throws {
        let request = ModifyRecordsRequest(saves: sharing(root, in: zone), policy: .changedKeys)
        let answer = try service.modifyRecords(request, as: caller(owner), in: .private)
        let share = try answer.saves.last?.get()
        if let url = share?.sharing?.url { _ = try service.acceptShares([url], as: caller(guest))[0].get() }
    }

    func saveZones(_ names: [String]) throws {
        let request = ModifyZonesRequest(saves: names.map { ClientZone(address: ZoneAddress(zoneName: $0)) })
        for zone in try service.modifyZones(request, as: caller(owner), in: .private).saves { _ = try zone.get() }
    }

    func deleteZones(_ names: [String]) throws {
        let request = ModifyZonesRequest(deletes: names.map { ZoneAddress(zoneName: $0) })
        for zone in try service.modifyZones(request, as: caller(owner), in: .private).deletes { _ = try zone.get() }
    }

    /// A page of the feed of the owner's private database, or of the guest's shared one.
    @discardableResult
    func databasePage(after token: [UInt8]? = nil, byGuest: Bool = false) throws -> FetchDatabaseChangesResponse {
        try service.fetchDatabaseChanges(
            FetchDatabaseChangesRequest(token: token), as: caller(byGuest ? guest : owner),
            in: byGuest ? .shared : .private)
    }

    /// Gives a person a device, and a subscription to all of a database.
    func subscribe(_ account: StoredAccount, to database: DatabaseSelector) throws {
        try service.registerDevice(DeviceAddress(account: account.id, name: "phone"))
        try service.registerDevice(DeviceAddress(account: account.id, name: "tablet"))
        let subscription = ClientSubscription(id: "all", subject: .database(recordType: nil))
        let request = ModifySubscriptionsRequest(saves: [subscription])
        for item in try service.modifySubscriptions(request, as: caller(account), in: database).saves {
            _ = try item.get()
        }
    }

    func fetch(_ names: [String]) throws {
        let request = FetchRecordsRequest(addresses: names.map { Self.address($0) })
        let answer = try service.fetchRecords(request, as: caller(owner), in: .private)
        for record in answer.records { _ = try record.get() }
    }

    /// The first page of a query of notes.
    func query(filters: [QueryFilter] = [], sorts: [QuerySort]) throws {
        let query = ClientQuery(recordType: "Note", filters: filters, sorts: sorts)
        let request = QueryRequest(.query(query, zone: Self.notes), limit: 100)
        let found = try service.query(request, as: caller(owner), in: .private).records
        for record in found { _ = try record.get() }
    }

    /// A page of the zone's feed for its owner, or for the guest.
    @discardableResult
    func page(after token: [UInt8]? = nil, limit: Int = 200, byGuest: Bool = false) throws -> FetchZoneChangesResponse {
        let request = FetchZoneChangesRequest(zone: byGuest ? sharedNotes : Self.notes, token: token, limit: limit)
        return try service.fetchZoneChanges(
            request, as: caller(byGuest ? guest : owner), in: byGuest ? .shared : .private)
    }
}

private struct TripClock: CloudClock {
    var now: Date { Date(timeIntervalSinceReferenceDate: 800_000_000) }
    var uptimeSeconds: Double { 0 }
}

private final class TripIdentifiers: IdentifierSource {
    private let random = Locked(SplitMix64(seed: 34))

    func makeUUID() -> UUID { random.withLock { $0.uuid() } }
    func makeSalt() -> UInt32 { random.withLock { UInt32(truncatingIfNeeded: $0.next()) } }
    func makeSecret(byteCount: Int) -> [UInt8] { random.withLock { $0.bytes(count: byteCount) } }
}
