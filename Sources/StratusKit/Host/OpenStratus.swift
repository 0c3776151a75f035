// The stores that are open in this process, by directory: a path opened twice is one store.
//
// Directories are compared by what they are on disk and not by how they are spelt, so links and relative paths do not
// open a store twice. While a directory is being opened or closed, others who want it wait.

import Foundation
import StratusStore

final class OpenStratus: @unchecked Sendable {
    // Because the dictionary is touched only between `condition.lock` and `unlock`.
    static let shared = OpenStratus()

    private enum Entry {
        /// Being opened: others wait.
        case opening
        case open(Stratus)
        /// Being closed: others wait, who want the directory as well as who close the same store.
        case closing(Stratus)
    }

    private let condition = NSCondition()
    private var entries: [String: Entry] = [:]

    /// The open store of that directory, or the one that `make` opens there.
    func open(_ directory: URL, _ make: (URL) throws -> Stratus) throws -> Stratus {
        let path = Self.canonicalPath(directory)
        if let open = claim(path) { return open }
        do {
            let url = URL(fileURLWithPath: path, isDirectory: true)
            let store = try StratusError.wrapping { try make(url) }
            set(path, .open(store))
            return store
        } catch {
            set(path, nil)
            throw error
        }
    }

    /// The open store of that directory; nothing is opened or waited for.
    func openStore(in directory: URL) -> Stratus? {
        condition.lock()
        defer { condition.unlock() }
        guard case .open(let store)? = entries[Self.canonicalPath(directory)] else { return nil }
        return store
    }

    /// Closes a store by `body`, and forgets it. Who wants its directory meanwhile waits. `body` is called although the
    /// store is none of those that are open: one that could not be opened to the end.
    func close(_ store: Stratus, _ body: () -> Void) {
        let path = store.directory?.path
        let isMine = path.map { beginClosing(store, $0) } ?? false
        body()
        if isMine, let path { set(path, nil) }
    }

    /// Whether the caller is the one that closes the store; returns when another who does is done.
    private func beginClosing(_ store: Stratus, _ path: String) -> Bool {
        condition.lock()
        defer { condition.unlock() }
        while case .closing(let closed)? = entries[path], closed === store { condition.wait() }
        guard case .open(let open)? = entries[path], open === store else { return false }
        entries[path] = .closing(store)
        return true
    }

    private func claim(_ path: String) -> Stratus? {
        condition.lock()
        defer { condition.unlock() }
        while true {
            switch entries[path] {
            case nil:
                entries[path] = .opening
                return nil
            case .opening?, .closing?:
                condition.wait()
            case .open(let store)?:
                return store
            }
        }
    }

    private func set(_ path: String, _ entry: Entry?) {
        condition.lock()
        entries[path] = entry
        condition.broadcast()
        condition.unlock()
    }

    /// The path without links, also where its last part does not exist yet.
    static func canonicalPath(_ directory: URL) -> String {
        let url = directory.standardizedFileURL.resolvingSymlinksInPath()
        if FileManager.default.fileExists(atPath: url.path) { return url.path }
        let folder = url.deletingLastPathComponent().resolvingSymlinksInPath()
        return folder.appendingPathComponent(url.lastPathComponent).path
    }
}
