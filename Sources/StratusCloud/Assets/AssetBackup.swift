// Copies the contents of assets beside a copy of the records, while others save, delete and collect.
//
//   1. Every content that is there is taken.                                      `takeAll`
//   2. The records are copied, by others.
//   3. What the copied ledger names and was not there at 1 is taken.              `takeNamed`
//   4. What the copied ledger does not name is removed again.                     `finish`
//
// So a content that the copied records name is missed only if it came after 1 and was collected before 3: its record was
// made and deleted in between. Then `takeNamed` says so, and all is done again. A content is never written to once it has
// its name, so that the copy can share its bytes.
//
// What the copy has is asked of its directories and not kept in memory, however many contents there are.

import StratusLayout
import StratusModel
package import StratusRecords
import StratusStore

/// A backup of the contents of assets. Calls block their thread.
package struct AssetBackup {
    private let source: AssetStore
    private let target: AssetStore
    private var madeDirectories: Set<String> = []
    /// How many contents were copied, because the file system could not share them.
    package private(set) var copiedCount = 0

    /// How many contents the copy has.
    package private(set) var contentCount = 0

    /// Copies from one directory of assets to another, which is nobody else's yet.
    package init(from source: AssetStore, to target: AssetStore) {
        self.source = source
        self.target = target
    }

    /// Takes every content that is there now. `progress` is told how many were taken, and of how many.
    ///
    /// Throws `serviceUnavailable` where files cannot be read or written.
    package mutating func takeAll(progress: @escaping WorkMeter.Listener = { _, _ in }) throws {
        var count = 0
        try Self.visit(source) { _ in count += 1 }
        let meter = WorkMeter(total: count, progress)
        try Self.visit(source) {
            try take($0)
            meter.add()
        }
    }

    /// Takes what the copied ledger names and the copy does not have. Returns what the source has no more. `progress` is
    /// told how many contents were looked for, and of how many.
    package mutating func takeNamed(
        in copy: RecordEngine, progress: @escaping WorkMeter.Listener = { _, _ in }
    ) throws -> Set<AssetKey> {
        var lost: Set<AssetKey> = []
        try copy.read { reader in
            let meter = WorkMeter(total: try reader.entryCount(in: GlobalKeys.assets), progress)
            try reader.store.scan(GlobalKeys.assets.keyRange) { key, _ in
                let (owner, digest) = try GlobalKeys.readAssetKey(key)
                let key = AssetKey(owner: owner, digest: digest)
                if !has(key), try !take(key) { lost.insert(key) }
                meter.add()
                return .next
            }
        }
        return lost
    }

    /// Removes what the copied ledger does not name, and makes the rest durable. `progress` is told how many contents were
    /// looked at and folders made durable, and of how many.
    package mutating func finish(
        with copy: RecordEngine, progress: @escaping WorkMeter.Listener = { _, _ in }
    ) throws {
        let meter = WorkMeter(total: contentCount + madeDirectories.count, progress)
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

    /// Takes a content that the copy does not have. Returns whether it could be had: another may have collected it.
    @discardableResult
    private mutating func take(_ key: AssetKey) throws -> Bool {
        let directory = target.directory
        for path in [directory.top, directory.content, directory.owner(key.owner), directory.folder(of: key)]
        where !madeDirectories.contains(path) {
            try explaining { () throws(FileFailure) in try target.files.createDirectory(path) }
            madeDirectories.insert(path)
        }
        do throws(FileFailure) {
            if try target.files.linkOrCopy(source.directory.file(of: key), to: directory.file(of: key)) {
                copiedCount += 1
            }
            contentCount += 1
            return true
        } catch {
            guard error.number == FileFailure.notFound else { throw Self.uncopied(error) }
            return false
        }
    }

    private func has(_ key: AssetKey) -> Bool {
        guard let descriptor = try? target.files.openFile(target.directory.file(of: key)) else { return false }
        target.files.close(descriptor)
        return true
    }

    /// Visits the contents of which there are files, a folder at a time.
    private static func visit(_ store: AssetStore, _ body: (AssetKey) throws -> Void) throws {
        for ownerDirectory in try store.names(in: store.directory.content) {
            guard let owner = AssetDirectory.owner(ofDirectory: ownerDirectory) else { continue }
            for folder in try store.names(in: store.directory.owner(owner)) {
                for name in try store.names(in: store.directory.owner(owner) + "/" + folder) {
                    guard let digest = AssetDirectory.digest(ofFile: name, in: folder) else { continue }
                    try body(AssetKey(owner: owner, digest: digest))
                }
            }
        }
    }

    private func explaining(_ body: () throws(FileFailure) -> Void) throws {
        do throws(FileFailure) { try body() } catch { throw Self.uncopied(error) }
    }

    private static func uncopied(_ failure: FileFailure) -> CloudError {
        let fields = ["errno": "\(failure.number)"]
        guard failure.isFull else {
            return CloudError(
                .serviceUnavailable, "An asset cannot be copied into the copy of the store: the disk refuses it.",
                fields,
                cause: failure.reason)
        }
        return CloudError(
            .serviceUnavailable,
            "An asset cannot be copied into the copy of the store: its disk is full. Make room, or name another place.",
            fields, cause: failure.reason)
    }
}
