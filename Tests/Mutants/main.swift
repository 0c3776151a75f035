// Plants all faults of Tests/Mutants/*.txt in a copy of the package, builds its tests once, and runs for each fault the
// tests that must fail. `scripts/mutants` compiles it with the reader of the definitions (Tests/TidyTests/Reading).
//
// A fault is caught when its tests fail, trap, or do not end within two minutes. With no fault all of them must pass.
// What each run printed is in .build/mutants/runs. JOBS=1 runs one after the other.

import Foundation

let scratch = ".build/mutants"
/// Linked into every program that holds code of the products.
let switchFile = "Sources/CLogSync/Mutants.c"
let switchCode = """
    #include <stdbool.h>
    #include <stdlib.h>

    static int stratus_mutant_number;

    __attribute__((constructor(101))) static void stratus_read_mutant(void) {
        const char *number = getenv("STRATUS_MUTANT");
        if (number) stratus_mutant_number = atoi(number);
    }

    bool stratus_mutant(int number) { return number == stratus_mutant_number; }

    """
let switchDeclaration = """

    @_silgen_name("stratus_mutant")
    private func mutant(_ number: CInt) -> Bool

    """
let timeLimitSeconds = 120
let leastCaughtPercent = 95

func fail(_ lines: [String]) -> Never {
    for line in lines { say("mutants: \(line)") }
    exit(2)
}

/// Runs a command to its end. What it prints is returned, unless it `isShown`.
func run(
    _ command: [String], _ variables: [String: String] = [:], isShown: Bool = false
) -> (output: String, status: Int32) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = command
    process.environment = ProcessInfo.processInfo.environment.merging(variables) { $1 }
    let pipe = Pipe()
    if !isShown { process.standardOutput = pipe }
    do { try process.run() } catch { fail(["\(command[0]) cannot be started: \(error)"]) }
    let output = isShown ? Data() : pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return (String(decoding: output, as: UTF8.self), process.terminationStatus)
}

/// Prints immediately, so that the last line is visible while the next one is awaited.
func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }

func text(_ path: String) -> String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }

// MARK: The copy

/// Writes only what has changed, so that the next build is incremental.
func write(_ data: Data, _ path: String) throws {
    let url = URL(fileURLWithPath: "\(scratch)/\(path)")
    if (try? Data(contentsOf: url)) == data { return }
    try FileManager.default.createDirectory(
        at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try data.write(to: url)
}

func copy(_ paths: [String], planting faults: [PlantedFault]) throws {
    let byFile = Dictionary(grouping: faults, by: \.file)
    var findings: [Finding] = []
    let files = FileManager.default
    for path in paths where files.fileExists(atPath: path) {
        if let target = try? files.destinationOfSymbolicLink(atPath: path) {
            let link = "\(scratch)/\(path)"
            if (try? files.destinationOfSymbolicLink(atPath: link)) == target { continue }
            let folder = URL(fileURLWithPath: link).deletingLastPathComponent()
            try files.createDirectory(at: folder, withIntermediateDirectories: true)
            try? files.removeItem(atPath: link)
            try files.createSymbolicLink(atPath: link, withDestinationPath: target)
        } else if let own = byFile[path] {
            let result = PlantedFault.plant(own, in: text(path))
            findings += result.findings
            // Inlinable code can only call what other modules see.
            let planted = result.text.replacingOccurrences(of: "@inlinable ", with: "")
            try write(Data((planted + switchDeclaration).utf8), path)
        } else {
            try write(Data(contentsOf: URL(fileURLWithPath: path)), path)
            let mode = try files.attributesOfItem(atPath: path)[.posixPermissions]
            try files.setAttributes([.posixPermissions: mode ?? 0o644], ofItemAtPath: "\(scratch)/\(path)")
        }
    }
    if !findings.isEmpty { fail(findings.map(\.description)) }
    try write(Data(switchCode.utf8), switchFile)
    let kept = Set(paths + [switchFile])
    for folder in Set(paths.compactMap { $0.contains("/") ? String($0.prefix { $0 != "/" }) : nil }) {
        for case let inside as String in files.enumerator(atPath: "\(scratch)/\(folder)") ?? .init() {
            let path = "\(folder)/\(inside)"
            var isFolder: ObjCBool = false
            guard files.fileExists(atPath: "\(scratch)/\(path)", isDirectory: &isFolder), !isFolder.boolValue else {
                continue
            }
            if !kept.contains(path) { try files.removeItem(atPath: "\(scratch)/\(path)") }
        }
    }
}

// MARK: The tests

/// The name of a test as the runner's filter: `Suite/function` or `Suite`.
func filter(_ tests: [String]) -> String {
    tests.map { $0.contains("/") ? "[./]\($0)\\(" : "[./]\($0)/" }.joined(separator: "|")
}

/// A run of tests that was begun, and where it writes.
struct TestRun {
    let process = Process()
    let folder: String
    let log: String

    /// With no fault on, where it is nil.
    init(_ tests: [String], fault: Int?) {
        let name = fault.map(String.init) ?? "none"
        log = "\(scratch)/runs/\(name).log"
        // A short path: sockets lie in it.
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("mutant-\(getpid())-\(name)").path
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "timeout", "--kill-after=5", "\(timeLimitSeconds * (fault == nil ? 10 : 1))", tester,
            "--testing-library", "swift-testing", "--experimental-maximum-parallelization-width", "16",
            "--filter", filter(tests),
        ]
        process.environment = ProcessInfo.processInfo.environment.merging([
            "STRATUS_MUTANT": fault.map(String.init) ?? "", "TMPDIR": folder, "SWIFT_BACKTRACE": "enable=no",
        ]) { $1 }
    }

    func begin() throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        guard FileManager.default.createFile(atPath: log, contents: nil), let file = FileHandle(forWritingAtPath: log)
        else { fail(["\(log) cannot be written"]) }
        (process.standardOutput, process.standardError) = (file, file)
        try process.run()
    }

    /// Waits for the end. The status is that of `timeout`: 124 for too late, 128 and more for a signal.
    func end() -> (output: String, status: Int32) {
        process.waitUntilExit()
        try? FileManager.default.removeItem(atPath: folder)
        // Tests print bytes, too.
        let output = (try? Data(contentsOf: URL(fileURLWithPath: log))).map { String(decoding: $0, as: UTF8.self) }
        return (output ?? "", process.terminationStatus)
    }
}

