// Imports a directory tree into a zone: every folder, file and symbolic link becomes a record below its folder's
// record.
//
//   1. Walk the tree; folders come before their contents.
//   2. Look up each batch in the store; hash small files whose size or date has changed.
//   3. Save the differences through CloudKit's API: 400 records per operation, which is one durable commit. Prepare the
//      next operation while one is running.
//   4. Find stored records without a file; delete them with --delete.
//   5. Fill the query indexes that the new types need.
//
// Invariants: an unchanged record is not written. A killed run is continued by the next one, which finds the saved
// records unchanged. Changes made in the store stay: moved records keep their place, and share roots their share.
// Memory is bounded by one batch and the walker's listings, not by the tree.

import StratusKit
import StratusModel
import StratusRecords

struct TreeImporter {
    let session: StoreSession
    let zone: ZoneID
    let options: ImportOptions
    let naming: TreeNaming
    private(set) var report = ImportReport()
    private let client: ZoneClient
    private let tally = SaveTally()
    private var pending: [CKRecord] = []
    /// Files that need no save.
    private var settledCount = 0
    private var digestBuffer = [UInt8](repeating: 0, count: 64 << 10)

    /// Throws `notFound` if the database's owner has no account.
    init(_ session: StoreSession, zone: ZoneID, options: ImportOptions) throws {
        self.session = session
        client = try session.client(of: zone)
        self.zone = zone
        self.options = options
        naming = TreeNaming(top: options.topName)
    }

    /// Imports the tree and shows the progress. `total` is the number of files.
    ///
    /// Throws `notFound` if the directory does not exist, `refused` if the zone has another directory's tree with this
    /// name, and the store's errors. Counts changes of the tree during the import, and never throws for them.
    mutating func run(total: Int, _ console: Console) throws {
        let progress = ProgressLine("importing", total: total, on: console)
        var walker = try Self.walker(options)
        try session.createZone(zone)
        try checkOrigin()
        var batch: [WalkedFile] = []
        while let item = walker.next() {
            switch item {
            case .file(let file): batch.append(file)
            case .problem(let problem, let path, let error):
                let name = PercentText.escaping(path)
                report.add(problem, problem == .vanished ? name : "\(name): \(error.reason)")
                settledCount += 1
            }
            if batch.count == options.commitRecordCount {
                try take(batch)
                batch.removeAll(keepingCapacity: true)
                progress.update(settledCount + tally.counts.sent)
            }
        }
        try take(batch)
        try savePending(atLeast: 1)
        try client.finish()
        report.createdCount += tally.counts.created
        report.changedCount += tally.counts.changed
        try lookForGone(console)
        try session.finishIndexes(console)
    }

    /// The number of files in the directory. Counting is much cheaper than importing.
    ///
    /// Throws `notFound` if it does not exist.
    static func count(_ options: ImportOptions, _ console: Console) throws -> Int {
        let progress = ProgressLine("counting files", on: console)
        var walker = try Self.walker(options)
        var count = 0
        while walker.next() != nil {
            count += 1
            progress.update(count)
        }
        return count
    }

    /// A walker over the directory.
    ///
    /// Throws `notFound` if it does not exist.
    static func walker(_ options: ImportOptions) throws -> TreeWalker {
        do throws(FileError) {
            return try TreeWalker(top: options.directory, name: options.topName)
        } catch {
            throw ToolError(
                error.isAbsence ? .notFound : .refused,
                "The directory cannot be imported: check its path and permissions.",
                ["directory": PercentText.escaping(options.directory), "reason": error.reason])
        }
    }

    private var originText: String { PercentText.escaping(options.directory) }

    /// Throws `refused` if the record of this name comes from another directory.
    private func checkOrigin() throws {
        let stored = try session.read(zone) { try $0.record(naming.top) }
        guard let record = stored?.record else { return }
        let origin = record.fields[TreeField.origin]?.value
        if origin == .string(originText) || (options.acceptsNewOrigin && origin != nil) { return }
        var fields = ["record": naming.top.text, "directory": originText, "zone": zone.name.text]
        if case .string(let text)? = origin { fields["importedFrom"] = text }
        throw ToolError(
            .refused,
            "The zone has a tree of this name from another directory: use --top for another name, or another --zone; if "
                + "it is the same tree with a new path, use --moved.", fields)
    }

    // MARK: 2. New files

    private mutating func take(_ batch: [WalkedFile]) throws {
        if batch.isEmpty { return }
        let names = batch.map { naming.name(of: $0.relativePath) }
        let stored = try session.read(zone) { zone in try names.map { try zone.record($0)?.record } }
        for (index, file) in batch.enumerated() {
            if StopSignal.isRequested { try stop() }
            try take(file, names[index], stored[index])
            try savePending(atLeast: options.commitRecordCount)
        }
    }

    /// Saves the files read so far, so that the next run need not read them again, and throws `interrupted`.
    private mutating func stop() throws {
        try savePending(atLeast: 1)
        try client.finish()
        try StopSignal.safePoint()
    }

