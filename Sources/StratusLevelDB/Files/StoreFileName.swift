// The names of files in a store's directory.

internal import StratusStore

enum StoreFileName: Equatable {
    case current
    case lock
    case manifest(UInt64)
    case log(UInt64)
    case table(UInt64)
    /// Says that the log of this number holds acknowledged commits.
    case acknowledged(UInt64)
    case other

    static let currentName = "CURRENT"
    static let lockName = "LOCK"
    private static let acknowledgedEnding = ".acknowledged"

    /// As LevelDB names the logs that it creates.
    static func logName(_ log: UInt64) -> String {
        let digits = "\(log)"
        return String(repeating: "0", count: max(0, 6 - digits.count)) + digits + ".log"
    }

    static func acknowledgedName(_ log: UInt64) -> String { "\(log)\(acknowledgedEnding)" }

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
            case Self.acknowledgedEnding: self = .acknowledged(number)
            default: self = .other
            }
        } else {
            self = .other
        }
    }

    /// Whether a store may have a file of this name: what is not told apart above are LevelDB's diary, files that it is
    /// about to rename, our lock file and the marker.
    static func isOfStore(_ name: String) -> Bool {
        guard case .other = StoreFileName(name) else { return true }
        return [
            "LOG", "LOG.old", "STRATUS.room", StoreLock.fileName, StoreMarker.fileName, StoreMarker.temporaryFileName,
        ].contains(name)
            || name.hasSuffix(".dbtmp")
    }
}
