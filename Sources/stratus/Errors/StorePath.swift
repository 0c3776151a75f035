// Checks the path of a store, and says what is there instead.

import Foundation

enum StorePath {
    private static let markerName = "STRATUS"
    /// How many names of a directory an error shows.
    private static let shownNameCount = 3
    /// How many names of a directory are examined for stores.
    private static let examinedNameCount = 1_000

    /// Throws if there is no store at `path`: `notFound` for nothing, `notAStore` for a file or another directory.
    static func require(_ path: String) throws(ToolError) {
        guard let kind = try? Disk.factsOfTarget(of: path).kind else {
            throw error(.notFound, path, found: "nothing", nearest: storeAround(path) ?? neighbour(of: path))
        }
        guard kind == .folder else { throw error(.notAStore, path, found: "a file", nearest: storeAround(path)) }
        guard !isStore(path) else { return }
        if let around = storeAround(path) {
            throw error(.notAStore, path, found: "a part of a store", nearest: around)
        }
        // If the directory cannot be read, opening the store reports that.
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: path).sorted() else { return }
        if names.isEmpty { throw error(.notAStore, path, found: "an empty directory", nearest: neighbour(of: path)) }
        let stores = names.prefix(examinedNameCount).filter { isStore("\(path)/\($0)") }
        if let first = stores.first {
            let found = "a directory that contains \(Quantities.count(stores.count, "store")): \(list(stores))"
            throw error(.notAStore, path, found: found, nearest: "\(path)/\(first)")
        }
        let what = names.contains("CURRENT") ? "another program's LevelDB database" : "a directory of other files"
        throw error(.notAStore, path, found: "\(what): \(list(names))", nearest: nil)
    }

    /// Throws `refused` if `path` is inside the directory of a store, which must contain nothing else.
    static func requireOutside(_ path: String) throws(ToolError) {
        let folder = URL(fileURLWithPath: path).standardizedFileURL.deletingLastPathComponent()
        let place = folder.resolvingSymlinksInPath().appendingPathComponent("place").path
        guard let store = storeAround(place) else { return }
        throw ToolError(
            .refused, "The directory of a store must contain nothing else: name a path outside it.",
            ["path": path, "store": store])
    }

    private static func error(
        _ code: ToolError.Code, _ path: String, found: String, nearest: String?
    ) -> ToolError {
        var fields = ["path": path, "found": found]
        if let nearest { fields["nearest"] = nearest }
        return ToolError(
            code, "There is no store here: check the path, or create one with 'stratus init'.", fields)
    }

    private static func isStore(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: "\(path)/\(markerName)")
    }

    private static func list(_ names: [String]) -> String {
        names.prefix(shownNameCount).joined(separator: ", ") + (names.count > shownNameCount ? ", …" : "")
    }

    /// The store whose directory contains the path.
    private static func storeAround(_ path: String) -> String? {
        var folder = URL(fileURLWithPath: path).standardizedFileURL.deletingLastPathComponent()
        while folder.path != "/" {
            if isStore(folder.path) { return folder.path }
            folder.deleteLastPathComponent()
        }
        return nil
    }

    /// A store in the same directory with a similar name, or the only store there.
    private static func neighbour(of path: String) -> String? {
        let url = URL(fileURLWithPath: path).standardizedFileURL
        let folder = url.deletingLastPathComponent().path
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder) else { return nil }
        let stores = names.sorted().prefix(examinedNameCount).filter { isStore("\(folder)/\($0)") }
        let meant = NearestName.of(url.lastPathComponent, among: stores) ?? (stores.count == 1 ? stores.first : nil)
        return meant.map { "\(folder)/\($0)" }
    }
}
