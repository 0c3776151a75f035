// The store of programs that set nothing up: opened when it is first needed, with one account.
//
// Invariant: what was made over one choice of the host's stays with it, also when the host chooses anew.

import Foundation
import StratusCloud
import StratusStore

/// Opens the default store, as the host has chosen it.
final class EmbeddedStore: Sendable {
    private static let chosen = Locked(EmbeddedStore(.inUserDataDirectory))

    /// The default store as it is chosen now.
    static var current: EmbeddedStore { chosen.value }

    /// Chooses what `current` is from now on.
    static func choose(_ choice: Stratus.DefaultStore) {
        chosen.withLock { if $0.choice != choice { $0 = EmbeddedStore(choice) } }
    }

    /// The host's identifier of the one account.
    static let externalID = "default"

    let choice: Stratus.DefaultStore
    let sharedObjects = SharedObjects()

    private init(_ choice: Stratus.DefaultStore) { self.choice = choice }

    /// The default store, with its account signed in. A store that was closed is opened again.
    func store() throws -> Stratus {
        try OpenStratus.shared.open(directory()) { directory in
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

    /// Where the store lies.
    func directory() throws -> URL {
        switch choice {
        case .off:
            throw StratusError(
                .noStore,
                """
                There is no store, and the default one is switched off: set Stratus.processWide, or use asCurrent, \
                before containers and operations are made.
                """)
        case .at(let url): return url
        case .inUserDataDirectory: return try Self.directory(environment: ProcessInfo.processInfo.environment)
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
