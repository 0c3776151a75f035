// A host of a store on a server in a process of its own, which saves when the benchmark says so. Both talk in lines of
// JSON over pipes.

import ArgumentParser
import Foundation
import StratusCloud
import StratusModel
import StratusStore
import StratusWorkloads

/// What a host saves: one record at a time, by callers that are threads.
struct HostTask: Codable {
    var callerCount: Int
    var savesEach: Int
    /// The account of each caller, which saves into a zone of its own. Without accounts all save into the main zone.
    var owners: [String] = []
}

/// What came of it.
struct HostAnswer: Codable {
    /// Seconds of each save.
    var saves: [Double]
    var conflicts: Int
}

/// The benchmark's side.
final class HostProcess {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var received = Data()

    /// Starts a host of the store at an address, and waits until it is open. Its records have numbers from `first` on.
    init(url: String, first: Int) throws {
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = ["host", url, "\(first)"]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        _ = try line()
    }

    func start(_ task: HostTask) throws {
        input.fileHandleForWriting.write(try JSONEncoder().encode(task) + Data([Self.newline]))
    }

    /// Waits for the answer to what was started.
    func answer() throws -> HostAnswer { try JSONDecoder().decode(HostAnswer.self, from: line()) }

    func stop() {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    private func line() throws -> Data {
        while true {
            if let end = received.firstIndex(of: Self.newline) {
                defer { received = Data(received[(end + 1)...]) }
                return Data(received[..<end])
            }
            let more = output.fileHandleForReading.availableData
            guard !more.isEmpty else { throw PeerError("The process of a host has ended: see the output above.") }
            received += more
        }
    }

    static let newline = UInt8(ascii: "\n")
}

/// The host's side.
struct HostCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "host", abstract: "Saves into the store at an address when it reads a line.", shouldDisplay: false)

    /// The zone of each account that saves alone.
    static let ownZone = ZoneAddress(zoneName: "own")

    @Argument var url: String
    @Argument var first: Int

    func run() throws {
        let host = try ServedStore(url: url)
        defer { host.store.close() }
        let numbers = NumberSource(after: first)
        say(Data("open".utf8))
        while let line = readLine() {
            let task = try JSONDecoder().decode(HostTask.self, from: Data(line.utf8))
            say(try JSONEncoder().encode(Self.save(task, host, numbers)))
        }
    }

    private func say(_ line: Data) { FileHandle.standardOutput.write(line + Data([HostProcess.newline])) }

    private static func save(_ task: HostTask, _ host: ServedStore, _ numbers: NumberSource) throws -> HostAnswer {
        let owners = try task.owners.map { try host.server.guest($0).caller }
        let zone = owners.isEmpty ? PostgresBench.zone : ownZone
        let before = host.store.statistics.conflicts
        let latencies = Latencies()
        _ = try Callers.rate(task.callerCount, timesEach: task.savesEach) { number in
            let item = numbers.next()
            let owner = owners.isEmpty ? nil : owners[number / task.savesEach]
            let seconds = try Stopwatch.seconds {
                try host.server.save([ServerSide.save(item.record.name, item.content, in: zone)], as: owner)
            }
            latencies.add([seconds])
        }
        return HostAnswer(saves: latencies.all, conflicts: host.store.statistics.conflicts - before)
    }
}
