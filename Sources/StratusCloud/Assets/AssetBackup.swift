// Copies the contents of assets to a backup, while other threads save, delete and collect; or to a store of another
// engine, where contents may be in the store (`StoredContents`).
//
//   1. `takeAll` copies every existing content.
//   2. The caller copies the records.
//   3. `takeNamed` copies the contents that the copied ledger names and that did not exist at step 1.
//   4. `finish` removes the contents that the copied ledger does not name.
//
// A content that the copied records name is missed only if it was created after 1 and collected before 3, because its
// record was created and deleted meanwhile. Then `takeNamed` returns it, and the caller starts over. A content never
// changes once it has its name, so the copy can share its bytes. Without step 1, `takeNamed` copies all of them.
//
// Between files, contents are linked or copied. If one side has them in the store, they are streamed: memory holds the
// parts of one commit. The names of the target's parts come from its ledger, so an interrupted copy finds what it has.
//
// The target says what it has; it is not kept in memory, because there may be many contents.

import StratusLayout
import StratusModel
package import StratusRecords
import StratusStore

/// A backup of the contents of assets. Calls block their thread.
package struct AssetBackup {
    private let source: AssetStore
    private let target: AssetStore
    private var madeDirectories: Set<String> = []
    /// Contents that were streamed and differ from their digests. The target does not have them.
    package private(set) var damaged: Set<AssetKey> = []
    /// The number of contents that were copied because the file system could not share them.
    package private(set) var copiedCount = 0

    /// The number of contents in the copy.
    package private(set) var contentCount = 0

    /// A backup from one place of assets to another, which no other instance uses yet.
    package init(from source: AssetStore, to target: AssetStore) {
        self.source = source
        self.target = target
    }

    /// Copies every content that exists now, from files to files. `progress` gets how many were copied, and the total.
    ///
    /// Throws `serviceUnavailable` if files cannot be read or written.
    package mutating func takeAll(progress: @escaping WorkMeter.Listener = { _, _ in }) throws {
        var count = 0
        try Self.visit(source) { _ in count += 1 }
        let meter = WorkMeter(total: count, progress)
        try Self.visit(source) {
            try take($0)
            meter.add()
        }
    }

    /// Copies the contents that the copied ledger names and the copy does not have. Returns those that the source no
    /// longer has. `progress` gets how many contents were checked, and the total.
    package mutating func takeNamed(
        in copy: RecordEngine, progress: @escaping WorkMeter.Listener = { _, _ in }
    ) throws -> Set<AssetKey> {
        var lost: Set<AssetKey> = []
        let total = try copy.read(.wholeStore) { try $0.entryCount(in: GlobalKeys.keyspace(.assets)) }
        let meter = WorkMeter(total: total, progress)
        let mayHaveContents = try target.stored.map { try !$0.contents.names(after: nil, limit: 1).isEmpty } ?? true
        try AssetLedger.visitPages(in: copy) { page in
            for (key, entry) in page {
                let isThere = try mayHaveContents && has(key, entry)
                if !isThere, try !take(key, entry) { lost.insert(key) }
                meter.add()
            }
        }
        return lost
    }

    /// Removes the contents that the copied ledger does not name, and makes the rest durable. `progress` gets how many
    /// contents were checked and folders made durable, and the total.
    package mutating func finish(
        with copy: RecordEngine, progress: @escaping WorkMeter.Listener = { _, _ in }
    ) throws {
        let meter = WorkMeter(total: contentCount + madeDirectories.count, progress)
        if let stored = target.stored { return try removeUnnamed(from: stored, by: copy, meter) }
        try copy.read { reader in
            try Self.visit(target) { key in
                meter.add()
                let name = GlobalKeys.asset(owner: key.owner, digest: key.digest)
                guard try reader.store.value(forKey: name) == nil else { return }
                try explaining { () throws(FileFailure) in
                    try target.files.removeFile(target.directory.file(of: key))
                }
                contentCount -= 1
            }
        }
        try explaining { () throws(FileFailure) in
            for directory in madeDirectories {
                try target.files.syncDirectory(directory)
                meter.add()
            }
        }
    }

    /// Copies a content that the copy does not have. Returns false if the source has none: the collector may have
    /// removed it meanwhile.
    private mutating func take(_ key: AssetKey, _ entry: AssetEntry) throws -> Bool {
        if let stored = target.stored { return try send(key, entry, to: stored) }
        guard source.stored != nil else { return try take(key) }
        try makeDirectories(for: key)
        return try write(key, entry)
    }

    /// Copies a file.
    @discardableResult
    private mutating func take(_ key: AssetKey) throws -> Bool {
        try makeDirectories(for: key)
        do throws(FileFailure) {
            if try target.files.linkOrCopy(source.directory.file(of: key), to: target.directory.file(of: key)) {
                copiedCount += 1
            }
            contentCount += 1
            return true
        } catch {
            guard error.number == FileFailure.notFound else { throw Self.uncopied(error) }
            return false
        }
    }

    private mutating func makeDirectories(for key: AssetKey) throws {
        for path in directories(of: key) where !madeDirectories.contains(path) {
            try explaining { () throws(FileFailure) in
                do throws(FileFailure) { try target.files.createDirectory(path) } catch {
                    // In a copy that was interrupted.
                    guard error.number == FileFailure.exists else { throw error }
                }
            }
            madeDirectories.insert(path)
        }
    }

    private func directories(of key: AssetKey) -> [String] {
        let directory = target.directory
        return [directory.top, directory.content, directory.owner(key.owner), directory.folder(of: key)]
    }

    /// Whether the copy has the content. Removes a part of it, which a killed process may have left.
    private mutating func has(_ key: AssetKey, _ entry: AssetEntry) throws -> Bool {
        if let stored = target.stored {
            let name = try Self.name(of: key, entry)
            if try stored.hasLength(entry.byteCount, name) { return true }
            try stored.removeParts(of: name)
            return false
        }
        let path = target.directory.file(of: key)
        guard let descriptor = try? target.files.openFile(path) else { return false }
        defer { target.files.close(descriptor) }
        guard let facts = try? target.files.facts(descriptor), facts.byteCount != entry.byteCount else {
            // A process that was killed may not have made its directories durable.
            for path in directories(of: key) { madeDirectories.insert(path) }
            return true
        }
        try explaining { () throws(FileFailure) in try target.files.removeFile(path) }
        contentCount -= 1
        return false
    }

    /// Visits the contents that have files, one folder at a time.
    private static func visit(_ store: AssetStore, _ body: (AssetKey) throws -> Void) throws {
        for ownerDirectory in try store.names(in: store.directory.content) {
            guard let owner = AssetDirectory.owner(ofDirectory: ownerDirectory) else { continue }
            for folder in try store.names(in: store.directory.owner(owner)) {
                for key in try store.contents(of: owner, in: folder).keys { try body(key) }
            }
        }
    }

    private func explaining(_ body: () throws(FileFailure) -> Void) throws {
        do throws(FileFailure) { try body() } catch { throw Self.uncopied(error) }
    }

    private static func uncopied(_ failure: FileFailure) -> CloudError {
        CloudError(
            .serviceUnavailable,
            failure.isFull
                ? "An asset cannot be copied into the copy of the store: its disk is full. Free space or choose another place."
                : "An asset cannot be copied into the copy of the store: the disk refuses it.",
            ["errno": "\(failure.number)"], cause: failure.reason)
    }
}

