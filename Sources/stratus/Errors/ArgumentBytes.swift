// The arguments as the shell gave them. Swift hands them out as text, in which bytes that are not UTF-8 are replaced: a
// path then names something else than was meant, and a store would be made there.

enum ArgumentBytes {
    /// Throws `usage` for arguments that are not UTF-8. `arguments` are those behind the program's name.
    static func check(_ arguments: [String]) throws(ToolError) {
        guard let suspect = arguments.first(where: { $0.contains("\u{FFFD}") }) else { return }
        var damaged: String? = suspect
        if let line = try? FileSystem.contents(of: Array("/proc/self/cmdline".utf8)) {
            damaged = firstDamaged(in: line)
        }
        guard let damaged else { return }
        throw ToolError(
            .usage,
            "An argument is not UTF-8: rename what it names; a directory is imported with the one that holds it, too.",
            ["argument": damaged])
    }

    /// The first argument of a command line, as the kernel lays it out, that is not UTF-8: its bad bytes are escaped.
    private static func firstDamaged(in line: [UInt8]) -> String? {
        line.split(separator: 0).map(Array.init)
            .first { String(validating: $0, as: UTF8.self) == nil }
            .map { FileName($0).displayText }
    }
}