let tester: String
let folder = "Tests/Mutants"
let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
let read = names.sorted().filter { $0.hasSuffix(".txt") }
    .map { PlantedFault.definitions(in: text("\(folder)/\($0)"), path: "\(folder)/\($0)") }
let broken = read.flatMap(\.findings).map(\.description)
if !broken.isEmpty { fail(broken) }
let faults = read.flatMap(\.faults)
let settings = ProcessInfo.processInfo.environment
let jobCount = max(1, settings["JOBS"].flatMap { Int($0) } ?? 2)
let numbers = (settings["NUMBERS"] ?? "").split(separator: " ").map(String.init)
let unknown = numbers.filter { number in !faults.contains { "\($0.number)" == number } }
if !unknown.isEmpty {
    fail(["no fault has these numbers, which NUMBERS separates by spaces: \(unknown.joined(separator: ", "))"])
}
let chosen = faults.filter { numbers.isEmpty || numbers.contains("\($0.number)") }

let tracked = run(["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"])
guard tracked.status == 0 else { fail(["the list of files comes from git, which has failed"]) }
try copy(tracked.output.split(separator: "\0").map(String.init) + ["Package.resolved"], planting: faults)

say("Building the tests with \(faults.count) faults in \(scratch).")
let optimised = ["STRATUS_OPTIMISED_TESTS": "1"]
let lean = ["--disable-index-store", "-debug-info-format", "none"]
let built = run(["swift", "build", "--build-tests", "--package-path", scratch] + lean, optimised, isShown: true)
guard built.status == 0 else { fail(["the copy does not build: see above"]) }
let products = run(["swift", "build", "--show-bin-path", "--package-path", scratch], optimised).output
tester = products.split(separator: "\n").last.map { "\($0)/stratusPackageTests.xctest" } ?? ""

let known = run([tester, "--testing-library", "swift-testing", "--list-tests"]).output.split(separator: "\n")
let missing = chosen.flatMap { fault in
    fault.tests.filter { name in
        !known.contains { id in
            ["." + name, "/" + name].contains { id.contains($0 + (name.contains("/") ? "(" : "/")) }
        }
    }.map { fault.finding("there is no test '\($0)'").description }
}
if !missing.isEmpty { fail(missing) }

try FileManager.default.createDirectory(atPath: "\(scratch)/runs", withIntermediateDirectories: true)
let clean = TestRun(Set(chosen.flatMap(\.tests)).sorted(), fault: nil)
try clean.begin()
let cleanEnd = clean.end()
let lines = cleanEnd.output.split(separator: "\n")
guard cleanEnd.status == 0 else {
    fail(["a test fails without any fault:"] + lines.filter { $0.contains("✘") }.map(String.init))
}
say(lines.last { $0.contains("Test run with") }.map(String.init) ?? "")

/// How a run ended, in words.
func verdict(_ status: Int32) -> String {
    switch status {
    case 0: "survived"
    case 124, 137: "caught: the tests did not end"
    case 128...: "caught: a trap"
    default: "caught"
    }
}

var survivors: [PlantedFault] = []
var waiting = chosen[...]
var running: [(fault: PlantedFault, run: TestRun)] = []
while !waiting.isEmpty || !running.isEmpty {
    while running.count < jobCount, let fault = waiting.popFirst() {
        let run = TestRun(fault.tests, fault: fault.number)
        try run.begin()
        running.append((fault, run))
    }
    let (fault, run) = running.removeFirst()
    let status = run.end().status
    if status == 0 { survivors.append(fault) }
    say("\(fault.number)\t\(verdict(status))\t\(fault.sentence)")
}
if !survivors.isEmpty { say("\nSurvivors:") }
for fault in survivors {
    say("\(fault.number)\t\(fault.file)\t\(fault.tests.joined(separator: ", "))\n\t\(fault.sentence)")
}
let caughtCount = chosen.count - survivors.count
say("\(caughtCount) of \(chosen.count) caught")
exit(caughtCount * 100 >= chosen.count * leastCaughtPercent ? 0 : 1)