// MARK: Contents in a store

extension AssetBackup {
    /// Copies a content to parts in the target. Returns false if the source has none.
    private mutating func send(_ key: AssetKey, _ entry: AssetEntry, to stored: StoredContents) throws -> Bool {
        var writer = PartWriter(stored.contents, try Self.name(of: key, entry))
        let digest = try source.readContent(key, upload: entry.upload) { buffer, count in
            try writer.add(buffer[..<count])
        }
        guard let digest else { return false }
        guard digest == key.digest else {
            damaged.insert(key)
            return true
        }
        try writer.finish()
        contentCount += 1
        return true
    }

    /// Copies a content in the source to a file. Returns false if the source has none.
    private mutating func write(_ key: AssetKey, _ entry: AssetEntry) throws -> Bool {
        let (files, path) = (target.files, target.directory.file(of: key))
        let file: Int32
        do throws(FileFailure) { file = try files.createFile(path) } catch { throw Self.uncopied(error) }
        var isWhole = false
        defer {
            files.close(file)
            if !isWhole { try? files.removeFile(path) }
        }
        let digest = try source.readContent(key, upload: entry.upload) { buffer, count in
            try explaining { () throws(FileFailure) in try files.write(file, buffer, count: count) }
        }
        guard let digest else { return false }
        guard digest == key.digest else {
            damaged.insert(key)
            return true
        }
        try explaining { () throws(FileFailure) in try files.sync(file) }
        isWhole = true
        copiedCount += 1
        contentCount += 1
        return true
    }

    /// Removes the contents in the target that its ledger does not name.
    private func removeUnnamed(from stored: StoredContents, by copy: RecordEngine, _ meter: WorkMeter) throws {
        try stored.visitNames(in: GlobalKeys.keyspace(.collecting)) { names in
            let uploads = try names.map { try GlobalKeys.readContentKey($0.span) }
            let found = try copy.read { try $0.store.values(forKeys: uploads.map(\.assetKey.ledgerKey)) }
            for (index, name) in names.enumerated() {
                let held = try found[index].flatMap { try AssetEntry(decoding: $0.span).upload }
                if held != uploads[index].upload { try stored.removeParts(of: name) }
                meter.add()
            }
            return .next
        }
    }

    private static func name(of key: AssetKey, _ entry: AssetEntry) throws -> [UInt8] {
        guard let upload = entry.upload else {
            throw StoreError(
                .corruption, "The ledger does not name the upload of an asset's content. Begin the copy again.",
                AssetStore.fields(key))
        }
        return StoredContents.name(of: key, upload)
    }
}
