// The names of files in a store's directory.

internal import StratusStore

enum StoreFileName: Equatable {
    case current
    case lock
    case manifest(UInt64)
    case log(UInt64)
    case table(UInt64)
    case other

    static let currentName = "CURRENT"
    static let lockName = "LOCK"

    init(_ name: String) {
        if name == Self.currentName {
            self = .current
        } else if name == Self.lockName {
            self = .lock
        } else if name.hasPrefix("MANIFEST-"), let number = UInt64(name.dropFirst(9)) {
            self = .manifest(number)
        } else if let dot = name.lastIndex(of: "."), let number = UInt64(name[..<dot]) {
            switch name[dot...] {
            case ".log": self = .log(number)
            case ".ldb", ".sst": self = .table(number)
            default: self = .other
            }
        } else {
            self = .other
        }
    }

    /// Whether a store may have a file of this name: what is not told apart above are LevelDB's diary, files that it is
    /// about to rename, and the marker.
    static func isOfStore(_ name: String) -> Bool {
        guard case .other = StoreFileName(name) else { return true }
        return ["LOG", "LOG.old", StoreMarker.fileName, StoreMarker.temporaryFileName].contains(name)
            || name.hasSuffix(".dbtmp")
    }
}
