// stratus import-tree: imports a directory tree as records.

import ArgumentParser
import FoundationEssentials

struct ImportTree: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import-tree",
        abstract: "Imports a directory tree: every folder, file and symbolic link becomes a record.",
        discussion: """
            The records have the types Folder, File and SymbolicLink, with the fields name, size, modified, mode, \
            sha256 (of small files) and target (of links). Links are not followed. Names that are not valid UTF-8 are \
            escaped as %XX; the field rawName keeps their bytes. Devices, pipes, unreadable folders and files that \
            vanish are counted and reported.

            Records are saved through CloudKit's API: 400 per CKModifyRecordsOperation, each one durable commit.

            A record's name is the path of its file, so a second run saves only what has changed on the disk, and \
            continues an interrupted run. A file counts as unchanged if its size and date are unchanged (--read-all \
            reads it anyway). Records that were moved within the store keep their place, and share roots stay share \
            roots. Records whose files are gone are reported; --delete deletes them.

            --json: {"records","folders","files","symbolicLinks","escapedNames","created","changed","unchanged",\
            "movedInStore","hashedFiles","hashedBytes","gone":{"count","examples"},"deleted","kept","problems":\
            {"vanished","unreadableFolder","unreadableFile","unreadableFacts","specialFile","keptType"},"cost":{…},\
            "recordsPerSecond"}

            Example: stratus import-tree /usr/share --store ./store
            """)

    @Argument(help: "The directory to import. Its name becomes the name of the top record.", completion: .directory)
    var directory: String

    @OptionGroup var store: StoreArguments
    @OptionGroup var zone: ZoneArguments

    @Option(name: .customLong("top"), help: ArgumentHelp("Another name for the top record.", valueName: "name"))
    var topName: String?

    @Option(
        parsing: .unconditional, help: ArgumentHelp("Hash files up to this size; 0 hashes none.", valueName: "bytes"))
    var hashLimit: Int64 = 64 << 10

    @Flag(help: "Also read files whose size and date have not changed.")
    var readAll = false

    @Flag(help: "Delete the records of files that are gone from the disk.")
    var delete = false

    @Flag(help: "Treat the directory as the same tree as before, although its path has changed.")
    var moved = false

    func validate() throws {
        if directory.isEmpty { throw ValidationError("The directory's path is empty: use '.' for the current one.") }
        if hashLimit < 0 { throw ValidationError("--hash-limit is negative: use 0 to hash no files.") }
        if let topName, topName.isEmpty || topName.contains("/") {
            throw ValidationError("--top must be one name without '/'.")
        }
    }

    func run() throws {
        var options = ImportOptions(path: directory, topName: topName)
        options.digestLimitByteCount = hashLimit == 0 ? -1 : hashLimit
        options.readsUnchangedFiles = readAll
        options.deletesGone = delete
        options.acceptsNewOrigin = moved
        // Check before creating a store.
        _ = try TreeImporter.walker(options)
        let total = try TreeImporter.count(options, Console(usesJSON: store.json))
        try StoreSession.with(store, .creatingAsClient) { session, console in
            var importer = try TreeImporter(session, zone: session.zone(zone), options: options)
            StopSignal.stopAtSafePoints()
            let (_, cost) = try StepCost.measuring(session) { try importer.run(total: total, console) }
            let report = importer.report
            let rate = Int(Double(report.recordCount) / max(0.000_001, Quantities.seconds(cost.duration)))
            for line in report.lines { try console.line(line) }
            try console.line("\(cost.summary), \(Quantities.count(rate)) records/s")
            try console.object(report.object + ["cost": cost.object, "recordsPerSecond": rate])
        }
    }
}
