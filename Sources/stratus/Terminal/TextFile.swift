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
