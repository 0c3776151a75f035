// The passes of the workloads: a store, a data set of ten thousand records, and what has been counted so far.

import CCounters
import Foundation
import StratusCloud
import StratusKit
import StratusLevelDB
import StratusModel
import StratusRecords
import StratusStore
import StratusWorkloads
import Synchronization

/// A cost that is planted in every pass.
enum CostPlant: String {
    /// One look at the store.
    case reads
    /// One entry, in a commit of its own.
    case entries
    /// An allocation for each twenty.
    case allocations
}

/// One run of all workloads.
final class CostRun {
    let folder: String
    let data = MainZoneData(count: 10_000)
    private let plant: CostPlant?
    /// Kept, so that the optimiser does not put it on the stack.
    private var lastPlanted: Planted?
    private(set) var costs: [CountedCost] = []
    /// Made by the first pass and closed by the last.
    var stratus: StratusSide?
    var server: ServerSide?
    /// A participant of the share in the main zone, who has accepted.
    var guest: Guest?

    init(folder: String, plant: CostPlant?) {
        self.folder = folder
        self.plant = plant
    }

    /// Everything that is written stays in LevelDB's memory, so that nothing runs in the background and no pass depends
    /// on how far that has come.
    static var options: LevelDBOptions {
        var options = LevelDBOptions(formatVersion: StoreFormat.number)
        options.writeBufferByteCount = 64 << 20
        return options
    }

    /// The store and the server, once they are made.
    func sides() throws -> (stratus: StratusSide, server: ServerSide) {
        guard let stratus, let server else { throw WorkloadError("The store is not open.") }
        return (stratus, server)
    }

    /// Counts what `body` costs the store.
    func count(_ label: String, _ body: () throws -> Void) throws {
        guard let store = stratus?.store else { throw WorkloadError("The store is not open.") }
        try count(label, store, body)
    }

    func count(
        _ label: String, _ store: any OrderedStore, allocates: AllocationScope = .thread, _ body: () throws -> Void
    ) throws {
        let before = store.statistics
        let allocations = allocates.count
        try body()
        try plantCost(in: store, allocates.count - allocations)
        let allocated = allocates.count - allocations
        costs.append(
            CountedCost(
                label, before, store.statistics, allocations: allocates.isCounted ? allocated : nil))
    }

    private func plantCost(in store: any OrderedStore, _ allocations: Int) throws {
        switch plant {
        case .reads: _ = try store.read { try $0.contains([0]) }
        case .entries: try store.transact { try $0.set([0], to: [0]) }
        case .allocations: for _ in 0..<allocations / 20 + 8 { lastPlanted = Planted() }
        case nil: break
        }
    }
}

/// Something that is allocated.
private final class Planted {}

/// Whose allocations are counted.
enum AllocationScope {
    /// Those of the thread that counts: nothing that the engine does in the background.
    case thread
    /// Those of all threads, where several do the work.
    case process
    case none

    var count: Int {
        switch self {
        case .thread: Int(callocationcount_of_thread())
        case .process: Int(callocationcount_of_process())
        case .none: 0
        }
    }

    /// Without the optimiser other things are allocated, and under a sanitizer nothing is counted.
    var isCounted: Bool {
        #if STRATUS_OPTIMISED_TESTS
            return self != .none && callocationcount_is_counting() != 0
        #else
            return false
        #endif
    }
}

// W1, W2, W3 and W6: records saved, fetched, asked for their share, and enumerated.

extension CostRun {
    func countRecords() throws {
        let stratus = try StratusSide(at: folder + "/stratus", options: Self.options)
        self.stratus = stratus
        server = try ServerSide(stratus)
        try stratus.createZone(StratusSide.mainZone)
        let batches = RecordBatches.indices(of: data.zone).map { $0.map { data.zone.record($0) } }
        try count("W1 load 10,000 records, 400 a commit") {
            for batch in batches { try stratus.save(batch, in: StratusSide.mainZone) }
        }
        let names = randomNames(500)
        for pass in ["for the first time", "again", "once more"] {
            try count("W2 fetch 500 records, \(pass)") { try StratusSide.fetch(stratus.engine, names) }
        }
        try countShareLookups(stratus)
        let top = data.zone.names[data.subtreeTop]
        try count("W6 enumerate a subtree of 1,000") {
            guard try stratus.subtreeCount(below: top) == 999 else { throw WorkloadError("A subtree is not whole.") }
        }
    }

