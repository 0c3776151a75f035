// The names in one directory, in byte order, kept in one piece of memory: a million names take some tens of megabytes.

import CSystem

/// The entries of a directory at one moment, without "." and "..".
struct DirectoryListing {
    private var arena: [UInt8] = []
    private var entries: [(start: UInt32, count: UInt16)] = []

    var count: Int { entries.count }

    func name(at index: Int) -> ArraySlice<UInt8> {
        let entry = entries[index]
        return arena[Int(entry.start)..<Int(entry.start) + Int(entry.count)]
    }

    /// Reads the directory at `path`.
    init(of path: [UInt8], buffer: inout [UInt8]) throws(FileError) {
        let descriptor = cfiletree_open_directory(path.span)
        guard descriptor >= 0 else { throw FileError(number: -descriptor) }
        defer { cfiletree_close(descriptor) }
        while true {
            let count = try FileSystem.fill(&buffer) { cfiletree_read_entries(descriptor, &$0) }
            if count == 0 { break }
            try append(buffer[..<count])
        }
        let arena = arena
        entries.sort { left, right in
            let leftName = arena[Int(left.start)..<Int(left.start) + Int(left.count)]
            let rightName = arena[Int(right.start)..<Int(right.start) + Int(right.count)]
            return leftName.lexicographicallyPrecedes(rightName)
        }
    }

    /// Takes entries as the kernel lays them out: inode 8 bytes, offset 8, entry length 2, kind 1, name, NUL, padding.
    private mutating func append(_ bytes: ArraySlice<UInt8>) throws(FileError) {
        let nameOffset = 19
        var position = bytes.startIndex
        while position + nameOffset < bytes.endIndex {
            let length = Int(bytes[position + 16]) | Int(bytes[position + 17]) << 8
            let end = position + length
            guard length > nameOffset, end <= bytes.endIndex else { throw FileError(number: 5) }
            let name = bytes[(position + nameOffset)..<end].prefix { $0 != 0 }
            position = end
            if name.elementsEqual([UInt8(ascii: ".")]) || name.elementsEqual("..".utf8) { continue }
            guard let start = UInt32(exactly: arena.count) else { throw FileError(number: 12) }
            entries.append((start, UInt16(name.count)))
            arena.append(contentsOf: name)
        }
    }
}
