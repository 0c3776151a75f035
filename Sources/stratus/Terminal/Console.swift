// Where output goes: results to standard output, progress and errors to standard error.
//
// Invariants:
//   1. Nothing that is written can move a cursor, change a colour or hide text but what this file puts there itself. Who
//      prints what a store or a disk holds calls `VisibleText` all the same, where ends of lines would be mistaken.
//   2. Colours appear only on a terminal, and never with JSON.

import ArgumentParser
import CSystem
import FoundationEssentials
import Synchronization

/// The two outputs of one run. Used on one thread, but for `Console.note`.
final class Console {
    enum Style: UInt32, CaseIterable {
        case bold = 1
        case dim = 2
        case red = 31
        case green = 32
        case yellow = 33
        case blue = 34
        case cyan = 36

        /// Stand for the style and its end in a line until it is written: no characters, and `VisibleText` lets none pass.
        fileprivate var mark: String { Self.marks.first { $0.value == rawValue }.map { String($0.key) } ?? "" }
        fileprivate static let endMark = Unicode.Scalar(0xFDEF as UInt32).map { String($0) } ?? ""

        /// The code of the terminal for each mark.
        fileprivate static let marks: [Unicode.Scalar: UInt32] = {
            var marks: [Unicode.Scalar: UInt32] = [:]
            for scalar in endMark.unicodeScalars { marks[scalar] = 0 }
            for (index, style) in allCases.enumerated() {
                if let mark = Unicode.Scalar(0xFDD0 + UInt32(index)) { marks[mark] = style.rawValue }
            }
            return marks
        }()
    }

    private static let output: Int32 = 1
    private static let errors: Int32 = 2
    private static let bufferByteCount = 64 << 10

    /// Whether every line of output is a JSON object.
    let usesJSON: Bool
    /// Whether progress can be drawn over and over on one line.
    let drawsProgress: Bool
    /// Whether questions are seen by somebody.
    let canAsk: Bool
    private let colours: Bool
    private var buffer: [UInt8] = []

    init(usesJSON: Bool) {
        let environment = ProcessInfo.processInfo.environment
        let isDumb = environment["TERM"].map { $0 == "dumb" } ?? true
        self.usesJSON = usesJSON
        colours =
            !usesJSON && !isDumb && environment["NO_COLOR", default: ""].isEmpty
            && cfiletree_is_terminal(Self.output) == 1
        canAsk = cfiletree_is_terminal(Self.errors) == 1
        drawsProgress = !isDumb && canAsk
    }

    func styled(_ text: String, _ style: Style) -> String {
        colours ? style.mark + text + Style.endMark : text
    }

    /// Writes a line for people. With JSON there are no such lines.
    ///
    /// Throws `ToolError` when standard output takes no more.
    func line(_ text: String = "") throws {
        guard !usesJSON else { return }
        try append(colours ? Self.painted(text) : VisibleText.of(text))
    }

    /// A line with its styles as the terminal wants them, and nothing else that it would act on.
    private static func painted(_ text: String) -> String {
        var line = ""
        for scalar in text.unicodeScalars {
            if let code = Style.marks[scalar] {
                line += "\u{1B}[\(code)m"
            } else if VisibleText.isDangerous(scalar) {
                line += VisibleText.of(String(scalar))
            } else {
                line.unicodeScalars.append(scalar)
            }
        }
        return line
    }

    /// Writes an object for programs, which says as of when it is. Without JSON there are none.
    func object(_ object: @autoclosure () -> JSONObject, isDated: Bool = true) throws {
        guard usesJSON else { return }
        var object = object()
        if isDated, let date = Self.copyDate.withLock({ $0 }) { object.add("asOf", Quantities.timestamp(date)) }
        try append(JSONValue.object(object).text)
    }

    /// The same of an object with a list as long as the store has things, which is never in memory: `visit` is handed what adds
    /// an element to it. It is called without JSON, too. Where it throws, a part of the line may have been written.
    func object(
        _ object: JSONObject, list name: String, _ visit: (_ add: (JSONObject) throws -> Void) throws -> Void
    ) throws {
        guard usesJSON else { return try visit { _ in } }
        let members = object.members.map { JSONValue.string($0.key).text + ":" + $0.value.text + "," }
        try append("{" + members.joined() + JSONValue.string(name).text + ":[", terminator: "")
        var isFirst = true
        try visit { element in
            try append((isFirst ? "" : ",") + JSONValue.object(element).text, terminator: "")
            isFirst = false
        }
        let date = Self.copyDate.withLock { $0 }
        try append("]" + (date.map { ",\"asOf\":" + Quantities.timestamp($0).text } ?? "") + "}")
    }

    /// When the copy was made that is read instead of the store itself. The process reads one store.
    private static let copyDate = Mutex<Date?>(nil)

    /// Has every object say from here on as of when it is.
    static func readsCopy(of date: Date) { copyDate.withLock { $0 = date } }

    /// Says at the end of a list that its limit has left things out: on standard error, with JSON as an object.
    func moreComing(_ things: String, limit: Int) throws {
        try object(["isMoreComing": true, "limit": JSONValue(limit)])
        try flush()
        guard !usesJSON else { return }
        note("note: there are more \(things) than --limit \(limit) shows; --limit 0 shows all")
    }

    private func append(_ text: String, terminator: String = "\n") throws {
        buffer.append(contentsOf: text.utf8)
        buffer.append(contentsOf: terminator.utf8)
        if buffer.count >= Self.bufferByteCount { try flush() }
    }

