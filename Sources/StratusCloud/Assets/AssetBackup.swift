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

import StratusLayout
import StratusModel
package import StratusRecords
import StratusStore

/// A backup of the contents of assets. Calls block their thread.
package struct AssetBackup {
    private let source: AssetStore
    private let target: AssetStore
    /// The contents that the copy has.
    private var taken: Set<AssetKey> = []
    private var madeDirectories: Set<String> = []
    /// How many contents were copied, because the file system could not share them.
    package private(set) var copiedCount = 0

    /// How many contents the copy has.
    package var contentCount: Int { taken.count }

    /// Copies from one directory of assets to another, which is nobody else's yet.
    package init(from source: AssetStore, to target: AssetStore) {
        self.source = source
        self.target = target
    }

    /// Takes every content that is there now.
    ///
    /// Throws `serviceUnavailable` where files cannot be read or written.
    package mutating func takeAll() throws {
        for ownerDirectory in try source.names(in: source.directory.content) {
            guard let owner = AssetDirectory.owner(ofDirectory: ownerDirectory) else { continue }
            for folder in try source.names(in: source.directory.owner(owner)) {
                for name in try source.names(in: source.directory.owner(owner) + "/" + folder) {
                    guard let digest = AssetDirectory.digest(ofFile: name, in: folder) else { continue }
                    try take(AssetKey(owner: owner, digest: digest))
                }
            }
        }
    }

    /// Takes what the copied ledger names and the copy does not have. Returns what the source has no more.
    package mutating func takeNamed(in copy: RecordEngine) throws -> Set<AssetKey> {
        var lost: Set<AssetKey> = []
        for key in try Self.named(in: copy) where !taken.contains(key) {
            try take(key)
            if !taken.contains(key) { lost.insert(key) }
        }
        return lost
    }

    /// Removes what the copied ledger does not name, and makes the rest durable.
    package mutating func finish(with copy: RecordEngine) throws {
        let surplus = taken.subtracting(try Self.named(in: copy))
        try explaining { () throws(FileFailure) in
            for key in surplus { try target.files.removeFile(target.directory.file(of: key)) }
            for directory in madeDirectories { try target.files.syncDirectory(directory) }
        }
        taken.subtract(surplus)
    }

    private mutating func take(_ key: AssetKey) throws {
        guard !taken.contains(key) else { return }
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
            taken.insert(key)
        } catch {
            // Collected meanwhile.
            if error.number != FileFailure.notFound { throw AssetStore.unavailable(error) }
        }
    }

    private func explaining(_ body: () throws(FileFailure) -> Void) throws {
        do throws(FileFailure) { try body() } catch { throw AssetStore.unavailable(error) }
    }

    private static func named(in copy: RecordEngine) throws -> Set<AssetKey> {
        try copy.read { reader in
            var keys: Set<AssetKey> = []
            try reader.store.scan(GlobalKeys.assets.keyRange) { key, _ in
                let (owner, digest) = try GlobalKeys.readAssetKey(key)
                keys.insert(AssetKey(owner: owner, digest: digest))
                return .next
            }
            return keys
        }
    }
}
