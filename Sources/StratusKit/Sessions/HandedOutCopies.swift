// The files that were made for the assets of one answer: they go some time after the last of its assets.

import StratusCloud
import StratusStore

/// Remembers copies as long as an asset can ask for them, and then lets the server remove them.
///
/// Letting go must not wait: assets are let go of anywhere, under anybody's locks.
final class HandedOutCopies: Sendable {
    private let server: any CloudServer
    private let paths = Locked<[String]>([])

    init(_ server: any CloudServer) { self.server = server }

    deinit {
        let paths = paths.value
        if !paths.isEmpty { server.releaseCopies(paths) }
    }

    func add(_ path: String) { paths.withLock { $0.append(path) } }
}
