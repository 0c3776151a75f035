// A server with assets in memory and two people, over any store; its remains can be reopened.

import Foundation
import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport

struct AssetTown {
    static let container: ContainerName = "iCloud.com.example"
    static let notes = ZoneAddress(zoneName: "Notes")
    static let other = ZoneAddress(zoneName: "Other")
    static let contents = "/store/assets/content"

    let files: MemoryFiles
    let clock: BenchClock
    let service: CloudService
    let alice: StoredAccount
    let bob: StoredAccount

    /// Files to save are under `/in`, five of them; the one called `n` has 100 + n bytes.
    static func files() -> MemoryFiles {
        let files = MemoryFiles()
        files.put([], at: "/store/marker")
        for number in 0..<5 { files.put([UInt8](repeating: UInt8(number), count: 100 + number), at: "/in/\(number)") }
        return files
    }

    init(
        over given: (any OrderedStore)? = nil, files: MemoryFiles = Self.files(), seed: UInt64 = 7,
        leaseSeconds: Double = 60, _ change: (inout CloudOptions) -> Void = { _ in }
    ) throws {
        self.files = files
        let clock = BenchClock()
        self.clock = clock
        let identifiers = BenchIdentifiers(seed: seed)
        var options = CloudOptions()
        change(&options)
        let engine = try RecordEngine(
            store: ContentPlace.store(over: given ?? TestStores.make(), clock), incarnation: identifiers.makeUUID())
        service = CloudService(
            engine: engine, environment: CloudEnvironment(clock: clock, identifiers: identifiers), options: options,
            assets: AssetStore(
                directory: "/store/assets", session: identifiers.makeUUID(), clock: clock, leaseSeconds: leaseSeconds,
                files: files, engine: engine))
        alice = try service.account(externalID: "alice", createIfMissing: AccountDraft(externalID: "alice"))
        bob = try service.account(externalID: "bob", createIfMissing: AccountDraft(externalID: "bob"))
    }

    func caller(_ account: StoredAccount? = nil) -> Caller {
        Caller(container: Self.container, account: (account ?? alice).id)
    }

    var nobody: Caller { Caller(container: Self.container, account: nil) }

    func makeZones(_ zones: ZoneAddress..., by account: StoredAccount? = nil) throws {
        let request = ModifyZonesRequest(saves: zones.map { ClientZone(address: $0) })
        for result in try service.modifyZones(request, as: caller(account), in: .private).saves { _ = try result.get() }
    }

    func modify(
        _ saves: [RecordSave], deleting deletes: [RecordAddress] = [], atomic: Bool = true,
        by account: StoredAccount? = nil,
        in database: DatabaseSelector = .private
    ) throws -> ModifyRecordsResponse {
        let request = ModifyRecordsRequest(saves: saves, deletes: deletes, policy: .changedKeys, isAtomic: atomic)
        return try service.modifyRecords(request, as: caller(account), in: database)
    }

    /// Whether no content was ever stored.
    var isUntouched: Bool {
        let names = try? service.engine.store.contents?.names(after: nil, limit: 1)
        return (try? files.names(in: "/store/assets")) == nil && (names ?? []).isEmpty
    }

    /// The number of stored contents.
    func contentCount() throws -> Int {
        if let contents = service.engine.store.contents { return try contents.names(after: nil, limit: .max).count }
        var count = 0
        for owner in (try? files.names(in: Self.contents)) ?? [] {
            for folder in try files.names(in: "\(Self.contents)/\(owner)") {
                count += try files.names(in: "\(Self.contents)/\(owner)/\(folder)").count
            }
        }
        return count
    }
}

extension ClientValue {
    /// One of the town's files.
    static func file(_ number: Int) -> ClientValue { .asset(.file(path: "/in/\(number)")) }

    /// The content of a field, according to the server.
    var content: AssetDescriptor? {
        if case .asset(.content(let asset)) = self { asset } else { nil }
    }
}