    private func countShareLookups(_ stratus: StratusSide) throws {
        for depth in [0, 1, 4, 10, 20, 50, 1_000] {
            let targets = data.zone.forest.sample(atDepth: depth, limit: 10, seed: 3).map { data.zone.names[$0] }
            guard !targets.isEmpty else { throw WorkloadError("There is no record at depth \(depth).") }
            let questions = "W3 the shares of \(targets.count) records at depth \(depth)"
            try count(questions + ", no cache") { try StratusSide.askShares(stratus.uncached, targets) }
            try StratusSide.askShares(stratus.engine, targets)
            try count(questions + ", again") { try StratusSide.askShares(stratus.engine, targets) }
        }
    }

    func randomNames(_ count: Int) -> [RecordName] {
        var numbers = SeededNumbers(seed: 2)
        return (0..<count).map { _ in data.zone.names[numbers.below(data.zone.count)] }
    }
}

// W4, W5, W7, W8, W10 and W12: what clients ask of the server.

extension CostRun {
    private static let smallZone = StratusSide.zone("tree-1000")

    func countSharing() throws {
        let (stratus, server) = try sides()
        let small = TreeZoneData(count: 1_000)
        try stratus.load(small.zone, into: Self.smallZone)
        let trees = [
            (zone: Self.smallZone, data: small.zone, top: small.top, count: "1,000"),
            (zone: StratusSide.mainZone, data: data.zone, top: data.top, count: "10,000"),
        ]
        for tree in trees {
            let root = tree.data.record(tree.top)
            let zone = ZoneAddress(zoneName: tree.zone.name.text)
            _ = try server.share(root, in: zone, with: [])
            try server.stopSharing(root, in: zone)
            try count("W4 save a share on a root of \(tree.count)") { _ = try server.share(root, in: zone, with: []) }
            try server.stopSharing(root, in: zone)
        }
        try countMoves(stratus, server)
        for tree in trees {
            let zone = ZoneAddress(zoneName: tree.zone.name.text)
            let token = try server.readFeed(of: zone, keys: []).token
            let stride = tree.data.count / 100
            try stratus.save((0..<100).map { tree.data.record($0 * stride) }, in: tree.zone)
            try count("W7 a feed of 100 changes among \(tree.count)") {
                let reading = try server.readFeed(of: zone, after: token)
                guard reading.toldCount == 100 else { throw WorkloadError("A feed is not whole.") }
            }
        }
        try countGuests(stratus, server, small)
        try countQueries(server)
        try countPermissions(stratus, server)
    }

    private func countMoves(_ stratus: StratusSide, _ server: ServerSide) throws {
        let moves = MovesZoneData(sizes: [100, 1_000])
        let id = StratusSide.zone("moves")
        let zone = ZoneAddress(zoneName: id.name.text)
        try stratus.load(moves.zone, into: id)
        for top in moves.tops { _ = try server.share(moves.zone.record(top.root), in: zone, with: []) }
        for top in moves.tops {
            let type = moves.zone.content(of: top.index).type
            let name = moves.zone.names[top.index]
            func move(to folder: Int) throws {
                try server.move(name, type, below: moves.zone.names[moves.folders[folder]], in: zone)
            }
            try move(to: 1)
            try move(to: 0)
            try count("W5 move a subtree of \(top.size) with a share in it") { try move(to: 1) }
        }
    }

    private func countGuests(_ stratus: StratusSide, _ server: ServerSide, _ small: TreeZoneData) throws {
        let roots = [
            (zone: Self.smallZone, record: small.zone.record(small.top), count: "990"),
            (zone: StratusSide.mainZone, record: data.zone.record(data.subtreeTop), count: "1,000"),
        ]
        for root in roots {
            let guest = try server.guest("reader-\(root.zone.name.text)")
            let url = try server.share(root.record, in: ZoneAddress(zoneName: root.zone.name.text), with: [guest])
            try count("W8 accept a share of \(root.count)") { try server.accept(url, by: guest) }
            guard root.zone == StratusSide.mainZone else { continue }
            self.guest = guest
            let zone = ServerSide.shared(root.zone)
            var reading = FeedReading()
            try count("W8 the feed after accepting") { reading = try server.readFeed(of: zone, as: guest.caller) }
            let others = (0..<data.zone.count).filter { $0 < data.subtreeTop && data.zone.share(of: $0) == nil }
            for range in RecordBatches.indices(0..<others.count) {
                try stratus.save(others[range].map { data.zone.record($0) }, in: root.zone)
            }
            try count("W8 the feed after \(others.count) unseen changes") {
                _ = try server.readFeed(of: zone, after: reading.token, as: guest.caller)
            }
        }
    }