    private mutating func take(_ file: WalkedFile, _ name: RecordName, _ stored: Record?) throws {
        guard let fields = fields(of: file, name, stored) else {
            settledCount += 1
            return
        }
        count(file)
        let natural = naming.parent(of: file.relativePath)
        let record = Record(
            name: name, type: FileRecord.type(of: file.facts.kind), parent: stored.map(\.parent) ?? natural,
            share: stored?.share, fields: fields)
        if let stored {
            if stored.parent != natural { report.movedInStoreCount += 1 }
            guard stored != record else {
                report.unchangedCount += 1
                settledCount += 1
                return
            }
            if stored.type != record.type { return try replace(stored, by: record) }
        } else {
            tally.expectNew(name.text)
        }
        pending.append(try CKRecord(record, changing: stored, in: client))
    }

    /// Replaces a record whose file has changed its type. CloudKit's API cannot change a type, so this writes below it
    /// and keeps the children and the share. Through another process it deletes and creates the record, unless the
    /// record has children or a share: then it keeps it.
    private mutating func replace(_ stored: Record, by record: Record) throws {
        guard session.served != nil else {
            try session.apply([.save(record)], in: zone)
            report.changedCount += 1
            settledCount += 1
            return
        }
        try savePending(atLeast: 1)
        try client.finish()
        let hasChildren = try session.read(zone) { try $0.child(record.name).hasChildren }
        guard !hasChildren, stored.share == nil else {
            report.add(.keptType, record.name.text)
            settledCount += 1
            return
        }
        try client.delete([record.name])
        pending.append(try CKRecord(record, changing: nil, in: client))
    }

    private mutating func count(_ file: WalkedFile) {
        switch file.facts.kind {
        case .folder: report.folderCount += 1
        case .file: report.fileCount += 1
        case .symbolicLink: report.symbolicLinkCount += 1
        case .special: break
        }
        if file.name.validText == nil { report.escapedNameCount += 1 }
    }

    /// The fields of a file's record, or nil if it has none: a special file, or one that has vanished.
    private mutating func fields(of file: WalkedFile, _ name: RecordName, _ stored: Record?) -> RecordFields? {
        var fields = FileRecord.fields(of: file)
        if naming.isCut(name) { fields[TreeField.path] = Field(.bytes(file.relativePath)) }
        do throws(FileError) {
            switch file.facts.kind {
            case .special:
                report.add(.specialFile, PercentText.escaping(file.relativePath))
                return nil
            case .folder:
                if file.relativePath.isEmpty { fields[TreeField.origin] = Field(.string(originText)) }
            case .symbolicLink:
                FileRecord.setTarget(try Disk.target(ofLink: path(of: file)), in: &fields)
            case .file:
                if let digest = try digest(of: file, fields, stored) {
                    fields[TreeField.sha256] = Field(.bytes(digest))
                }
            }
        } catch {
            let shown = PercentText.escaping(file.relativePath)
            if error.isAbsence || file.facts.kind == .symbolicLink {
                report.add(.vanished, shown)
                return nil
            }
            report.add(.unreadableFile, "\(shown): \(error.reason)")
        }
        return fields
    }

    private func path(of file: WalkedFile) -> [UInt8] { options.directory + [UInt8(ascii: "/")] + file.relativePath }

    /// The digest of a small file: the stored one if size and date are unchanged.
    private mutating func digest(
        of file: WalkedFile, _ fields: RecordFields, _ stored: Record?
    ) throws(FileError) -> [UInt8]? {
        guard file.facts.byteCount <= options.digestLimitByteCount else { return nil }
        if let stored, !options.readsUnchangedFiles, stored.type == TreeType.file,
            stored.fields[TreeField.size] == fields[TreeField.size],
            stored.fields[TreeField.modified] == fields[TreeField.modified],
            case .bytes(let digest)? = stored.fields[TreeField.sha256]?.value
        {
            return digest
        }
        let digest = try Disk.digest(
            of: path(of: file), atMost: options.digestLimitByteCount, buffer: &digestBuffer)
        if digest != nil {
            report.hashedFileCount += 1
            report.hashedByteCount += file.facts.byteCount
        }
        return digest
    }

    // MARK: 3. Saving

    private mutating func savePending(atLeast count: Int) throws {
        guard pending.count >= count, !pending.isEmpty else { return }
        try client.save(pending, tally)
        pending.removeAll(keepingCapacity: true)
    }

    // MARK: 4. Deleted files

    private mutating func lookForGone(_ console: Console) throws {
        let looking = ProgressLine("looking for deleted files", on: console)
        // A zone may hold more than this tree.
        let bound = try session.read(zone) { try $0.recordBound() }
        looking.update(0, ofAtMost: bound)
        var finder = GoneFinder(session, zone: zone, naming: naming, directory: options.directory)
        let limit = options.commitRecordCount
        while let names = try finder.next(limit: limit, progress: { looking.update($0, ofAtMost: bound) }) {
            try StopSignal.safePoint()
            for name in names { report.gone.add(name.text) }
            if options.deletesGone { report.deletedCount += try finder.delete(names) }
        }
        guard options.deletesGone else { return }
        let deleting = ProgressLine("deleting", on: console)
        report.deletedCount += try finder.deleteRest { deleting.update("postponed records", $0, of: $1) }
        report.keptCount = report.gone.count - report.deletedCount
    }
}
