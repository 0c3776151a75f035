// Reads a MANIFEST: the list of tables and logs of a LevelDB database. Also knows the names of a store's files.
//
// Written by hand because LevelDB's C API does not expose the list: its properties are text for people, need an open
// database and name no logs. A backup needs the list of a store that another process has open, and opening needs it
// before LevelDB changes anything.
//
// A MANIFEST is a log of edits. An edit is a run of fields, each a varint tag and its contents: 1 comparator name,
// 2 log number, 3 next file number, 4 last sequence, 5 compaction pointer (level, key), 6 deleted file (level, number),
// 7 new file (level, number, size, smallest key, largest key), 9 previous log number. Strings and keys carry their
// length; keys end with eight bytes of LevelDB's own.

internal import Glibc
internal import StratusStore

/// A table file and the keys it may hold, both ends included.
struct ManifestTable: Hashable {
    let level: Int
    let number: UInt64
    let byteCount: UInt64
    let smallestKey: [UInt8]
    let largestKey: [UInt8]

    /// Whether the table may hold a key from `lower` up to and including `upper`.
    func overlaps(_ lower: [UInt8], through upper: [UInt8]) -> Bool {
        !largestKey.lexicographicallyPrecedes(lower) && !upper.lexicographicallyPrecedes(smallestKey)
    }
}

struct Manifest {
    private(set) var tables: [UInt64: ManifestTable] = [:]
    /// Logs numbered from here on are live.
    private(set) var logNumber: UInt64 = 0
    /// One more log that is live, 0 when there is none.
    private(set) var previousLogNumber: UInt64 = 0
    /// The last sequence number when the newest edit was written.
    private(set) var lastSequence: UInt64 = 0
    /// How the file ends.
    private(set) var end = LogFile.End.whole
    /// The part of the file that was read.
    private(set) var bytes: [UInt8] = []
    /// The beginning of the first record that has not been read.
    private var readByteCount = 0

    init() {}

    /// Nil when an edit cannot be read.
    init?(_ bytes: [UInt8]) {
        guard extend(bytes) else { return nil }
    }

    /// Reads the new end of a growing file. Returns false if an edit cannot be read.
    mutating func extend(_ more: [UInt8]) -> Bool {
        bytes += more
        let (all, start) = (bytes, readByteCount)
        var isReadable = true
        var record: [UInt8] = []
        end = LogFile.forEachFragment(all, from: start) { type, payload in
            if type == 1 || type == 2 { record = [] }
            record.append(contentsOf: payload)
            guard type == 1 || type == 4 else { return }
            readByteCount = payload.endIndex
            if isReadable { isReadable = apply(record) }
        }
        return isReadable
    }

    /// Whether the file is damaged. A torn end is not damage: its writer died.
    var isDamaged: Bool {
        if case .damaged = end { return true }
        return false
    }

    /// The live logs among a directory's names, newest first.
    func liveLogs(among names: [String]) -> [(number: UInt64, name: String)] {
        let live = names.compactMap { name -> (number: UInt64, name: String)? in
            guard case .log(let number) = StoreFileName(name), isLive(number) else { return nil }
            return (number, name)
        }
        return live.sorted { $0.number > $1.number }
    }

    /// Whether the log of this number, if there is one, holds commits that are in no table.
    func isLive(_ log: UInt64) -> Bool { log >= logNumber || (log == previousLogNumber && log != 0) }

    /// The logs that must exist: those that the file names, and the live ones known to hold acknowledged commits.
    func requiredLogs(acknowledged: Set<UInt64>) -> Set<UInt64> {
        acknowledged.filter(isLive).union([logNumber, previousLogNumber].filter { $0 != 0 })
    }

    /// Applies an edit. Returns false if it cannot be read.
    private mutating func apply(_ edit: [UInt8]) -> Bool {
        var fields = FieldReader(bytes: edit)
        do {
            while !fields.isAtEnd { try apply(&fields) }
            return true
        } catch { return false }
    }

