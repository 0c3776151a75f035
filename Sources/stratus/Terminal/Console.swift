// The output of a verb: results go to standard output, progress and errors to standard error.
//
// Invariants:
//   1. Only this file writes control characters. Text from a store or a disk cannot move a cursor, change a colour or
//      hide text. Callers still use `VisibleText` for such text, so that a line end in it is not taken for the end of a
//      line.
//   2. Colours appear only on a terminal, and never with JSON.

import ArgumentParser
import CStratusSystem
import Foundation
import Synchronization

/// Of which moments the objects of a verb tell.
struct ReadMoments: Sendable {
    /// When the copy was made that is read.
    var copied: Date?
    /// When the reading of a store began that is read page by page, over several snapshots.
    var begun: Date?

    /// The members of an object that is written now; none if the store itself is read, at one moment.
    func object(at now: Date) -> JSONObject {
        if let copied { return ["asOf": Quantities.timestamp(copied)] }
        guard let begun else { return [:] }
        return ["asOf": Quantities.timestamp(begun), "asOfEnd": Quantities.timestamp(now)]
    }
}

/// The two outputs of one run. Use it on one thread, except for `Console.note`.
final class Console {
    /// A style by the terminal's code for it.
    enum Style: UInt32, CaseIterable {
        case end = 0
        case bold = 1
        case dim = 2
        case red = 31
        case green = 32
        case yellow = 33
        case blue = 34
        case cyan = 36

        /// The placeholders for the styles until the line is written: noncharacters, which `VisibleText` never lets
        /// through.
        fileprivate static let marks = Dictionary(
            uniqueKeysWithValues: zip((0xFDD0...0xFDEF).compactMap { Unicode.Scalar($0 as UInt32) }, allCases))

        fileprivate var mark: String { Self.marks.first { $0.value == self }.map { String($0.key) } ?? "" }
    }

    private static let output: Int32 = 1
    private static let errors: Int32 = 2
    private static let bufferByteCount = 64 << 10

    /// Whether every line of output is a JSON object.
    let usesJSON: Bool
    /// Whether a line of progress can be redrawn in place.
    let drawsProgress: Bool
    /// Whether a person can see questions.
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
        colours ? style.mark + text + Style.end.mark : text
    }

    /// Writes a line for people. Writes nothing with JSON.
    ///
    /// Throws `outputFailed` or `pipeBroken` if standard output cannot be written.
    func line(_ text: String = "") throws {
        guard !usesJSON else { return }
        guard colours else { return try append(VisibleText.of(text)) }
        // Terminal codes for styles, and no other control characters.
        let painted = text.replacingScalars { scalar in
            if let style = Style.marks[scalar] { return "\u{1B}[\(style.rawValue)m" }
            return VisibleText.isDangerous(scalar) ? DisplayText.spelled(scalar) : nil
        }
        try append(painted)
    }

    /// Writes an object for programs, with the date of the copy that is read. Writes nothing without JSON.
    func object(_ object: @autoclosure () throws -> JSONObject, isDated: Bool = true) throws {
        guard usesJSON else { return }
        var object = try object()
        if isDated { object = object + Self.moments.withLock { $0.object(at: Date()) } }
        try append(object.jsonText)
    }

    /// Writes an object with a list of any length, which is never in memory: `visit` gets a function that adds an
    /// element. Calls `visit` without JSON too. If `visit` throws, a part of the line may have been written.
    func object(
        _ object: JSONObject, list name: String, _ visit: (_ add: (JSONObject) throws -> Void) throws -> Void
    ) throws {
        guard usesJSON else { return try visit { _ in } }
        try append(object.jsonText.dropLast() + ",\(name.jsonText):[", terminator: "")
        var isFirst = true
        try visit { element in
            try append((isFirst ? "" : ",") + element.jsonText, terminator: "")
            isFirst = false
        }
        let moments = Self.moments.withLock { $0.object(at: Date()) }
        try append("]" + (moments.members.isEmpty ? "" : "," + moments.jsonText.dropFirst().dropLast()) + "}")
    }

    /// A process reads one store.
    private static let moments = Mutex(ReadMoments())

    /// Adds the date of the copy that is read instead of the store itself to all later objects.
    static func readsCopy(of date: Date) { moments.withLock { $0.copied = date } }

    /// Adds to all later objects since when the store has been read, and until when: its snapshots end early.
    static func readsSeveralMoments(since date: Date) { moments.withLock { $0.begun = date } }

    /// Says at the end of a list that --limit has left some out: on standard error, or with JSON as an object.
    func moreComing(_ things: String, limit: Int) throws {
        try object(["isMoreComing": true, "limit": limit])
        try flush()
        guard !usesJSON else { return }
        Self.note("note: there are more \(things) than --limit \(limit) shows; --limit 0 shows all")
    }

    /// Writes bytes to standard output as they are.
    ///
    /// Throws `outputFailed` or `pipeBroken` if it cannot be written.
    static func write(_ bytes: [UInt8]) throws { try write(bytes, to: output) }

    private func append(_ text: String, terminator: String = "\n") throws {
        buffer.append(contentsOf: text.utf8)
        buffer.append(contentsOf: terminator.utf8)
        if buffer.count >= Self.bufferByteCount { try flush() }
    }

    /// Writes the buffered output, and removes the progress bar.
    func flush() throws {
        guard !buffer.isEmpty else { return }
        defer { buffer.removeAll(keepingCapacity: true) }
        clearProgressLine()
        try Self.write(buffer, to: Self.output)
    }

    /// Writes a line to standard error at once, from any thread.
    static func note(_ text: String) { writeError { $0.note(text) } }

    /// Says that the unfinished work of a killed verb was removed.
    static func noteOfLeftover(_ path: String) {
        note("note: removed the unfinished work of a killed verb: \(VisibleText.of(path))")
    }

    /// Writes a note from the signal thread. Skips the note if standard error has no reader, which may block other
    /// threads too; waits for a thread that is writing to a reader.
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

    /// Asks on the terminal and returns the answer. Nil if the input ends; then the line is ended too.
    func ask(_ text: String) -> String? {
        Self.writeError { $0.clearing() + VisibleText.of(text) }
        if let answer = readLine() { return answer }
        Self.writeError { _ in "\n" }
        return nil
    }

    /// The number of characters that fit on a line of progress.
    var progressWidth: Int {
        let columns = Int(cfiletree_terminal_columns(Self.errors))
        return max(20, columns == 0 ? 79 : columns - 1)
    }

    /// Replaces the line of progress.
    func redraw(_ text: String) {
        let width = progressWidth
        Self.writeError { $0.drawing(text, width: width) }
    }

    /// Removes the progress bar, if one is drawn.
    func clearProgressLine() { Self.writeError { $0.clearing() } }

    private static let bar = Mutex(BarLine())

    /// Writes to standard error. The bar is locked meanwhile, because the signal thread writes notes too.
    private static func writeError(_ text: (inout BarLine) -> String) {
        bar.withLock { line in
            let bytes = Array(text(&line).utf8)
            try? write(bytes, to: errors)
        }
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) throws {
        do throws(FileError) {
            try Disk.write(bytes, to: descriptor)
        } catch {
            if error.number == EPIPE { throw ToolError(.pipeBroken, "The reader has closed the pipe.") }
            throw ToolError.outputFailed(["reason": error.reason], isFull: error.isLackOfSpace)
        }
    }
}

