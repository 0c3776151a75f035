// Files of text that a verb reads or makes whole.

import Foundation

enum TextFile {
    /// The text of a file, or of standard input for "-".
    ///
    /// Throws `notFound` where it cannot be read, `usage` where it is no UTF-8.
    static func contents(of path: String) throws -> String {
        let data: Data
        do {
            data =
                path == "-"
                ? try FileHandle.standardInput.readToEnd() ?? Data() : try Data(contentsOf: URL(fileURLWithPath: path))
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

    /// Makes a file that is not there.
    ///
    /// Throws `refused` where something is there, where a store is around it, or where it cannot be written.
    static func create(_ path: String, _ text: String) throws {
        try StorePath.requireOutside(path)
        do {
            try Data(text.utf8).write(to: URL(fileURLWithPath: path), options: .withoutOverwriting)
        } catch {
            throw ToolError(
                .refused, "The file cannot be made: choose a name that is free, in a folder that may be written to.",
                ["file": path, "reason": error.localizedDescription])
        }
    }
}
