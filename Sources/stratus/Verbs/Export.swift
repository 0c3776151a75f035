// stratus export: a whole store as lines of JSON.

import ArgumentParser
import Foundation
import StratusCloud
import StratusModel
import StratusRecords

struct Export: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Writes a whole store as lines of JSON, assets included, for 'stratus import'.",
        discussion: """
            Accounts, devices, schemas, zones, records with their dates and authors, shares with those who take part, \
            contents of assets (base 64, in parts of 48 KiB) and subscriptions, in an order that depends on nothing else: \
            what was imported from an export exports to the same bytes.

            Left out, because it is the history of this store and no other's: change tags, change tokens and deletions, the \
            trail of shares, notifications that wait, long-lived operations. Secrets of share URLs are left out too, and an \
            import draws new ones, unless --secrets asks for them: keep such a file as you keep the store.

            --json: {"file","secrets","accounts","zones","records","contents","milliseconds"}, on standard error where the \
            export goes to standard output.

            A content that is missing or damaged fails the export, and no file is made: 'stratus verify' names each of them.

            Example: stratus export ./store.jsonl --store ./store
            """)

    @Argument(
        help: ArgumentHelp("The file to make, or '-' for standard output.", valueName: "file"), completion: .file())
    var file: String

    @Flag(help: "Write the secrets of share URLs too, so that URLs that people have go on working.")
    var secrets = false

    @OptionGroup var store: WholeStoreArguments

    func run() throws {
        let console = Console(usesJSON: store.json)
        let clock = ContinuousClock()
        let started = clock.now
        let output = try LineWriter(path: file)
        let counts: TransferCounts
        do {
            counts = try StoreSession.with(store, .readingAssetsAsClient) { session in
                let progress = ProgressLine("exporting lines", total: nil, on: console)
                defer { progress.finish() }
                // What was written to a pipe cannot be taken back.
                if file == "-" { try Self.requireWholeContents(session) }
                var exporter = StoreExporter(
                    try session.service, secrets: secrets, progress: { progress.update($0, of: $1) },
                    { try output.write(JSONValue.object($0).text) })
                try exporter.run()
                try output.finish()
                return exporter.counts
            }
        } catch {
            output.discard()
            throw error
        }
        var object: JSONObject = ["file": .string(file), "secrets": .boolean(secrets)]
        for (key, value) in counts.object.members { object.add(key, value) }
        object.add("milliseconds", Quantities.milliseconds(clock.now - started))
        if file == "-" {
            console.note(store.json ? JSONValue.object(object).text : "exported \(counts.text)")
        } else {
            try console.line("exported \(counts.text) to \(VisibleText.of(file))")
            try console.object(object)
        }
        try console.flush()
    }
}

extension Export {
    /// Throws `corruption` where a content is missing or damaged.
    private static func requireWholeContents(_ session: StoreSession) throws {
        let report = try AssetVerifier(engine: session.engine, store: session.assets).verify()
        guard let damage = report.findings.first(where: { [.missing, .damaged].contains($0.kind) }) else { return }
        throw RecordsError(
            .corruption,
            "The store cannot be exported: 'stratus verify' names all contents that are missing or damaged.",
            ["first": "\(damage)"])
    }
}

/// Writes lines to a file of its own, or to standard output.
final class LineWriter {
    private static let bufferByteCount = 256 << 10

    private let path: String
    /// Nil for standard output.
    private let draft: DraftFile?
    private var buffer: [UInt8] = []

    /// Throws `refused` where something is there already, or where the file cannot be made.
    init(path: String) throws {
        self.path = path
        guard path != "-" else {
            draft = nil
            return
        }
        try StorePath.requireOutside(path)
        do {
            if (try? Disk.facts(of: Array(path.utf8))) != nil { throw FileError(number: FileError.alreadyThere) }
            draft = try DraftFile(for: path, toldAs: path)
        } catch let error as FileError { throw TextFile.refused(path, error) }
    }

    func write(_ line: String) throws {
        buffer.append(contentsOf: line.utf8)
        buffer.append(UInt8(ascii: "\n"))
        if buffer.count >= Self.bufferByteCount { try flush() }
    }

    /// The file is there when this returns, whole and on the disk. Never returns where a signal has taken it away.
    func finish() throws {
        try flush()
        do {
            try draft?.finish(replacing: false)
        } catch let error as FileError {
            throw error.number == FileError.alreadyThere ? TextFile.refused(path, error) : failed(error.reason)
        }
    }

    /// Takes an unfinished file away.
    func discard() { draft?.discard() }

    private func flush() throws {
        do {
            if let draft { try draft.write(buffer) } else { try FileHandle.standardOutput.write(contentsOf: buffer) }
        } catch let error as FileError {
            throw failed(error.reason)
        } catch {
            throw failed(error.localizedDescription)
        }
        buffer.removeAll(keepingCapacity: true)
    }

    private func failed(_ reason: String) -> ToolError {
        ToolError(
            .outputFailed, "The output cannot be written: send it where there is room.",
            ["file": path, "reason": reason])
    }
}
