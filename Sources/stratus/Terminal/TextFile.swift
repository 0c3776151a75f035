// Text files and lines that verbs read.

import Foundation

enum TextFile {
    /// Reads a file or a pipe, or standard input for "-".
    ///
    /// Throws `notFound` or `refused` if it cannot be read, `usage` if it is not UTF-8.
    static func contents(of path: String) throws -> String {
        let data: Data
        do {
            // A handle also reads pipes, such as the shell's <(…).
            let file =
                path == "-" ? FileHandle.standardInput : try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            data = try file.readToEnd() ?? Data()
        } catch {
            throw unreadable(path, error)
        }
        guard let text = String(validating: data, as: UTF8.self) else {
            throw ToolError(.usage, "The file is not UTF-8.", ["file": path])
        }
        return text
    }

    /// The error for a file that is not there, or cannot be read.
    static func unreadable(_ path: String, _ error: any Error) -> ToolError {
        let isMissing = (error as? CocoaError)?.code == .fileReadNoSuchFile
        return ToolError(
            isMissing ? .notFound : .refused, "The file cannot be read: check its path and permissions.",
            ["file": path, "reason": reason(error)])
    }

    /// Why a file cannot be read: what the system says.
    static func reason(_ error: any Error) -> String {
        let beneath = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
        return (beneath ?? error as NSError).localizedDescription
    }

    /// Creates a file, whole or not at all. Only its owner can read it.
    ///
    /// Throws `refused` if the path is taken, is inside a store, or cannot be written.
    static func create(_ path: String, _ text: String) throws {
        try StorePath.requireOutside(path)
        do {
            try DraftFile.write(text, to: path, replacing: false)
        } catch let error as FileError {
            throw refused(path, error)
        }
    }

    /// The error for a file that cannot be created.
    static func refused(_ path: String, _ error: FileError) -> ToolError {
        ToolError(
            .refused, "The file cannot be created: choose a free name in a folder where you may write.",
            ["file": path, "reason": error.reason])
    }
}

/// Reads the lines of a file or of standard input. Memory holds one line and one piece of the file.
struct LineReader {
    /// The longest allowed line, in bytes.
    static let maximumLineByteCount = 256 << 20
    private static let pieceByteCount = 1 << 20

    private let file: FileHandle
    private let path: String
    private var buffer = Data()
    private var isAtEnd = false
    private(set) var lineNumber = 0
    /// The size of the file; nil for a pipe.
    let byteCount: Int?
    private var fetchedByteCount = 0
    /// The size of the lines so far.
    var readByteCount: Int { fetchedByteCount - buffer.count }

    /// Throws `notFound` or `refused` if the file cannot be read.
    init(path: String) throws {
        self.path = path
        if path == "-" {
            file = .standardInput
            byteCount = nil
        } else {
            do {
                file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            } catch {
                throw TextFile.unreadable(path, error)
            }
            // A pipe can be opened but not sought in.
            byteCount = (try? file.seekToEnd()).map { Int(clamping: $0) }
            if byteCount != nil { try file.seek(toOffset: 0) }
        }
    }

    private func readPiece() throws -> Data? {
        do { return try file.read(upToCount: Self.pieceByteCount) } catch {
            throw ToolError(
                .refused, "The file cannot be read: name a file or a pipe with the lines of an export.",
                ["file": path, "reason": TextFile.reason(error)])
        }
    }

    /// The next line without its line end; nil after the last one.
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
                throw ToolError(.damaged, "A line is too long for an export.", ["line": "\(lineNumber + 1)"])
            }
            // Copy the rest, so that no piece stays in memory longer than its lines.
            var rest = Data(buffer)
            searched = rest.endIndex
            if let piece = try readPiece(), !piece.isEmpty {
                rest.append(piece)
                fetchedByteCount += piece.count
            } else {
                isAtEnd = true
            }
            buffer = rest
        }
    }
}
