// Histories as text, one step or item a line:
//
//     depth 6
//     create 0
//     commit 12
//     in 0
//     save "a" under "b" shared "s" content 7
//     delete "c\u{0}"
//     abort
//     pin 3 / reopen / compact / purge 0 keep 2 / purge-zones 1 / drop 0
//
// `in` and the items that follow belong to the `commit` above them, `abort` too. A name is quoted; in it everything but
// printable ASCII is written as \u{…}, and so are quotes and backslashes.

import StratusModel

/// A line of a history's text with an unknown statement.
package struct HistoryTextError: Error, CustomStringConvertible {
    package let description: String
}

extension History: CustomStringConvertible {
    package var description: String {
        (["depth \(depthLimit)"] + steps.flatMap(\.lines)).joined(separator: "\n")
    }

    /// Parses the output of `description`. Empty lines and lines that begin with # are skipped.
    package init(text: String) throws {
        self.init(depthLimit: 10, steps: [])
        for line in text.split(separator: "\n", omittingEmptySubsequences: true) where !line.hasPrefix("#") {
            try append(HistoryWords(line))
        }
    }

    private mutating func append(_ line: HistoryWords) throws {
        var words = line
        switch try words.word() {
        case "depth": depthLimit = try words.number()
        case "create": steps.append(.createZone(try words.number()))
        case "drop": steps.append(.deleteZone(try words.number()))
        case "reopen": steps.append(.reopen)
        case "compact": steps.append(.compact)
        case "purge":
            let zone = try words.number()
            try words.expect("keep")
            steps.append(.purgeHistory(zone: zone, keep: try words.number()))
        case "purge-zones": steps.append(.purgeZones(commits: try words.number()))
        case "pin": steps.append(.pin(steps: try words.number()))
        case "commit": steps.append(.commit(HistoryCommit(time: try words.number(), requests: [])))
        case "in":
            let zone = try words.number()
            try changeCommit(words) { $0.requests.append(HistoryRequest(zone: zone, items: [])) }
        case "abort": try changeCommit(words) { $0.isAborted = true }
        case "delete": try append(.delete(RecordName(try words.name())), words)
        case "save":
            let name = RecordName(try words.name())
            let parent = try words.accept("under") ? RecordName(try words.name()) : nil
            let share = try words.accept("shared") ? RecordName(try words.name()) : nil
            try words.expect("content")
            try append(.save(name: name, parent: parent, share: share, content: try words.number()), words)
        default: throw HistoryTextError(description: "no step begins like this: \(words.line)")
        }
    }

    private mutating func append(_ item: HistoryItem, _ words: HistoryWords) throws {
        try changeCommit(words) { commit in
            guard !commit.requests.isEmpty else { throw HistoryTextError(description: "no `in` before: \(words.line)") }
            commit.requests[commit.requests.count - 1].items.append(item)
        }
    }

    private mutating func changeCommit(
        _ words: HistoryWords, _ change: (inout HistoryCommit) throws -> Void
    ) throws {
        guard case .commit(var commit)? = steps.last else {
            throw HistoryTextError(description: "no `commit` before: \(words.line)")
        }
        try change(&commit)
        steps[steps.count - 1] = .commit(commit)
    }
}

extension HistoryStep {
    fileprivate var lines: [String] {
        switch self {
        case .createZone(let zone): return ["create \(zone)"]
        case .deleteZone(let zone): return ["drop \(zone)"]
        case .reopen: return ["reopen"]
        case .compact: return ["compact"]
        case .purgeHistory(let zone, let keep): return ["purge \(zone) keep \(keep)"]
        case .purgeZones(let commits): return ["purge-zones \(commits)"]
        case .pin(let steps): return ["pin \(steps)"]
        case .commit(let commit):
            let requests = commit.requests.flatMap { ["in \($0.zone)"] + $0.items.map(\.line) }
            return ["commit \(commit.time)"] + requests + (commit.isAborted ? ["abort"] : [])
        }
    }
}

extension HistoryItem {
    fileprivate var line: String {
        switch self {
        case .save(let name, let parent, let share, let content):
            let parentText = parent.map { " under \(HistoryWords.quoted($0.text))" } ?? ""
            let shareText = share.map { " shared \(HistoryWords.quoted($0.text))" } ?? ""
            return "save \(HistoryWords.quoted(name.text))\(parentText)\(shareText) content \(content)"
        case .delete(let name): return "delete \(HistoryWords.quoted(name.text))"
        }
    }
}

/// The words of one line, read from left to right.
private struct HistoryWords {
    let line: Substring
    private var rest: [Unicode.Scalar].SubSequence

    init(_ line: Substring) {
        self.line = line
        rest = Array(line.unicodeScalars)[...]
    }

    static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            if (0x20..<0x7F).contains(scalar.value), scalar != "\"", scalar != "\\" {
                quoted.unicodeScalars.append(scalar)
            } else {
                quoted += "\\u{\(String(scalar.value, radix: 16))}"
            }
        }
        return quoted + "\""
    }

    mutating func word() throws -> String {
        rest = rest.drop { $0 == " " }
        let word = rest.prefix { $0 != " " }
        guard !word.isEmpty else { throw HistoryTextError(description: "a word is missing: \(line)") }
        rest = rest.dropFirst(word.count)
        return Self.text(word)
    }

    mutating func number() throws -> Int {
        guard let number = Int(try word()) else { throw HistoryTextError(description: "a number is missing: \(line)") }
        return number
    }

    mutating func accept(_ expected: String) throws -> Bool {
        let before = rest
        if try word() == expected { return true }
        rest = before
        return false
    }

    mutating func expect(_ expected: String) throws {
        guard try accept(expected) else { throw HistoryTextError(description: "`\(expected)` is missing: \(line)") }
    }

    mutating func name() throws -> String {
        rest = rest.drop { $0 == " " }
        guard rest.popFirst() == "\"" else { throw HistoryTextError(description: "a name is missing: \(line)") }
        var name = String.UnicodeScalarView()
        while let scalar = rest.popFirst() {
            if scalar == "\"" { return String(name) }
            guard scalar == "\\" else {
                name.append(scalar)
                continue
            }
            let digits = rest.dropFirst(2).prefix { $0 != "}" }
            guard rest.starts(with: ["u", "{"]), let value = UInt32(Self.text(digits), radix: 16),
                let escaped = Unicode.Scalar(value)
            else { break }
            name.append(escaped)
            rest = rest.dropFirst(digits.count + 3)
        }
        throw HistoryTextError(description: "a name does not end: \(line)")
    }

    private static func text(_ scalars: some Sequence<Unicode.Scalar>) -> String {
        var view = String.UnicodeScalarView()
        view.append(contentsOf: scalars)
        return String(view)
    }
}
