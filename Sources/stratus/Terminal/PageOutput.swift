// Where a picture or a page goes: to standard output, or whole into a file of its own.

import ArgumentParser
import Foundation
import StratusKit

/// The arguments of a verb that makes a file for people to look at.
struct OutputArguments: ParsableArguments {
    @Option(help: ArgumentHelp("The file to make; else standard output.", valueName: "file"), completion: .file())
    var output: String?

    @Flag(help: "Replace the file where there is one.")
    var force = false

    /// Looks before the work is done whether there is room for the file.
    ///
    /// Throws `refused` where a file is there and is not to be replaced, or where a directory is, `notFound` where there is
    /// no directory for it, `refused` too for a place in a store.
    func check() throws {
        guard let output else { return }
        guard !output.isEmpty else { throw ToolError(.usage, "--output names no file.") }
        let folder = URL(fileURLWithPath: AbsolutePath.of(output)).deletingLastPathComponent().path
        guard (try? FileSystem.factsOfTarget(of: Array(folder.utf8)))?.kind == .folder else {
            throw ToolError(.notFound, "There is no directory for the file: make it first.", ["file": output])
        }
        try StorePath.requireOutside(output)
        guard let facts = try? FileSystem.facts(of: Array(output.utf8)) else { return }
        if facts.kind == .folder {
            throw ToolError(.refused, "A directory is there: name a file in it.", ["file": output])
        }
        guard force else { throw PageFile.taken(output) }
    }
}

/// A file that appears whole or not at all.
enum PageFile {
    static func taken(_ path: String) -> ToolError {
        ToolError(.refused, "A file is there already: say --force to replace it, or name another.", ["file": path])
    }

    /// Writes the file as a draft, which gets its name once it is on the disk. What is drawn of a store is for its owner alone
    /// to read.
    ///
    /// Throws `refused` where a file is there and is not to be replaced, `outputFailed` where it cannot be written.
    static func write(_ text: String, to path: String, replacing: Bool) throws {
        do {
            let draft = try DraftFile(for: path)
            defer { draft.discard() }
            try draft.write(Array(text.utf8))
            try draft.finish(replacing: replacing)
        } catch let error as FileError {
            if error.number == FileError.alreadyThere, !replacing { throw taken(path) }
            throw failed(path, error.reason)
        }
    }

    private static func failed(_ path: String, _ reason: String) -> ToolError {
        ToolError(
            .outputFailed, "The file cannot be written: name one where there is room and where you may write.",
            ["file": path, "reason": reason])
    }
}