    /// Hands on what has gathered, in the place of a bar.
    func flush() throws {
        guard !buffer.isEmpty else { return }
        defer { buffer.removeAll(keepingCapacity: true) }
        clearProgressLine()
        try Self.write(buffer, to: Self.output)
    }

    /// Writes a line beside the results, at once.
    func note(_ text: String) { Self.note(text) }

    /// The same from any thread.
    static func note(_ text: String) { tell { $0.note(text) } }

    /// Says that what a killed verb had left was removed.
    static func noteOfLeftover(_ path: String) {
        note("note: removed what a verb that was killed had left: \(VisibleText.of(path))")
    }

    /// The same for the thread that hears signals: left out where nobody reads, who may keep another thread too. Another that
    /// is writing what somebody reads is waited for.
    static func noteOfSignal(_ text: String) {
        for number in 1...signalNoteAttemptCount {
            let isWritten: Void? = bar.withLockIfAvailable { line in
                guard cfiletree_is_writable(errors) == 1 else { return }
                try? write(Array(line.note(text).utf8), to: errors)
            }
            if isWritten != nil { return }
            if number >= unreadNoteAttemptCount, cfiletree_is_writable(errors) != 1 { return }
            cfiletree_sleep(signalNotePauseMilliseconds)
        }
    }

    private static let signalNoteAttemptCount = 1_500
    private static let unreadNoteAttemptCount = 10
    private static let signalNotePauseMilliseconds: Int32 = 20

    /// Asks on the terminal and returns the answer; nil where the input ends instead, whose line is ended then.
    func ask(_ text: String) -> String? {
        Self.tell { $0.clearing() + VisibleText.of(text) }
        if let answer = readLine() { return answer }
        Self.tell { _ in "\n" }
        return nil
    }

    /// How many characters of progress fit on a line.
    var progressWidth: Int {
        let columns = Int(cfiletree_terminal_columns(Self.errors))
        return max(20, columns == 0 ? 79 : columns - 1)
    }

    /// Draws over the line of progress. What is spelled out may make a text longer than it was.
    func redraw(_ text: String) {
        let width = progressWidth
        Self.tell { $0.drawing(text, width: width) }
    }

    /// Takes the bar away, where one is drawn.
    func clearProgressLine() { Self.tell { $0.clearing() } }

    private static let bar = Mutex(BarLine())

    /// Writes to standard error what `text` makes of the bar. It stays locked meanwhile, because signals are told of on a
    /// thread of their own.
    private static func tell(_ text: (inout BarLine) -> String) {
        bar.withLock { line in
            let bytes = Array(text(&line).utf8)
            try? write(bytes, to: errors)
        }
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = cfiletree_write(descriptor, rest.span)
            guard count >= 0 else {
                if -count == FileError.brokenPipe { throw ToolError(.pipeBroken, "Nobody reads the output.") }
                throw ToolError(
                    .outputFailed, "The output cannot be written: send it where there is room.",
                    ["reason": FileError(number: Int32(truncatingIfNeeded: -count)).reason])
            }
            rest = rest.dropFirst(Int(count))
        }
    }
}

/// What a terminal is sent where lines come while a bar may be drawn.
struct BarLine {
    /// Takes the cursor to the beginning of its line, and away what stands on it.
    private static let emptying = "\r\u{1B}[K"

    private var isDrawn = false

    /// A bar, over the one before.
    mutating func drawing(_ text: String, width: Int) -> String {
        isDrawn = true
        return Self.emptying + String(VisibleText.of(text).prefix(width))
    }

    /// Nothing in the place of a bar.
    mutating func clearing() -> String {
        defer { isDrawn = false }
        return isDrawn ? Self.emptying : ""
    }

    /// Lines in the place of a bar.
    mutating func note(_ text: String) -> String { clearing() + VisibleText.ofLines(text) + "\n" }
}

// What every verb asks for that takes something away: --force, --dry-run, or a yes on the terminal.

/// The arguments of a verb whose deed cannot be undone. Such a verb calls `mayDo` when it knows what would happen, and
/// before anything has.
struct DeedArguments: ParsableArguments {
    private static let input: Int32 = 0

    @Flag(help: "Do it without asking. Needed where nobody can be asked: without a terminal.")
    var force = false

    @Flag(help: "Say what would be done, and change nothing.")
    var dryRun = false

    /// Whether to go on with the deed, which is said as what is to happen: "delete zone notes with 12 records". It is not
    /// asked for under --force.
    ///
    /// Under --dry-run it is told with `details` as a result, `{"dryRun":true,"would":…,…details}`, and the verb is over.
    ///
    /// Throws `refused` where the person on the terminal does not say yes, and where nobody can be asked.
    func mayDo(
        _ deed: @autoclosure () throws -> String, _ details: JSONObject = [:], _ console: Console
    ) throws -> Bool {
        if force, !dryRun { return true }
        let deed = try deed()
        let visible = VisibleText.of(deed)
        if dryRun {
            var object: JSONObject = ["dryRun": true, "would": .string(deed)]
            for (key, value) in details.members { object.add(key, value) }
            try console.line("would " + visible)
            try console.object(object)
            try console.flush()
            return false
        }
        guard console.canAsk, cfiletree_is_terminal(Self.input) == 1 else {
            throw ToolError(
                .refused, "Nothing was changed: say --force where nobody can be asked, or --dry-run to look first.",
                ["would": deed])
        }
        // The end of the input is no yes.
        let answer = console.ask("About to \(visible). This cannot be undone. Go on? [y/N] ")?.lowercased()
        guard answer == "y" || answer == "yes" else {
            throw ToolError(.refused, "Nothing was changed: the answer was not yes.", ["would": deed])
        }
        return true
    }
}
