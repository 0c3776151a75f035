// Which record a file is. The name depends on where the file lies below the imported directory, and on nothing else: not
// on its content, not on the machine, not on where its record has been moved to in the store.
//
// Invariants: a record name is the top's name, "/" and the path below the top, escaped as file names are. One that would
// be longer than 255 bytes is cut, and ends with "%~" and the path's digest; "%~" stands in no escaped path, so no two
// paths have one name. A folder's name is the beginning of the names of everything in it, so a tree lies together.

import Crypto
import StratusLayout
import StratusModel

struct TreeNaming {
    /// The longest record name, in bytes; within the limit of 255 characters whatever the characters are (L-07).
    private static let maximumByteCount = 255
    private static let digestByteCount = 20
    private static let digestMark = "%~"

    /// The record name of the imported directory itself.
    let top: RecordName

    init(top: FileName) { self.top = RecordName(top.escapedText) }

    /// The record name for a path below the top; the empty path is the top's.
    func name(of relativePath: [UInt8]) -> RecordName {
        if relativePath.isEmpty { return top }
        let whole = "\(top.text)/\(PercentText.escaping(relativePath))"
        guard whole.utf8.count > Self.maximumByteCount else { return RecordName(whole) }
        let digest = Hex.text(Array(SHA256.hash(data: relativePath).prefix(Self.digestByteCount)))
        let kept = Self.prefix(
            of: whole, byteCount: Self.maximumByteCount - Self.digestMark.utf8.count - digest.utf8.count)
        return RecordName(kept + Self.digestMark + digest)
    }

    /// The record name of the folder that a path lies in; nil for the top.
    func parent(of relativePath: [UInt8]) -> RecordName? {
        if relativePath.isEmpty { return nil }
        guard let slash = relativePath.lastIndex(of: UInt8(ascii: "/")) else { return top }
        return name(of: Array(relativePath[..<slash]))
    }

    /// Whether the name of a record for this path does not hold all of it.
    func isCut(_ name: RecordName) -> Bool { name.text.contains(Self.digestMark) }

    /// The path that a record of the tree stands for: from its name, or from its path field where the name is cut.
    /// Nil for records that no import has made.
    func relativePath(of record: Record) -> [UInt8]? {
        if record.name == top { return [] }
        guard TreeType.all.contains(record.type), record.name.text.hasPrefix(top.text + "/") else { return nil }
        if isCut(record.name) {
            guard case .bytes(let path)? = record.fields[TreeField.path]?.value, name(of: path) == record.name else {
                return nil
            }
            return path
        }
        return PercentText.bytes(of: String(record.name.text.dropFirst(top.text.count + 1)))
    }

    /// A beginning of the text that ends between characters and not inside an escaped byte.
    private static func prefix(of text: String, byteCount: Int) -> String {
        var kept = ""
        var count = 0
        for scalar in text.unicodeScalars {
            count += UTF8.width(scalar)
            if count > byteCount { break }
            kept.unicodeScalars.append(scalar)
        }
        if let percent = kept.utf8.suffix(2).lastIndex(of: UInt8(ascii: "%")) { kept = String(kept[..<percent]) }
        return kept
    }
}
