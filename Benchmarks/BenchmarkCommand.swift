// The benchmarks' command line. Times are compared in one process, contestants in alternation; see Docs/BENCHMARKS.md.

import ArgumentParser
import Foundation
import StratusLevelDB
import StratusRecords
import StratusWorkloads

@main
struct BenchmarkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stratus-benchmarks",
        abstract: "Measures Stratus beside SQLite, raw LevelDB and SQL tables.",
        discussion: "Exits with 1 when a bar is missed.",
        subcommands: [
            RunCommand.self, ProfileCommand.self, TuneCommand.self, OpenStoresCommand.self, HostCommand.self,
        ],
        defaultSubcommand: RunCommand.self)
}

struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Runs the workloads and prints their table.")

    @Option(help: "Records of the main zone.")
    var records = 1_000_000

    @Flag(help: "A small run of 50,000 records, for a first look.")
    var quick = false

    @Option(
        help: """
            Only these workloads, separated by commas: W3,W6. W1 always runs, because it loads the data, unless there are \
            only workloads on the face (F1 to F6) and on PostgreSQL (P1 to P7).
            """)
    var only: String?

    @Option(help: "The folder for the table as JSON and Markdown and for the plots; nothing is written without it.")
    var results: String?

    @Option(help: "The write buffer of Stratus and raw LevelDB in MiB, instead of the default.")
    var writeBuffer: Int?

    @Option(help: "The restart interval of Stratus and raw LevelDB in entries, instead of the default.")
    var restartInterval: Int?

    @Option(help: "The size of SQLite's pages in bytes.")
    var pageSize = 4_096

    @Flag(help: "LMDB and RocksDB take part, without bars. Their loads take long.")
    var references = false

    @Option(help: "An empty folder for the stores, on the disk to be measured; it is emptied afterwards.")
    var scratch: String?

    func validate() throws {
        guard records >= 10_000 else { throw ValidationError("The data set needs at least 10,000 records.") }
    }

    func run() throws {
        let scale = Scale(recordCount: quick ? 50_000 : records)
        let folder =
            scratch ?? NSTemporaryDirectory() + "stratus-benchmarks-\(ProcessInfo.processInfo.processIdentifier)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var options = LevelDBOptions(formatVersion: StoreFormat.number)
        if let writeBuffer { options.writeBufferByteCount = writeBuffer << 20 }
        if let restartInterval { options.blockRestartInterval = restartInterval }
        let run = try BenchmarkRun(
            scale: scale, folder: folder, options: options, pageByteCount: pageSize, hasReferences: references)
        let chosen = only.map { Set($0.split(separator: ",").map { $0.uppercased() }) }
        let start = ContinuousClock.now
        var wanted = Workloads.all.filter { workload in
            let names = [workload.name] + workload.partNames
            return chosen.map { !$0.isDisjoint(with: names.map { $0.uppercased() }) } ?? true
        }
        if chosen == nil, !PostgresBench.isServerThere {
            Progress.say("There is no PostgreSQL: P1 to P7 are left out.")
            wanted.removeAll { $0 is any PostgresWorkload.Type }
        }
        let needsMainZone = wanted.contains { $0.needsMainZone }
        let workloads = Workloads.all.filter { workload in
            wanted.contains { $0 == workload } || needsMainZone && workload == LoadWorkload.self
                || workload == IndexBuildingWorkload.self && wanted.contains { $0 is any QueryWorkload.Type }
        }
        let ownCount = wanted.contains { $0 is any FaceWorkload.Type } ? scale.faceCount : scale.postgresCount
        var report = Report(run, recordCount: 0, minutes: 0, notRun: [])
        for (index, workload) in workloads.enumerated() {
            Progress.say("\(workload.name): \(workload.title)")
            try workload.run(run)
            report = Report(
                run, recordCount: needsMainZone ? scale.recordCount : ownCount,
                minutes: start.duration(to: .now).inSeconds / 60,
                notRun: workloads[(index + 1)...].map { $0.name })
            // A run of hours that is cut off leaves what it has found.
            if let results { try report.write(to: results) }
        }
        run.stratus.close()
        try run.closeFace()
        try run.removePostgres()
        print(report.table)
        guard report.missed.isEmpty else {
            Progress.say("\(report.missed.count) bars missed")
            throw ExitCode(1)
        }
    }
}

/// The process of `OpenMeasurement`.
struct OpenStoresCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "open-stores", abstract: "Opens the stores of a run and prints what that cost.",
        shouldDisplay: false)

    @Argument var contestant: OpenMeasurement.Contestant
    @Argument var task: String

    func run() throws {
        let answer = try OpenMeasurement(contestant, JSONDecoder().decode(OpenTask.self, from: Data(task.utf8)))
        FileHandle.standardOutput.write(try JSONEncoder().encode(answer))
    }
}
