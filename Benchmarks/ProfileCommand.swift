// Ourselves alone, for a profiler: the same data and the same calls as in the table, without peers.

import ArgumentParser
import Foundation
import StratusCloud
import StratusLevelDB
import StratusModel
import StratusRecords
import StratusWorkloads

struct ProfileCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "profile", abstract: "Runs one workload without its peers, for a profiler to look at.",
        discussion: "Example: perf record -g stratus-benchmarks profile W1 --records 200000")

    @Argument(help: "W1, W2, W2a, W3, W6, W7, W7a, W7b, W8, W8a, W10, W11, W12, W13, F2, F3, F5 or F6.")
    var workload: String

    @Option(help: "Records of the main zone.")
    var records = 100_000

    @Option(help: "How many times everything but W1 and W11 is repeated.")
    var rounds = 20

    @Option(help: "How many callers save at once in F3, each of them once a round.")
    var callers = 1

    @Option(help: "The restart interval in entries, instead of the default.")
    var restartInterval: Int?

    @Option(help: "The size of tables in MiB, instead of the default: small ones make a store of many tables.")
    var fileSize: Int?

    @Option(help: "An empty folder for the store; it is emptied afterwards.")
    var scratch: String?

    func run() throws {
        let folder = scratch ?? NSTemporaryDirectory() + "stratus-profile-\(ProcessInfo.processInfo.processIdentifier)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        if workload.uppercased() == OperationWorkload.name { return try profileOperations(folder) }
        if [FaceFetchWorkload.name, FaceFeedWorkload.name, FaceQueryWorkload.name].contains(workload.uppercased()) {
            return try profileFace(folder)
        }
        if workload.uppercased() == FaceSaveWorkload.name { return try profileFaceSaves(folder) }
        let data = MainZoneData(count: records)
        var options = LevelDBOptions(formatVersion: StoreFormat.number)
        if let restartInterval { options.blockRestartInterval = restartInterval }
        if let fileSize { options.fileByteCount = fileSize << 20 }
        let stratus = try StratusSide(at: folder, options: options)
        defer { stratus.close() }
        let processor = ProcessorTime()
        let loading = try Stopwatch.seconds { try stratus.load(data.zone, into: StratusSide.mainZone) }
        say("load", loading, processor.seconds, perItem: records)
        switch workload.uppercased() {
        case "W2": try profileFetches(stratus, data)
        case "W2A": try profileFirstFetches(stratus, data)
        case "W3": try profileShareLookups(stratus, data)
        case "W6": try profileSubtrees(stratus, data)
        case "W7": try profileFeed(stratus, data)
        case "W7A": try profileFirstSync(stratus)
        case "W7B": try profileNewChanges(stratus, data)
        case "W8": try profileUnseenChanges(stratus, data, stratus.engine)
        case "W8A": try profileUnseenChanges(stratus, data, stratus.reader(ancestorCacheByteCount: 1 << 20))
        case "W10": try profileQueries(stratus, data)
        case "W12": try profilePermissions(stratus, data)
        case "W13": try profileOpenings(stratus, folder, options)
        default: break
        }
    }

    private func profileFetches(_ stratus: StratusSide, _ data: MainZoneData) throws {
        var numbers = SeededNumbers(seed: 2)
        let names = (0..<500).map { _ in data.zone.names[numbers.below(data.zone.count)] }
        let processor = ProcessorTime()
        let seconds = try Stopwatch.seconds {
            for _ in 0..<rounds { try StratusSide.fetch(stratus.engine, names) }
        }
        say("W2", seconds, processor.seconds, perItem: rounds * names.count)
    }

    private func profileOpenings(_ stratus: StratusSide, _ folder: String, _ options: LevelDBOptions) throws {
        stratus.close()
        // It turns the log of the last session into a table.
        try StratusSide.openAndClose(at: folder, options: options)
        let processor = ProcessorTime()
        let seconds = try Stopwatch.seconds {
            for _ in 0..<rounds { try StratusSide.openAndClose(at: folder, options: options) }
        }
        say("W13", seconds, processor.seconds, perItem: rounds)
    }

    private func profileShareLookups(_ stratus: StratusSide, _ data: MainZoneData) throws {
        let targets = data.zone.forest.sample(atDepth: 20, limit: 500, seed: 1).map { data.zone.names[$0] }
        for (name, engine) in [("cached", stratus.engine), ("no cache", stratus.uncached)] {
            let processor = ProcessorTime()
            let seconds = try Stopwatch.seconds {
                for _ in 0..<rounds { try StratusSide.askShares(engine, targets) }
            }
            say("W3 \(name)", seconds, processor.seconds, perItem: rounds * targets.count)
        }
    }

    private func profileSubtrees(_ stratus: StratusSide, _ data: MainZoneData) throws {
        let processor = ProcessorTime()
        var count = 0
        let seconds = try Stopwatch.seconds {
            for _ in 0..<rounds {
                count += try stratus.subtreeCount(below: data.zone.names[data.subtreeTop])
            }
        }
        say("W6", seconds, processor.seconds, perItem: count)
    }

    /// Pages of a zone's first reading: the work of each record, and of a page.
    private func profileFeed(_ stratus: StratusSide, _ data: MainZoneData) throws {
        let server = try ServerSide(stratus)
        let zone = ZoneAddress(zoneName: StratusSide.mainZone.name.text)
        let processor = ProcessorTime()
        var count = 0
        let seconds = try Stopwatch.seconds {
            for _ in 0..<rounds {
                let request = FetchZoneChangesRequest(zone: zone, limit: 1_000)
                let changed = try server.service.fetchZoneChanges(request, as: server.owner, in: .private).changed
                for record in changed { try ServerSide.takeOut(record) }
                count += changed.count
            }
        }
        say("W7", seconds, processor.seconds, perItem: count)
    }

    /// Every record of the zone by its name, once.
    private func profileFirstFetches(_ stratus: StratusSide, _ data: MainZoneData) throws {
        let batches = NewNames(data.zone, seed: 1_000).batches(records / 500, of: 500)
        let processor = ProcessorTime()
        let seconds = try Stopwatch.seconds {
            for batch in batches { try StratusSide.fetch(stratus.engine, batch) }
        }
        say("W2a", seconds, processor.seconds, perItem: batches.count * 500)
    }

    /// Pages of a hundred changes at new positions, after a tenth of the records has changed in random order.
    private func profileNewChanges(_ stratus: StratusSide, _ data: MainZoneData) throws {
        let server = try ServerSide(stratus)
        let zone = ZoneAddress(zoneName: StratusSide.mainZone.name.text)
        var tokens: [[UInt8]] = []
        var token = try server.readFeed(of: zone, keys: []).token
        for batch in NewNames(data.zone, seed: 70).indices(records / 10 / RecordBatches.recordCount, of: 400) {
            if let token { tokens.append(token) }
            try stratus.save(batch.map { data.zone.record($0) }, in: StratusSide.mainZone)
            token = try server.readFeed(of: zone, after: token, keys: []).token
        }
        var numbers = SeededNumbers(seed: 7)
        tokens.shuffle(using: &numbers)
        let processor = ProcessorTime()
        let seconds = try Stopwatch.seconds {
            for token in tokens {
                let request = FetchZoneChangesRequest(zone: zone, token: token, limit: 100)
                let changed = try server.service.fetchZoneChanges(request, as: server.owner, in: .private).changed
                for record in changed { try ServerSide.takeOut(record) }
            }
        }
        say("W7b", seconds, processor.seconds, perItem: tokens.count * 100)
    }

    private func profileFirstSync(_ stratus: StratusSide) throws {
        let server = try ServerSide(stratus)
        let processor = ProcessorTime()
        var count = 0
        let seconds = try Stopwatch.seconds {
            count = try server.readFeed(of: ZoneAddress(zoneName: StratusSide.mainZone.name.text)).toldCount
        }
        say("W7a", seconds, processor.seconds, perItem: count)
    }

    /// A guest's feed past changes of records that they do not see.
    private func profileUnseenChanges(_ stratus: StratusSide, _ data: MainZoneData, _ reader: RecordEngine) throws {
        let server = try ServerSide(stratus)
        let guest = try server.guest("participant")
        let zone = ZoneAddress(zoneName: StratusSide.mainZone.name.text)
        try server.accept(try server.share(data.zone.record(data.subtreeTop), in: zone, with: [guest]), by: guest)
        let shared = ServerSide.shared(StratusSide.mainZone)
        let token = try server.readFeed(of: shared, as: guest.caller).token
        let others = data.outsideSubtree
        for range in RecordBatches.indices(0..<others.count) {
            try stratus.save(others[range].map { data.zone.record($0) }, in: StratusSide.mainZone)
        }
        let readerSide = try ServerSide(engine: reader)
        let processor = ProcessorTime()
        let seconds = try Stopwatch.seconds {
            for _ in 0..<rounds { _ = try readerSide.readFeed(of: shared, after: token, as: guest.caller) }
        }
        say(workload, seconds, processor.seconds, perItem: rounds * others.count)
    }

    private func profileQueries(_ stratus: StratusSide, _ data: MainZoneData) throws {
        let server = try ServerSide(stratus)
        try SizeQueries.buildIndexes(of: data.zone, in: StratusSide.mainZone, server)
        for (what, request) in SizeQueries.requests(data.zone, in: StratusSide.mainZone) {
            let processor = ProcessorTime()
            var count = 0
            let seconds = try Stopwatch.seconds {
                for _ in 0..<rounds {
                    let records = try server.service.query(request, as: server.owner, in: .private).records
                    for match in records { try ServerSide.takeOut(match.get()) }
                    count += records.count
                }
            }
            say("W10 \(what)", seconds, processor.seconds, perItem: count)
        }
    }

    private func profilePermissions(_ stratus: StratusSide, _ data: MainZoneData) throws {
        let server = try ServerSide(stratus)
        let guest = try server.guest("participant")
        let root = data.zone.record(data.subtreeTop)
        let zone = ZoneAddress(zoneName: StratusSide.mainZone.name.text)
        try server.accept(try server.share(root, in: zone, with: [guest]), by: guest)
        let names = (0..<500).map { data.zone.names[data.subtreeTop + $0] }
        let processor = ProcessorTime()
        let seconds = try Stopwatch.seconds {
            for _ in 0..<rounds {
                _ = try server.service.permissions(
                    for: names, in: StratusSide.mainZone, of: guest.account.userName)
            }
        }
        say("W12", seconds, processor.seconds, perItem: rounds * names.count)
    }

    /// The face, the server below it and the engine, each over all records.
    private func profileOperations(_ folder: String) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let side = try FaceSide(at: folder + "/face")
        defer { side.close() }
        for (what, save) in [
            ("operation", side.saveByOperation), ("service", side.saveByService), ("engine", side.saveByEngine),
        ] {
            let numbers = NumberSource()
            var seconds = 0.0
            let processor = ProcessorTime.ofProcess
            for _ in 0..<records / RecordBatches.recordCount {
                seconds += try save((0..<RecordBatches.recordCount).map { _ in numbers.next().record })
            }
            say("W11 \(what)", seconds, ProcessorTime.ofProcess - processor, perItem: records)
        }
    }

    /// Fetches by name, the first sync or a page of a query, through the face and below it.
    private func profileFace(_ folder: String) throws {
        let data = TreeZoneData(count: records).zone
        let (side, below) = try loadedFace(folder, data)
        defer { side.close() }
        let client = FaceClient(database: side.database, zone: FaceBench.zone)
        let names = NewNames(data, seed: 2_000).batches(1, of: 400)[0].map(\.text)
        let range = SizeQueries.sizeRange(data)
        let works: [(String, () throws -> Int)] =
            switch workload.uppercased() {
            case FaceFetchWorkload.name:
                [
                    ("through the face", { try FaceWait.run { try await client.fetch(names) } }),
                    ("below it", { try below.fetch(names) }),
                ]
            case FaceFeedWorkload.name:
                [
                    ("through the face", { try FaceWait.run { try await client.readFeed().count } }),
                    ("below it", { try below.readFeed().count }),
                ]
            default:
                [
                    ("through the face", { try FaceWait.run { try await client.files(ofSizes: range) } }),
                    ("below it", { try below.files(ofSizes: range) }),
                ]
            }
        for (what, work) in works {
            var count = 0
            let processor = ProcessorTime.ofProcess
            let seconds = try Stopwatch.seconds { for _ in 0..<rounds { count += try work() } }
            say("\(workload) \(what)", seconds, ProcessorTime.ofProcess - processor, perItem: count)
        }
    }

    /// A store with the data set, and the requests below the face.
    private func loadedFace(_ folder: String, _ data: ZoneData) throws -> (FaceSide, BelowFace) {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let side = try FaceSide(at: folder + "/face")
        try side.createZone(FaceBench.zoneName)
        let below = BelowFace(
            service: side.service, caller: side.caller, zone: FaceBench.address,
            zoneID: side.zoneID(FaceBench.zoneName))
        for batch in RecordBatches.indices(of: data) {
            try below.modify(
                batch.map {
                    ServerSide.save(data.names[$0], data.content(of: $0), below: data.parent(of: $0), in: below.zone)
                })
        }
        return (side, below)
    }

    /// Saves of one new record each, through the face and below it.
    private func profileFaceSaves(_ folder: String) throws {
        let (side, below) = try loadedFace(folder, TreeZoneData(count: records).zone)
        defer { side.close() }
        let client = FaceClient(database: side.database, zone: FaceBench.zone)
        let numbers = NumberSource()
        let count = rounds * callers
        let lists = (0..<callers).map { _ in
            (0..<rounds).map { _ in FaceSide.clientRecord(numbers.next().record, FaceBench.zone) }
        }
        let saves = (0..<count).map { _ in
            let item = numbers.next()
            return ServerSide.save(item.record.name, item.content, in: below.zone)
        }
        for (what, work) in [
            ("through the face", { try FaceWait.run(lists: lists) { try await client.save($0) } }),
            ("below it", { _ = try Callers.rate(callers, timesEach: rounds) { try below.modify([saves[$0]]) } }),
        ] as [(String, () throws -> Void)] {
            let processor = ProcessorTime.ofProcess
            let seconds = try Stopwatch.seconds { try work() }
            say("F3 \(what)", seconds, ProcessorTime.ofProcess - processor, perItem: count)
        }
    }

    private func say(_ what: String, _ seconds: Double, _ processorSeconds: Double, perItem count: Int) {
        print(
            "\(what): \(Figure.text(seconds / Double(count) * 1e6)) µs an item, of them "
                + "\(Figure.text(processorSeconds / Double(count) * 1e6)) µs of this thread's processor time")
    }
}