    private mutating func apply(_ fields: inout FieldReader) throws(UnreadableEdit) {
        switch try fields.number() {
        case 1: _ = try fields.string()
        case 2: logNumber = try fields.number()
        case 3: _ = try fields.number()
        case 4: lastSequence = try fields.number()
        case 5:
            _ = try fields.number()
            _ = try fields.string()
        case 6:
            _ = try fields.number()
            tables[try fields.number()] = nil
        case 7:
            let (level, number, byteCount) = (try fields.number(), try fields.number(), try fields.number())
            let (smallest, largest) = (try fields.string(), try fields.string())
            guard smallest.count >= 8, largest.count >= 8 else { throw UnreadableEdit() }
            tables[number] = ManifestTable(
                level: Int(clamping: level), number: number, byteCount: byteCount,
                smallestKey: Array(smallest.dropLast(8)), largestKey: Array(largest.dropLast(8)))
        case 9: previousLogNumber = try fields.number()
        default: throw UnreadableEdit()
        }
    }
}

extension Manifest {
    /// Reads the MANIFEST that CURRENT names; nil if an edit of it cannot be read.
    ///
    /// Throws `.corruption` if CURRENT names none, or one that does not exist.
    static func read(in directory: String) throws -> (name: String, manifest: Manifest?) {
        let name = try readCurrent(in: directory).manifestName
        do {
            return (name, Manifest(try SystemFiles.read("\(directory)/\(name)")))
        } catch let error where error.number == ENOENT {
            throw StoreError(
                .corruption,
                "The MANIFEST that CURRENT names is missing: restore a backup, or run 'stratus repair-losing-damaged-data'.",
                ["path": directory, "file": name], damage: .files)
        } catch { throw error.storeError }
    }

    /// Reads CURRENT: its bytes, and the name in it.
    static func readCurrent(in directory: String) throws -> (bytes: [UInt8], manifestName: String) {
        let current: [UInt8]
        do {
            current = try SystemFiles.read("\(directory)/\(StoreFileName.currentName)")
        } catch let error where error.number == ENOENT {
            throw StoreError(
                .corruption,
                "CURRENT is missing from the store: restore a backup, or run 'stratus repair-losing-damaged-data'.",
                ["path": directory], damage: .files)
        } catch { throw error.storeError }
        let name = String(decoding: current.dropLast(), as: UTF8.self)
        guard current.last == UInt8(ascii: "\n"), case .manifest = StoreFileName(name) else {
            throw StoreError(
                .corruption,
                "CURRENT does not name a MANIFEST: restore a backup, or run 'stratus repair-losing-damaged-data'.",
                ["path": directory, "contents": hexadecimal(current)], damage: .files)
        }
        return (current, name)
    }
}

/// Thrown for an edit that cannot be read.
private struct UnreadableEdit: Error {}

/// Reads the fields of an edit.
private struct FieldReader {
    let bytes: [UInt8]
    var offset = 0

    var isAtEnd: Bool { offset >= bytes.count }

    mutating func number() throws(UnreadableEdit) -> UInt64 {
        var result: UInt64 = 0
        for shift in stride(from: UInt64(0), through: 63, by: 7) {
            guard offset < bytes.count else { break }
            let byte = bytes[offset]
            offset += 1
            result |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return result }
        }
        throw UnreadableEdit()
    }

    mutating func string() throws(UnreadableEdit) -> ArraySlice<UInt8> {
        let count = try number()
        guard count <= UInt64(bytes.count - offset) else { throw UnreadableEdit() }
        defer { offset += Int(count) }
        return bytes[offset..<offset + Int(count)]
    }
}

// The names of files in a store's directory.

enum StoreFileName: Equatable {
    case current
    case lock
    case manifest(UInt64)
    case log(UInt64)
    case table(UInt64)
    /// An empty file that says that the log with this number has acknowledged commits.
    case acknowledged(UInt64)
    case other

    static let currentName = "CURRENT"
    static let lockName = "LOCK"
    private static let acknowledgedEnding = ".acknowledged"

    /// The name that LevelDB gives to a log.
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

    /// Whether a store may have a file of this name. Besides the names above these are LevelDB's diary, files that it
    /// is about to rename, the lock file and the marker.
    static func isOfStore(_ name: String) -> Bool {
        guard case .other = StoreFileName(name) else { return true }
        return [
            "LOG", "LOG.old", "STRATUS.room", StoreLock.fileName, StoreMarker.fileName, StoreMarker.temporaryFileName,
        ].contains(name)
            || name.hasSuffix(".dbtmp")
    }
}