extension ToolError {
    /// The results cannot be written: no space is left, or something else is wrong.
    static func outputFailed(_ fields: [String: String], isFull: Bool) -> ToolError {
        ToolError(
            .outputFailed,
            isFull
                ? "The output cannot be written: free space, or write it to another disk."
                : "The output cannot be written: redirect it to a file or pipe that is open for writing.", fields)
    }
}

/// The line of a terminal on which a progress bar may be drawn. Returns the text to write for each change.
struct BarLine {
    /// Moves the cursor to the beginning of the line, and clears the line.
    private static let emptying = "\r\u{1B}[K"

    private var isDrawn = false

    /// Replaces the bar. `VisibleText` may make the text longer than it was.
    mutating func drawing(_ text: String, width: Int) -> String {
        isDrawn = true
        return Self.emptying + String(VisibleText.of(text).prefix(width))
    }

    /// Removes the bar.
    mutating func clearing() -> String {
        defer { isDrawn = false }
        return isDrawn ? Self.emptying : ""
    }

    /// Replaces the bar with lines.
    mutating func note(_ text: String) -> String { clearing() + VisibleText.ofLines(text) + "\n" }
}

/// The arguments of a verb that removes something: --force and --dry-run. The verb calls `mayDo` when it knows what it
/// will remove, and before it removes anything.
struct DeedArguments: ParsableArguments {
    private static let input: Int32 = 0

    @Flag(help: "Do not ask. Required without a terminal.")
    var force = false

    @Flag(help: "Print what the verb would do, and change nothing.")
    var dryRun = false

    /// Returns whether to continue. `deed` describes the change: "delete zone notes with 12 records". It is not
    /// evaluated with --force.
    ///
    /// With --dry-run, prints the deed with `details` as the result, `{"dryRun":true,"would":…,…details}`, and returns
    /// false.
    ///
    /// Throws `refused` if the answer on the terminal is not yes, and if there is no terminal.
    func mayDo(
        _ deed: @autoclosure () throws -> String, _ details: JSONObject = [:], _ console: Console
    ) throws -> Bool {
        if force, !dryRun { return true }
        let deed = try deed()
        let visible = VisibleText.of(deed)
        if dryRun {
            try console.line("would " + visible)
            try console.object(["dryRun": true, "would": deed] + details)
            try console.flush()
            return false
        }
        guard console.canAsk, cfiletree_is_terminal(Self.input) == 1 else {
            throw ToolError(
                .refused, "Nothing was changed: without a terminal, use --force, or --dry-run to look first.",
                ["would": deed])
        }
        // The end of the input counts as no.
        let answer = console.ask("About to \(visible). This cannot be undone. Continue? [y/N] ")?.lowercased()
        guard answer == "y" || answer == "yes" else {
            throw ToolError(.refused, "Nothing was changed: the answer was not yes.", ["would": deed])
        }
        return true
    }
}
