// The lines of a file or of standard input, one after another. Memory holds one line and one piece of the file.

import Foundation

struct LineReader {
    /// Bytes of the longest line there may be.
    static let maximumLineByteCount = 256 << 20
    private static let pieceByteCount = 1 << 20

    private let file: FileHandle
    private var buffer = Data()
    private var isAtEnd = false
    private(set) var lineNumber = 0
    /// Of the whole file; nil of what has no end that could be known, as a pipe.
    let byteCount: Int?
    private var fetchedByteCount = 0
    /// Of the lines so far.
    var readByteCount: Int { fetchedByteCount - buffer.count }

    /// Throws `notFound` where the file cannot be read.
    init(path: String) throws {
        if path == "-" {
            file = .standardInput
            byteCount = nil
        } else {
            guard let file = FileHandle(forReadingAtPath: path) else {
                throw ToolError(
                    .notFound, "The file cannot be read: check its path and permissions.", ["file": path])
            }
            self.file = file
            // A pipe can be opened and has no places in it.
            byteCount = (try? file.seekToEnd()).map { Int(clamping: $0) }
            if byteCount != nil { try file.seek(toOffset: 0) }
        }
    }

    /// The next line without its end; nil behind the last one.
    mutating func next() throws -> Data? {
        var searched = buffer.startIndex
        while true {
            if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                let line = Data(buffer[buffer.startIndex..<end])
                buffer = buffer[buffer.index(after: end)...]
                lineNumber += 1
                return line
            }
            if isAtEnd {
                guard !buffer.isEmpty else { return nil }
                defer { buffer = Data() }
                lineNumber += 1
                return buffer
            }
            guard buffer.count < Self.maximumLineByteCount else {
                throw ToolError(.damaged, "A line is too long to be of an export.", ["line": "\(lineNumber + 1)"])
            }
            // What is left of a piece is moved to the beginning, so that no piece is kept longer than its lines.
            var rest = Data(buffer)
            searched = rest.endIndex
            if let piece = try file.read(upToCount: Self.pieceByteCount), !piece.isEmpty {
                rest.append(piece)
                fetchedByteCount += piece.count
            } else {
                isAtEnd = true
            }
            buffer = rest
        }
    }
}
