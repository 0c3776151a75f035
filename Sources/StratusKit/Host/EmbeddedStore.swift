// The store of programs that set nothing up: opened when it is first needed, with one account.

import Foundation
import StratusCloud
import StratusStore

/// Opens the default store, once.
final class EmbeddedStore: Sendable {
    static let shared = EmbeddedStore()

    /// The host's identifier of the one account.
    static let externalID = "default"

    private let chosen = Locked(Stratus.DefaultStore.inUserDataDirectory)

    var choice: Stratus.DefaultStore {
        get { chosen.value }
        set { chosen.withLock { $0 = newValue } }
    }

    /// The default store, with its account signed in. A store that was closed is opened again.
    func store() throws -> Stratus {
        let directory: URL
        switch choice {
        case .off:
            throw StratusError(
                .noStore,
                "No store is current, and the default store is switched off: set Stratus.processWide, or use asCurrent."
            )
        case .at(let url): directory = url
        case .inUserDataDirectory: directory = try Self.directory(environment: ProcessInfo.processInfo.environment)
        }
        return try OpenStratus.shared.open(directory) { directory in
            try FileManager.default.createDirectory(
                at: directory.deletingLastPathComponent(), withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
            let store = try Stratus(directory: directory, options: Stratus.Options())
            do {
                try store.signIn(try store.account(externalID: Self.externalID, createIfMissing: .init()))
            } catch {
                store.close()
                throw error
            }
            return store
        }
    }

    /// The user's data directory as the XDG Base Directory specification has it: a relative path counts as none.
    static func directory(environment: [String: String]) throws -> URL {
        var base: URL
        if let path = environment["XDG_DATA_HOME"], path.hasPrefix("/") {
            base = URL(fileURLWithPath: path, isDirectory: true)
        } else if let home = environment["HOME"], home.hasPrefix("/") {
            base = URL(fileURLWithPath: home, isDirectory: true).appendingPathComponent(".local/share")
        } else {
            throw StratusError(
                .noStore, "The user has no home directory for the default store: set XDG_DATA_HOME, or open a store.")
        }
        base.appendPathComponent("stratus/default", isDirectory: true)
        return base
    }
}
