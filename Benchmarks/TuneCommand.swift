// What the settings of a store do: the same records loaded and fetched under each, ours alone, for the page on sizing.

import ArgumentParser
import Foundation
import StratusLevelDB
import StratusModel
import StratusRecords
import StratusWorkloads

struct TuneCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tune", abstract: "Loads and fetches the same records under different settings.",
        discussion: "Prints a table in Markdown. With 200,000 records it takes about two minutes.")

    @Option(help: "Records to load.")
    var records = 200_000

    @Option(help: "An empty folder for the stores, on the disk to be measured; it is emptied afterwards.")
    var scratch: String?

    /// A setting, and what it is called.
    private static let settings:
        [(name: String, change: @Sendable (inout LevelDBOptions, inout RecordEngineOptions) -> Void)] = [
            ("the defaults", { _, _ in }),
            ("write buffer 2 MiB", { store, _ in store.writeBufferByteCount = 2 << 20 }),
            ("write buffer 8 MiB", { store, _ in store.writeBufferByteCount = 8 << 20 }),
            ("write buffer 64 MiB", { store, _ in store.writeBufferByteCount = 64 << 20 }),
            ("files of 2 MiB", { store, _ in store.fileByteCount = 2 << 20 }),
            ("files of 32 MiB", { store, _ in store.fileByteCount = 32 << 20 }),
            ("blocks of 1 KiB", { store, _ in store.blockByteCount = 1 << 10 }),
            ("blocks of 16 KiB", { store, _ in store.blockByteCount = 16 << 10 }),
            ("no compression", { store, _ in store.compression = .none }),
            ("block cache 8 MiB", { store, _ in store.blockCacheByteCount = 8 << 20 }),
            ("block cache 256 MiB", { store, _ in store.blockCacheByteCount = 256 << 20 }),
            ("nothing kept", { store, _ in store.keptByteCount = 0 }),
            ("names of new zones looked up", { store, _ in store.freshByteCount = 0 }),
            ("no ancestor cache", { _, engine in engine.ancestorCacheByteCount = 0 }),
            ("no Bloom filters", { store, _ in store.bloomFilterBitsPerKey = 0 }),
            ("syncs before the insertion", { store, _ in store.backgroundSyncByteCount = .max }),
            ("commits not synced", { store, _ in store.syncsCommits = false }),
        ]

    func run() throws {
        let folder = scratch ?? NSTemporaryDirectory() + "stratus-tune-\(ProcessInfo.processInfo.processIdentifier)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let data = MainZoneData(count: records)
        let columns = [
            "setting", "load, records/s", "written, bytes/record", "on disk, bytes/record", "open, ms",
            "fetch, first, µs",
            "fetch, again, µs", "share, µs",
        ]
        print("| " + columns.joined(separator: " | ") + " |")
        print("|" + String(repeating: " --- |", count: columns.count))
        for setting in Self.settings {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            let figures = try measure(data, folder + "/store", setting.change)
            print("| " + ([setting.name] + figures.map(Figure.text)).joined(separator: " | ") + " |")
            try FileManager.default.removeItem(atPath: folder)
        }
    }

    private func measure(
        _ data: MainZoneData, _ path: String, _ change: (inout LevelDBOptions, inout RecordEngineOptions) -> Void
    ) throws -> [Double] {
        var options = LevelDBOptions(formatVersion: StoreFormat.number)
        var engineOptions = RecordEngineOptions()
        change(&options, &engineOptions)
        let written = ProcessFiles.writtenByteCount() ?? 0
        var stratus = try StratusSide(at: path, options: options, engineOptions: engineOptions)
        let loading = try Stopwatch.seconds { try stratus.load(data.zone, into: StratusSide.mainZone) }
        try WritingWorkload.rest { try stratus.store.figures().statisticsText }
        let writtenEach = Double((ProcessFiles.writtenByteCount() ?? 0) - written) / Double(records)
        let size = Double(ProcessFiles.byteCount(at: path)) / Double(records)
        stratus.close()
        // A store that was closed while compactions were behind has a log: it becomes a table once.
        try StratusSide(at: path, options: options, engineOptions: engineOptions).close()
        var openings: [Double] = []
        for _ in 0..<Stopwatch.roundCount {
            openings.append(
                try Stopwatch.seconds {
                    stratus = try StratusSide(at: path, options: options, engineOptions: engineOptions)
                })
            stratus.close()
        }
        stratus = try StratusSide(at: path, options: options, engineOptions: engineOptions)
        defer { stratus.close() }
        var random = SeededNumbers(seed: 5)
        let names = (0..<20_000).map { _ in data.zone.names[random.below(records)] }
        let few = Array(names.prefix(500))
        let first = try Stopwatch.seconds { try StratusSide.fetch(stratus.engine, names) } / Double(names.count)
        try StratusSide.fetch(stratus.engine, few)
        let again = try Stopwatch.secondsEach(few.count) { try StratusSide.fetch(stratus.engine, few) }
        try StratusSide.askShares(stratus.engine, few)
        let share = try Stopwatch.secondsEach(few.count) { try StratusSide.askShares(stratus.engine, few) }
        return [
            Double(records) / loading, writtenEach, size, Stopwatch.median(openings) * 1e3, first * 1e6, again * 1e6,
            share * 1e6,
        ]
    }
}