    private func countQueries(_ server: ServerSide) throws {
        try count("W10 build the indexes of 10,000 records") {
            try SizeQueries.buildIndexes(of: data.zone, in: StratusSide.mainZone, server)
        }
        for (subject, request) in SizeQueries.requests(data.zone, in: StratusSide.mainZone) {
            func ask() throws {
                let page = try server.service.query(request, as: server.owner, in: .private).records
                guard page.count == SizeQueries.resultCount else { throw WorkloadError("A page is not whole.") }
                for match in page { try ServerSide.takeOut(match.get()) }
            }
            try ask()
            try count("W10 \(subject)") { try ask() }
        }
    }

    private func countPermissions(_ stratus: StratusSide, _ server: ServerSide) throws {
        let fan = FanZoneData(depth: 10, leafCount: 500)
        let id = StratusSide.zone(ZoneName(FanZoneData.name))
        try stratus.load(fan.zone, into: id)
        let guests = try (0..<100).map { try server.guest("participant-\($0)") }
        let url = try server.share(fan.zone.record(fan.top), in: ZoneAddress(zoneName: id.name.text), with: guests)
        for guest in guests { try server.accept(url, by: guest) }
        let names = fan.leaves.map { fan.zone.names[$0] }
        for pass in ["for the first time", "again"] {
            try count("W12 may somebody write 500 records, \(pass)") {
                let answers = try server.service.permissions(for: names, in: id, of: guests[50].account.userName)
                guard answers.allSatisfy({ $0 == [.read, .write] }) else {
                    throw WorkloadError("A guest may not write.")
                }
            }
        }
    }
}

// W9, W11 and A1, in stores of their own: who shares a sync, and what the face adds; then W14 and W13, which end the
// store.

extension CostRun {
    func countCommits() throws {
        try countSavers()
        let face = try FaceSide(at: folder + "/face", isRepeatable: true)
        defer { face.close() }
        let numbers = NumberSource()
        let ways = [
            ("by an operation", face.saveByOperation), ("below the face", face.saveByService),
            ("by the engine", face.saveByEngine),
        ]
        for (way, save) in ways {
            for isCounted in [false, true] {
                let records = (0..<400).map { _ in numbers.next().record }
                guard isCounted else {
                    _ = try save(records)
                    continue
                }
                try count("W11 save 400 records \(way)", face.store, allocates: .process) { _ = try save(records) }
            }
        }
        try countCalls(face, numbers)
    }

    /// A1: what CloudKit's awaited calls allocate, with all values of the records taken out. Each call has been made
    /// once before.
    private func countCalls(_ face: FaceSide, _ numbers: NumberSource) throws {
        let zone = CKRecordZone.ID(zoneName: "calls")
        try face.createZone(zone.zoneName)
        let client = FaceClient(database: face.database, zone: zone)
        let records = (0..<400).map { _ in numbers.next().record }
        try FaceWait.run { try await client.save(records.map { FaceSide.clientRecord($0, zone) }) }
        let names = records.map(\.name.text)
        let more = (0..<40).map { _ in numbers.next().record }
        let calls: [(String, Int, @Sendable (Int) async throws -> Int)] = [
            ("fetch 400 records", 400, { _ in try await client.fetch(names) }),
            ("a feed of 400 changes", 400, { _ in try await client.changes(after: nil, limit: 400) }),
            // Several, because the thread that has sent a query does a part of the work after its answer.
            (
                "10 query pages of 100 results", 1_000,
                { _ in
                    var count = 0
                    for _ in 0..<10 { count += try await client.files(ofSizes: 0...Int64.max) }
                    return count
                }
            ),
            (
                "20 saves of one record", 20,
                { pass in
                    let records = more[pass * 20..<pass * 20 + 20]
                    for record in records { try await client.save(FaceSide.clientRecord(record, zone)) }
                    return records.count
                }
            ),
        ]
        for (what, wanted, call) in calls {
            func make(_ pass: Int) throws {
                let found = try FaceWait.run { try await call(pass) }
                guard found == wanted else { throw WorkloadError("A call has \(found) records.") }
            }
            try make(0)
            try count("A1 \(what)", face.store, allocates: .process) { try make(1) }
        }
    }

