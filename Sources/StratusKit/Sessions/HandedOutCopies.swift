// The files that were made for the assets of one record: they go some time after the last of its assets, and those that no
// client was told of at once.

import Foundation
import StratusCloud
import StratusModel
import StratusStore

/// Makes copies for the assets of one record, remembers them as long as an asset can ask for them, and then lets the server
/// remove them.
///
/// Letting go must not wait: assets are let go of anywhere, under anybody's locks.
final class HandedOutCopies: AssetDownload {
    private struct Copy {
        var path: String
        var isShown = false
    }

    private let server: any CloudServer
    private let caller: Caller
    private let database: DatabaseSelector
    private let copies = Locked<[Copy]>([])

    init(_ server: any CloudServer, as caller: Caller, in database: DatabaseSelector) {
        self.server = server
        self.caller = caller
        self.database = database
    }

    deinit {
        let copies = copies.value
        guard !copies.isEmpty else { return }
        server.releaseCopies(copies.filter(\.isShown).map(\.path), unseen: copies.filter { !$0.isShown }.map(\.path))
    }

    func makeCopy(of content: AssetDescriptor, at place: CKAsset.Place) throws -> URL {
        let path = try server.copyAsset(
            HeldAsset(content, in: place.key, of: place.record), as: caller, in: database)
        return URL(fileURLWithPath: path)
    }

    func take(_ copy: URL) { copies.withLock { $0.append(Copy(path: copy.path)) } }

    func show(_ copy: URL) {
        copies.withLock { copies in
            guard let index = copies.firstIndex(where: { $0.path == copy.path }) else { return }
            copies[index].isShown = true
        }
    }
}
