// Where output goes: results to standard output, progress and errors to standard error.
//
// Invariants: what is read from a store or a disk passes `VisibleText` or JSON before it comes here. Colours appear only
// on a terminal, and never with JSON.

import CFileTree
import FoundationEssentials

/// The two outputs of one run. Used on one thread.
final class Console {
    enum Style: String {
        case bold = "1"
        case dim = "2"
        case red = "31"
        case green = "32"
        case yellow = "33"
        case blue = "34"
        case cyan = "36"
    }

    private static let output: Int32 = 1
    private static let errors: Int32 = 2
    private static let bufferByteCount = 64 << 10

    /// Whether every line of output is a JSON object.
    let usesJSON: Bool
    /// Whether progress can be drawn over and over on one line.
    let drawsProgress: Bool
    private let colours: Bool
    private var buffer: [UInt8] = []

    init(usesJSON: Bool) {
        let environment = ProcessInfo.processInfo.environment
        let isDumb = environment["TERM"].map { $0 == "dumb" } ?? true
        self.usesJSON = usesJSON
        colours =
            !usesJSON && !isDumb && environment["NO_COLOR", default: ""].isEmpty
            && cfiletree_is_terminal(Self.output) == 1
        drawsProgress = !isDumb && cfiletree_is_terminal(Self.errors) == 1
    }

    func styled(_ text: String, _ style: Style) -> String {
        colours ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
    }

    /// Writes a line for people. With JSON there are no such lines.
    ///
    /// Throws `ToolError` when standard output takes no more.
    func line(_ text: String = "") throws {
        guard !usesJSON else { return }
        try append(text)
    }

    /// Writes an object for programs. Without JSON there are none.
    func object(_ object: @autoclosure () -> JSONObject) throws {
        guard usesJSON else { return }
        try append(JSONValue.object(object()).text)
    }

    private func append(_ text: String) throws {
        buffer.append(contentsOf: text.utf8)
        buffer.append(UInt8(ascii: "\n"))
        if buffer.count >= Self.bufferByteCount { try flush() }
    }

    /// Hands on what has gathered.
    func flush() throws {
        defer { buffer.removeAll(keepingCapacity: true) }
        try Self.write(buffer, to: Self.output)
    }

    /// Writes a line beside the results, at once.
    func note(_ text: String) { Self.note(text) }

    static func note(_ text: String) { try? write(Array((text + "\n").utf8), to: errors) }

    /// Draws over the line of progress.
    func redraw(_ text: String) {
        let columns = Int(cfiletree_terminal_columns(Self.errors))
        let line = String(text.prefix(max(20, columns == 0 ? 79 : columns - 1)))
        try? Self.write(Array("\r\u{1B}[K\(line)".utf8), to: Self.errors)
    }

    func clearProgressLine() { try? Self.write(Array("\r\u{1B}[K".utf8), to: Self.errors) }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = cfiletree_write(descriptor, rest.span)
            guard count >= 0 else {
                throw ToolError(
                    .outputFailed, "The output cannot be written: send it where there is room.",
                    ["reason": FileError(number: Int32(truncatingIfNeeded: -count)).reason])
            }
            rest = rest.dropFirst(Int(count))
        }
    }
}
