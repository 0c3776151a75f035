// stratus export: writes a whole store as lines of JSON.

import ArgumentParser
import Foundation
import StratusCloud
import StratusRecords
import StratusStore

struct Export: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Writes a whole store, including assets, as lines of JSON for 'stratus import'.",
        discussion: """
            The export contains accounts, devices, schemas, zones, records with their dates and authors, shares with \
            their participants, asset contents (base 64, in parts of 48 KiB) and subscriptions. The order is fixed: a \
            store imported from an export exports to the same bytes.

            The export leaves out the history of this store: change tags, change tokens, deletions, share events, \
            pending notifications and long-lived operations. It leaves out the secrets of share URLs too, and an \
            import creates new ones. With --secrets it includes them: protect such a file like the store.

            --json: {"file","secrets","accounts","zones","records","contents","milliseconds"}; on standard error if \
            the export goes to standard output.

            If an asset's content is missing or damaged, the export fails and creates no file: 'stratus verify' names \
            every such asset.

            Example: stratus export ./store.jsonl --store ./store
            """)

    @Argument(
        help: ArgumentHelp("The file to create, or '-' for standard output.", valueName: "file"), completion: .file())
    var file: String

    @Flag(help: "Include the secrets of share URLs, so that existing URLs keep working.")
    var secrets = false

    @OptionGroup var store: WholeStoreArguments

    func run() throws {
        let console = Console(usesJSON: store.json)
        let started = ContinuousClock.now
        let output = try LineWriter(path: file)
        let counts = try StoreSession.with(store, .readingAssetsAsClient) { session in
            let progress = ProgressLine("exporting lines", on: console)
            // Nothing that was written to a pipe can be removed again.
            if file == "-" { try Self.requireWholeContents(session) }
            var exporter = StoreExporter(
                try session.service, secrets: secrets, progress: { progress.update($0, of: $1) },
                { try output.write($0.jsonText) })
            try exporter.run()
            try output.finish()
            return exporter.counts
        }
        let object: JSONObject =
            ["file": file, "secrets": secrets] + counts.object
            + ["milliseconds": Quantities.milliseconds(.now - started)]
        if file == "-" {
            Console.note(store.json ? object.jsonText : "exported \(counts.text)")
        } else {
            try console.line("exported \(counts.text) to \(VisibleText.of(file))")
            try console.object(object)
        }
        try console.flush()
    }

    /// Throws `corruption` if the content of an asset is missing or damaged.
    private static func requireWholeContents(_ session: StoreSession) throws {
        let report = try AssetVerifier(engine: session.engine, store: session.assets).verify()
        guard let damage = report.findings.first(where: { [.missing, .damaged].contains($0.kind) }) else { return }
        throw StoreError(
            .corruption,
            "The store cannot be exported: contents of assets are missing or damaged. 'stratus verify' names them.",
            ["first": "\(damage)"])
    }
}

/// Writes lines to a new file, which is removed unless it is finished, or to standard output.
final class LineWriter {
    private static let bufferByteCount = 256 << 10

    private let path: String
    /// Nil for standard output.
    private let draft: DraftFile?
    private var buffer: [UInt8] = []

    /// Throws `refused` if something exists at the path, or if the file cannot be created.
    init(path: String) throws {
        self.path = path
        guard path != "-" else {
            draft = nil
            return
        }
        try StorePath.requireOutside(path)
        do {
            if (try? Disk.facts(of: path)) != nil { throw FileError(number: EEXIST) }
            draft = try DraftFile(for: path, notedAs: path)
        } catch let error as FileError { throw TextFile.refused(path, error) }
    }

    func write(_ line: String) throws {
        buffer.append(contentsOf: line.utf8)
        buffer.append(UInt8(ascii: "\n"))
        if buffer.count >= Self.bufferByteCount { try flush() }
    }

    /// Gives the file its name. It is whole and on the disk when this returns. Never returns if a signal has removed
    /// it.
    func finish() throws {
        try flush()
        do {
            try draft?.finish(replacing: false)
        } catch let error as FileError {
            throw error.number == EEXIST ? TextFile.refused(path, error) : failed(error)
        }
    }

    private func flush() throws {
        do {
            if let draft { try draft.write(buffer) } else { try Console.write(Array(buffer)) }
        } catch let error as FileError {
            throw failed(error)
        }
        buffer.removeAll(keepingCapacity: true)
    }

    private func failed(_ error: FileError) -> ToolError {
        .outputFailed(["file": path, "reason": error.reason], isFull: error.isLackOfSpace)
    }
}
