// Where long-lived operations are kept until their last block was called (O-14): the seam, and the store in memory.

package import Foundation
import StratusStore

/// A long-lived operation as it is kept. Request and answer are archives whose form is the operations' business.
package struct LongLivedEntry: Hashable, Sendable {
    package var id: String
    /// Who may find it again: the container, the account and the device it was made for. The device is nil for the one
    /// that all containers without a device share.
    package var container: String
    package var account: String?
    package var device: String?
    /// The class of the operation.
    package var kind: String
    package var request: Data
    /// Since when it is kept; nil for one that an older version has kept.
    package var kept: Date?
    /// Nil while the request has not been answered.
    package var answer: Data?
    package var answered: Date?

    package init(
        id: String, container: String, account: String?, device: String? = nil, kind: String, request: Data,
        kept: Date? = nil, answer: Data? = nil, answered: Date? = nil
    ) {
        self.id = id
        self.container = container
        self.account = account
        self.device = device
        self.kind = kind
        self.request = request
        self.kept = kept
        self.answer = answer
        self.answered = answered
    }
}

/// Keeps long-lived operations. What `save` was given is there until it is removed, as durable as the store is.
package protocol LongLivedStore: Sendable {
    func save(_ entry: LongLivedEntry) throws
    func entry(_ id: String) throws -> LongLivedEntry?
    func entries() throws -> [LongLivedEntry]
    /// Removes an operation and its files.
    func remove(_ id: String) throws

    /// Copies a file for an operation that is about to be saved. The copy lies there until the operation is removed.
    /// Returns its path; nil where the file is no regular one or cannot be read whole.
    func keepFile(_ path: String, as number: Int, of id: String) throws -> String?
    /// Where a file lies that was kept.
    func keptFile(_ number: Int, of id: String) -> String?
}

/// A file that is kept with an operation.
package struct KeptFile: Hashable, Sendable {
    package let number: Int
    package let path: String
    /// The SHA-256 of what it holds.
    package let digest: [UInt8]
}

/// Keeps long-lived operations as long as the object lives, and the files they upload in a temporary directory.
package final class MemoryLongLivedStore: LongLivedStore {
    private let kept = Locked<[String: LongLivedEntry]>([:])
    private let keeper = FileKeeper()
    private let takeDirectory: @Sendable () -> String
    private let giveBack: @Sendable (String) -> Void
    /// Of this object alone; taken with the first file.
    private let directory = Locked<String?>(nil)

    package convenience init() {
        self.init(
            takeDirectory: {
                FileManager.default.temporaryDirectory
                    .appendingPathComponent("stratus-operations-\(UUID.drawn().uuidString)").path
            }, giveBack: { try? FileManager.default.removeItem(atPath: $0) })
    }

    /// Takes the path of a directory for files, which is not there yet, and gives it back with all that is in it.
    package init(takeDirectory: @escaping @Sendable () -> String, giveBack: @escaping @Sendable (String) -> Void) {
        self.takeDirectory = takeDirectory
        self.giveBack = giveBack
    }

    deinit {
        if let directory = directory.value { giveBack(directory) }
    }

    package func save(_ entry: LongLivedEntry) { kept.withLock { $0[entry.id] = entry } }
    package func entry(_ id: String) -> LongLivedEntry? { kept.withLock { $0[id] } }
    package func entries() -> [LongLivedEntry] { kept.withLock { Array($0.values) } }

    package func remove(_ id: String) {
        kept.withLock { $0[id] = nil }
        if let directory = directory.value { keeper.removeDirectory(filesDirectory(of: id, in: directory)) }
    }

    package func keepFile(_ path: String, as number: Int, of id: String) throws -> String? {
        let directory = directory.withLock { directory in
            let path = directory ?? takeDirectory()
            directory = path
            return path
        }
        return try FileKeeper.explaining(directory) {
            try keeper.keep(path, as: "\(number)", in: filesDirectory(of: id, in: directory))
        }
    }

    package func keptFile(_ number: Int, of id: String) -> String? {
        directory.value.map { "\(filesDirectory(of: id, in: $0))/\(number)" }
    }

    private func filesDirectory(of id: String, in directory: String) -> String {
        "\(directory)/\(FileKeeper.name(of: id))"
    }
}
