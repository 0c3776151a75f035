// Files of text that a verb reads or makes whole.

import Foundation

enum TextFile {
    /// The text of a file or a pipe, or of standard input for "-".
    ///
    /// Throws `notFound` where it cannot be read, `usage` where it is no UTF-8.
    static func contents(of path: String) throws -> String {
        let data: Data
        do {
            // A handle reads pipes, too, such as the shell's <(…).
            let file =
                path == "-" ? FileHandle.standardInput : try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            data = try file.readToEnd() ?? Data()
        } catch {
            throw ToolError(
                .notFound, "The file cannot be read: check its path and permissions.",
                ["file": path, "reason": error.localizedDescription])
        }
        guard let text = String(validating: data, as: UTF8.self) else {
            throw ToolError(.usage, "The file is not UTF-8.", ["file": path])
        }
        return text
    }

    /// Makes a file that is not there, whole or not at all. It is for its owner alone to read.
    ///
    /// Throws `refused` where something is there, where a store is around it, or where it cannot be written.
    static func create(_ path: String, _ text: String) throws {
        try StorePath.requireOutside(path)
        do {
            let draft = try DraftFile(for: path)
            defer { draft.discard() }
            try draft.write(Array(text.utf8))
            try draft.finish(replacing: false)
        } catch let error as FileError {
            throw refused(path, error)
        }
    }

    /// The error for a file that cannot be made.
    static func refused(_ path: String, _ error: FileError) -> ToolError {
        ToolError(
            .refused, "The file cannot be made: choose a name that is free, in a folder that may be written to.",
            ["file": path, "reason": error.reason])
    }
}

// The lines of a file or of standard input, one after another. Memory holds one line and one piece of the file.

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
