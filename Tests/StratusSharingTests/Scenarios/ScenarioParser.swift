// Reads a scenario's text. Everything that is not understood is an error with file and line.

import Foundation
import StratusKit
import StratusSharingSupport

extension Scenario {
    /// Reads a scenario.
    ///
    /// Throws `ScenarioError` for the first line that is not understood.
    init(file: String, text: String) throws {
        self.init(file: file)
        var names = ScenarioNames()
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            let text = line.trimmingCharacters(in: .whitespaces)
            if text.isEmpty || text.hasPrefix("#") { continue }
            var words = ScenarioWords(text, file: file, line: index + 1)
            if people.isEmpty {
                try words.expect("people")
                people = try words.rest()
                names.people = Set(people)
                guard names.people.count == people.count else { throw words.error("somebody is named twice") }
                continue
            }
            let content = try words.content(&names)
            try words.end()
            self.lines.append(ScenarioLine(number: index + 1, text: text, content: content))
        }
        guard self.lines.contains(where: { if case .expectation = $0.content { true } else { false } }) else {
            throw ScenarioError(file: file, line: lines.count, message: "nothing is expected anywhere")
        }
    }
}

/// The names so far, so that a typing error is an error and not a missing record.
private struct ScenarioNames {
    var people: Set<String> = []
    var zones: Set<String> = []
    var shares: Set<String> = []
}

/// The words of one line, from left to right.
private struct ScenarioWords {
    private var words: ArraySlice<String>
    private let file: String
    private let line: Int

    init(_ text: String, file: String, line: Int) {
        words = text.split(separator: " ").map(String.init)[...]
        self.file = file
        self.line = line
    }

    func error(_ message: String) -> ScenarioError { ScenarioError(file: file, line: line, message: message) }

    mutating func word(_ what: String) throws -> String {
        guard let word = words.popFirst() else { throw error("\(what) is missing") }
        return word
    }

    mutating func expect(_ word: String) throws {
        guard words.popFirst() == word else { throw error("'\(word)' is missing") }
    }

    mutating func accept(_ word: String) -> Bool {
        guard words.first == word else { return false }
        words.removeFirst()
        return true
    }

    mutating func rest() throws -> [String] {
        guard !words.isEmpty else { throw error("names are missing") }
        defer { words = [] }
        return Array(words)
    }

    func end() throws {
        guard let word = words.first else { return }
        throw error("'\(word)' is too much")
    }

    // MARK: Lines

    mutating func content(_ names: inout ScenarioNames) throws -> ScenarioLine.Content {
        let first = try word("a person")
        switch first {
        case "zone":
            let zone = try word("a zone")
            try expect("of")
            names.zones.insert(zone)
            return .zone(zone, owner: try person(names))
        case "suspend": return .standing(try person(names), isGood: false)
        case "restore": return .standing(try person(names), isGood: true)
        default: break
        }
        guard !names.zones.isEmpty else { throw error("there is no zone yet") }
        if first.hasSuffix(":") {
            let name = try known(String(first.dropLast()), in: names.people, "person")
            let deeds = try self.deeds(&names)
            guard let deed = deeds.first, deeds.count == 1 else {
                throw error("one deed a line, but for what is expected")
            }
            return .deed(deed, by: name)
        }
        let name = try known(first, in: names.people, "person")
        try expect("may")
        let isRefusal = accept("not")
        var expected = ScenarioLine.Expected.may
        if isRefusal { expected = .mayNot(try code()) }
        return .expectation(try deeds(&names), by: name, expected)
    }

    /// Removes the code from the end of the line.
    private mutating func code() throws -> CKError.Code {
        guard let name = words.popLast(), words.popLast() == ":" else {
            throw error("a refusal ends with ' : ' and a code")
        }
        guard let code = CKError.Code(name: name) else { throw error("'\(name)' is no code of CKError") }
        return code
    }

    // MARK: Deeds

    private mutating func deeds(_ names: inout ScenarioNames) throws -> [Deed] {
        let verb = try word("a deed")
        switch verb {
        case "read": return try rest().map { .read($0) }
        case "change": return try rest().map { .change($0) }
        case "delete": return try rest().map { .delete($0) }
        case "see": return try rest().map { .see(try known($0, in: names.zones, "zone")) }
        case "create":
            var records = try rest()
            guard records.count > 2, records[records.count - 2] == "in" else {
                guard !records.contains("in") else { throw error("a parent is missing") }
                return records.map { .create($0, under: nil) }
            }
            let parent = records.removeLast()
            records.removeLast()
            return records.map { .create($0, under: parent) }
        case "move":
            let record = try word("a record")
            if accept("out") { return [.move(record, under: nil)] }
            try expect("in")
            return [.move(record, under: try word("a record"))]
        case "share":
            let root = try word("a root, or 'all'")
            try expect("as")
            let share = try word("a share")
            names.shares.insert(share)
            return [.share(root == "all" ? nil : root, as: share)]
        case "drop": return [.drop(try known(try word("a zone"), in: names.zones, "zone"))]
        default: return [try shareDeed(verb, names)]
        }
    }

    private mutating func shareDeed(_ verb: String, _ names: ScenarioNames) throws -> Deed {
        switch verb {
        case "invite":
            let other = try person(names)
            let share = try share("to", names)
            let permission = try permission() ?? .readOnly
            return .invite(other, to: share, permission, accept("administrator") ? .administrator : .privateUser)
        case "remove": return .remove(try person(names), from: try share("from", names))
        case "permit":
            let other = try person(names)
            let share = try share("in", names)
            guard let permission = try permission() else { throw error("a permission is missing") }
            return .permit(other, of: share, permission)
        case "publish":
            let share = try share(nil, names)
            guard let permission = try permission() else { throw error("a permission is missing") }
            return .publish(share, permission)
        case "rename": return .rename(try share(nil, names))
        case "leave", "stop": return .leave(try share(nil, names))
        case "accept": return .accept(try share(nil, names))
        case "ask": return .ask(try share(nil, names))
        case "hear": return .allowRequests(try share(nil, names), true)
        case "ignore": return .allowRequests(try share(nil, names), false)
        case "deny": return .deny(try person(names), of: try share("in", names))
        case "block": return .block(try person(names), of: try share("in", names))
        case "unblock": return .unblock(try person(names), of: try share("in", names))
        default: throw error("'\(verb)' is no deed")
        }
    }

    private func known(_ name: String, in names: Set<String>, _ what: String) throws -> String {
        guard names.contains(name) else { throw error("there is no \(what) '\(name)'") }
        return name
    }

    private mutating func person(_ names: ScenarioNames) throws -> String {
        try known(try word("a person"), in: names.people, "person")
    }

    private mutating func share(_ preposition: String?, _ names: ScenarioNames) throws -> String {
        if let preposition { try expect(preposition) }
        return try known(try word("a share"), in: names.shares, "share")
    }

    private mutating func permission() throws -> CKShare.ParticipantPermission? {
        if accept("read-only") { return .readOnly }
        if accept("read-write") { return .readWrite }
        if accept("nothing") { return CKShare.ParticipantPermission.none }
        return nil
    }
}