    /// One caller's saves, and 64 that come while another's is being written.
    private func countSavers() throws {
        let isHeld = DispatchSemaphore(value: 0)
        let allRan = DispatchSemaphore(value: 0)
        let mustHold = Atomic(false)
        var options = Self.options
        options.testHooks.willWriteGroup = { _ in
            guard mustHold.exchange(false, ordering: .relaxed) else { return }
            isHeld.signal()
            allRan.wait()
        }
        let stratus = try StratusSide(at: folder + "/saves", options: options)
        defer { stratus.close() }
        let zone = StratusSide.zone("saves")
        try stratus.createZone(zone)
        let records = (0..<100).map { number in
            Record(
                name: RecordName(seed: 9, index: number), type: "File",
                fields: RecordContent(seed: 9, index: number).fields)
        }
        try count("W9 20 saves of one caller", stratus.store) {
            for record in records[0..<20] { try stratus.save([record], in: zone) }
        }
        try count("W9 one save, and 64 that wait for it", stratus.store, allocates: .none) {
            mustHold.store(true, ordering: .relaxed)
            try Self.saveAtOnce(Array(records[20..<85]), in: zone, stratus, isHeld, allRan)
        }
    }

    private static func saveAtOnce(
        _ records: [Record], in zone: ZoneID, _ stratus: StratusSide, _ isHeld: DispatchSemaphore,
        _ allRan: DispatchSemaphore
    ) throws {
        let failure = SharedFailure()
        let done = DispatchGroup()
        let bodyCount = Atomic(0)
        func save(_ record: Record, isFirst: Bool) {
            done.enter()
            Thread.detachNewThread {
                defer { done.leave() }
                do {
                    let request = MutationRequest([.save(record)], stamp: DataClock.stamp, tagSalt: 7)
                    try stratus.engine.transact { transaction in
                        _ = try transaction.apply(request, in: zone)
                        guard !isFirst else { return }
                        if bodyCount.add(1, ordering: .relaxed).newValue == records.count - 1 { allRan.signal() }
                    }
                } catch {
                    failure.note(error)
                    allRan.signal()
                    isHeld.signal()
                }
            }
        }
        save(records[0], isFirst: true)
        isHeld.wait()
        for record in records.dropFirst() { save(record, isFirst: false) }
        done.wait()
        try failure.check()
    }

    /// What it costs to open the store again, and to delete its zones.
    func countEnds() throws {
        stratus?.close()
        server = nil
        let stratus = try StratusSide(at: folder + "/stratus", options: Self.options)
        defer { stratus.close() }
        self.stratus = stratus
        let names = randomNames(100)
        try count("W13 the shares of 100 records after opening") { try StratusSide.askShares(stratus.engine, names) }
        for (zone, size) in [(StratusSide.zone("tree-1000"), "1,000"), (StratusSide.mainZone, "10,000")] {
            try count("W14 delete a zone of \(size)") {
                try stratus.engine.transact { _ = try $0.deleteZone(zone) }
            }
        }
        try count("W14 purge both") {
            _ = try stratus.engine.purgeDeletedZones(pause: { usleep(1_000) })
        }
    }
}

// W2a, W7a, W7b, W8a, W8b and W10a: what is read for the first time.

