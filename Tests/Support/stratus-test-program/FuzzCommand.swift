// The fuzzer's command line. A trap of the decoder ends the process: the last line printed says where to look.

import ArgumentParser
import Foundation
import StratusTestSupport

/// The fuzzer.
struct FuzzCommand: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: commandName, abstract: "Feed damaged bytes to a decoder.", discussion: discussion)
    }

    private static let commandName = "stratus-test-program fuzz"
    private static let targets = FuzzTarget.all + [.archive]

    private static var discussion: String {
        """
        Iteration N of a seed is always the same input. After a trap, run again with --seed, with --from and the \
        last iteration printed, and with --trace; the last line is then the input that traps. --only repeats it.

        Example: \(Self.commandName) \(targets[0].name) --executions 1000000
        """
    }

    /// How many iterations there are between two lines of output.
    private static var blockCount: Int { 50_000 }

    @Argument(help: "What to fuzz: \(Self.targets.map(\.name).joined(separator: ", ")).")
    var target: String

    @Option(help: "How many inputs to try.")
    var executions = 1_000_000

    @Option(help: "The seed of the run; without it, a new one is drawn and printed.")
    var seed: UInt64?

    @Option(help: "The iteration to begin with.")
    var from = 0

    @Option(help: "Run this iteration alone, and print its input.")
    var only: Int?

    @Flag(help: "Print every iteration and its input before it runs.")
    var trace = false

    /// The order of dictionaries, and so of the objects in archives, depends on Swift's hashing: only with this setting
    /// does a seed mean the same inputs again.
    private static var command: String {
        let setting = "SWIFT_DETERMINISTIC_HASHING"
        return (ProcessInfo.processInfo.environment[setting].map { "\(setting)=\($0) " } ?? "") + commandName
    }

    func validate() throws {
        guard executions > 0, from >= 0, (only ?? 0) >= 0, from <= Int.max - executions, only != Int.max else {
            throw ValidationError(
                "--executions must be positive, --from and --only not negative, and none astronomical.")
        }
    }

    func run() throws {
        guard let chosen = Self.targets.first(where: { $0.name == target }) else {
            throw ValidationError("There is no target '\(target)': see --help for those there are.")
        }
        let seed = seed ?? UInt64.random(in: 0...UInt64(Int64.max))
        let range = only.map { $0..<$0 + 1 } ?? from..<from + executions
        say("\(target): seed \(seed), iterations \(range.lowerBound)..<\(range.upperBound)")
        say("after a trap: \(Self.command) \(target) --seed \(seed) --from LAST --trace")
        try execute(FuzzRun(chosen, seed: seed), range, seed: seed)
    }

    private func execute(_ run: FuzzRun, _ range: Range<Int>, seed: UInt64) throws {
        let clock = ContinuousClock()
        let start = clock.now
        var acceptedCount = 0
        var refusedCount = 0
        for lower in stride(from: range.lowerBound, to: range.upperBound, by: Self.blockCount) {
            let block = lower..<min(range.upperBound, lower + Self.blockCount)
            say("iteration \(lower): \(acceptedCount) accepted, \(refusedCount) refused so far")
            let report = run.execute(
                block, willExecute: trace || only != nil ? { say("iteration \($0): \(hexadecimal($1))") } : nil)
            acceptedCount += report.acceptedCount
            refusedCount += report.refusedCount
            if let violation = report.violation {
                say("iteration \(violation.iteration): \(violation.message)")
                say("input: \(hexadecimal(violation.input))")
                say("repeat: \(Self.command) \(target) --seed \(seed) --only \(violation.iteration)")
                throw ExitCode.failure
            }
        }
        let duration = start.duration(to: clock.now)
        let seconds = Double(duration.components.seconds) + Double(duration.components.attoseconds) * 1e-18
        say("\(range.count) executions in \(Int(seconds * 1_000)) ms: \(Int(Double(range.count) / seconds)) per second")
        say("\(acceptedCount) accepted, \(refusedCount) refused, no trap, no violation")
        // A run that reaches only one side of the decoder proves nothing about it.
        if range.count >= Self.blockCount, acceptedCount == 0 || refusedCount == 0 {
            say(
                "The inputs do not reach the decoder: all were accepted, or all refused. Repair the target's valid inputs."
            )
            throw ExitCode.failure
        }
    }

    /// Prints a line at once: a trap loses what is buffered.
    private func say(_ line: String) {
        FileHandle.standardError.write(Data((line + "\n").utf8))
    }

    private func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