extension CostRun {
    /// The store is opened again before each pass, so that nothing is cached: also accounts and zones are looked up.
    func countFirstReads() throws {
        let own = ZoneAddress(zoneName: StratusSide.mainZone.name.text)
        let shared = ServerSide.shared(StratusSide.mainZone)
        guard let guest else { throw WorkloadError("There is no participant.") }
        let places = try changeAtRandom(own, shared, guest)
        let names = randomNames(500)
        let files = SizeQueries.filesBySize(data.zone)
        let sizes = files[0].size...files[SizeQueries.resultCount - 1].size
        let passes: [(label: String, wanted: Int, read: (StratusSide, ServerSide) throws -> Int)] = [
            (
                "W2a fetch 500 records", names.count,
                { stratus, _ in
                    try StratusSide.fetch(stratus.engine, names)
                    return names.count
                }
            ),
            ("W7a a first sync of 10,000 records", data.zone.count + 1, { try $1.readFeed(of: own).toldCount }),
            (
                "W7b 100 changes among 2,000 at random", 100,
                { _, server in
                    let request = FetchZoneChangesRequest(zone: own, token: places.changes, limit: 100)
                    let page = try server.service.fetchZoneChanges(request, as: server.owner, in: .private)
                    for record in page.changed { try ServerSide.takeOut(record) }
                    return page.changed.count
                }
            ),
            (
                "W8a the feed after 2,000 unseen changes at random", 0,
                { try $1.readFeed(of: shared, after: places.unseen, as: guest.caller).toldCount }
            ),
            (
                "W8b a participant's first feed of 1,001 records", 1_001,
                { try $1.readFeed(of: shared, as: guest.caller).toldCount }
            ),
            (
                "W10a 100 of a range", SizeQueries.resultCount,
                { _, server in
                    let request = SizeQueries.request(sizes, in: StratusSide.mainZone)
                    let page = try server.service.query(request, as: server.owner, in: .private).records
                    for match in page { try ServerSide.takeOut(match.get()) }
                    return page.count
                }
            ),
        ]
        for (label, wanted, read) in passes {
            let (stratus, server) = try reopen()
            try count(label + ", for the first time") {
                let found = try read(stratus, server)
                guard found == wanted else { throw WorkloadError("\(label): it has \(found) of \(wanted).") }
            }
        }
    }

    /// Saves 2,000 records again that the participant does not see, in random order. Returns the token of a participant
    /// from before, and one of the owner from between.
    private func changeAtRandom(
        _ own: ZoneAddress, _ shared: ZoneAddress, _ guest: Guest
    ) throws -> (unseen: [UInt8]?, changes: [UInt8]?) {
        let (stratus, server) = try sides()
        let unseen = try server.readFeed(of: shared, as: guest.caller).token
        var changes: [UInt8]?
        var numbers = SeededNumbers(seed: 70)
        let others = (0..<data.subtreeTop).filter { data.zone.share(of: $0) == nil }.shuffled(using: &numbers)
        for range in RecordBatches.indices(0..<2_000) {
            if range.lowerBound == 800 { changes = try server.readFeed(of: own, keys: []).token }
            try stratus.save(others[range].map { data.zone.record($0) }, in: StratusSide.mainZone)
        }
        return (unseen, changes)
    }

    private func reopen() throws -> (stratus: StratusSide, server: ServerSide) {
        stratus?.close()
        let opened = try StratusSide(at: folder + "/stratus", options: Self.options)
        stratus = opened
        let server = try ServerSide(opened)
        self.server = server
        return (opened, server)
    }
}

// Counts the costs of all workloads. It needs a process of its own, because allocations are counted for all of it, and
// SWIFT_DETERMINISTIC_HASHING=1, so that every run counts the same.

/// Runs every workload and prints its costs as JSON. The second argument plants a cost, for tests of what notices it.
func countCosts(_ arguments: [String]) -> Never {
    guard let folder = arguments.first, arguments.count == 1 || CostPlant(rawValue: arguments[1]) != nil else {
        FileHandle.standardError.write(Data("usage: costs DIRECTORY [reads|entries|allocations]\n".utf8))
        exit(64)
    }
    do {
        let run = CostRun(folder: folder, plant: arguments.count == 2 ? CostPlant(rawValue: arguments[1]) : nil)
        try run.countRecords()
        try run.countSharing()
        try run.countFirstReads()
        try run.countCommits()
        try run.countEnds()
        FileHandle.standardOutput.write(try JSONEncoder().encode(run.costs))
        exit(0)
    } catch {
        FileHandle.standardError.write(Data("\(error)\n".utf8))
        exit(1)
    }
}
