// Reads everything about one zone from a reader, and compares each answer with the oracle's.

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

/// An answer that is not the oracle's.
package struct HistoryFailure: Error, CustomStringConvertible {
    package let description: String

    /// Names may contain anything, so whatever could upset a terminal is escaped.
    package init(_ description: String) {
        self.description = description.unicodeScalars.reduce(into: "") { text, scalar in
            text += scalar.isASCII && scalar.value >= 0x20 ? "\(scalar)" : "\\u{\(String(scalar.value, radix: 16))}"
        }
    }
}

/// Throws a failure unless both are equal.
func expectEqual<Value: Equatable>(
    _ got: Value, _ wanted: Value, _ question: @autoclosure () -> String
) throws(HistoryFailure) {
    if got != wanted { throw HistoryFailure("\(question()): got \(got), the oracle says \(wanted)") }
}

struct ZoneChecker {
    /// How many tokens are used for their next change after a step.
    private static let nextChangeTokenCount = 32

    let reader: ZoneReader
    let oracle: OracleZone
    let depthLimit: Int
    /// Draws the tokens and pages to read.
    var random: SplitMix64
    /// All names that the zone has known, in order, and one that it never has.
    let names: [RecordName]
    let childNames: [RecordName: [RecordName]]

    init(_ reader: ZoneReader, _ oracle: OracleZone, depthLimit: Int, seed: UInt64) {
        self.reader = reader
        self.oracle = oracle
        self.depthLimit = depthLimit
        random = SplitMix64(seed: seed)
        names = oracle.positions.keys.sorted() + ["never written"]
        childNames = oracle.childNames()
    }

    /// Everything: records, hierarchy and feed. The oracle knows system fields completely only if it received them.
    mutating func checkAll(isThorough: Bool, comparesSystemFields: Bool = true) throws {
        try checkHeader()
        for name in names { try checkRecord(name, comparesSystemFields: comparesSystemFields) }
        try checkHierarchy()
        try checkChildren()
        try checkChanges(isThorough: isThorough)
        try checkPast(isThorough: isThorough)
    }

    func checkHeader() throws {
        let header = try reader.header()
        try expectEqual(header.sequence, oracle.sequence, "the zone's sequence")
        try expectEqual(header.horizon, oracle.horizon, "the zone's horizon")
        try expectEqual(Int(header.recordCount), oracle.live.count, "the number of records")
        try expectEqual(header.identity, HistoryContent.identity(oracle.birth), "the zone's identity")
        try expectEqual(header.databaseCounter, oracle.databaseCounter, "the zone's place in its database's feed")
    }

    func checkRecord(_ name: RecordName, comparesSystemFields: Bool) throws {
        let found = try reader.record(name)
        let wanted = oracle.live[name]
        if comparesSystemFields {
            if found != wanted { try expectEqual(found, wanted, "record \(name.debugText)") }
        } else {
            try expectEqual(found?.record, wanted?.record, "content of record \(name.debugText)")
        }
    }

    /// Ancestors, share and share count of every name.
    func checkHierarchy() throws {
        let counts = oracle.shareCounts()
        for name in names {
            try checkPlace(name)
            let parent = oracle.live[name]?.record.parent
            let count = try reader.shareCount(of: name, under: parent)
            try expectEqual(Int(count), counts[name] ?? 0, "share roots at or below \(name.debugText)")
        }
    }

    /// Ancestors and share of one name.
    func checkPlace(_ name: RecordName) throws {
        let ancestors = try OracleAnswer.asked { try reader.ancestors(of: name) }
        try expectEqual(
            ancestors, oracle.ancestors(of: name, depthLimit: depthLimit), "ancestors of \(name.debugText)")
        let membership: OracleAnswer<OracleMembership?> = try OracleAnswer.asked {
            .some(try reader.shareMembership(of: name).map { OracleMembership(root: $0.root, share: $0.share) })
        }
        try expectEqual(
            membership, oracle.membership(of: name, depthLimit: depthLimit), "share of \(name.debugText)")
    }

    private mutating func checkChildren() throws {
        for name in names {
            let wanted = (childNames[name] ?? []).map { OracleChild(name: $0, hasChildren: childNames[$0] != nil) }
            let children = try reader.children(of: name).map { OracleChild(name: $0.name, hasChildren: $0.hasChildren) }
            try expectEqual(children, wanted, "children of \(name.debugText)")
            if wanted.isEmpty { continue }
            let position = Int.random(in: 0..<wanted.count, using: &random)
            let page = try reader.children(of: name, after: wanted[position].name, limit: 2)
            try expectEqual(
                page.map(\.name), wanted[(position + 1)...].prefix(2).map(\.name),
                "two children of \(name.debugText) after \(wanted[position].name.debugText)")
        }
        for root in oracle.live.values where root.record.parent == nil && childNames[root.record.name] != nil {
            try checkSubtree(below: root.record.name)
        }
        if let name = names.randomElement(using: &random) { try checkSubtree(below: name) }
    }

    private func checkSubtree(below root: RecordName) throws {
        let wanted = OracleZone.subtree(below: root, childNames: childNames, depthLimit: depthLimit)
        var visited: [OracleDescendant] = []
        var isWhole = true
        do {
            try reader.visitSubtree(below: root) { child, level in
                visited.append(
                    OracleDescendant(
                        child: OracleChild(name: child.name, hasChildren: child.hasChildren), level: level))
                return .next
            }
        } catch let error as StoreError where error.code == .hierarchyTooDeep {
            isWhole = false
        }
        try expectEqual(visited, wanted.visited, "subtree below \(root.debugText)")
        try expectEqual(isWhole, wanted.isWhole, "whether the subtree below \(root.debugText) is within the limit")
    }

    // MARK: Feeds

    /// A thorough check reads the whole feed of every token; others some, and for more only the continuation.
    private mutating func checkChanges(isThorough: Bool) throws {
        let tokens = 0...(oracle.sequence + 1)
        if isThorough {
            for token in tokens { try checkChanges(after: token) }
            return
        }
        try checkChanges(after: 0)
        for _ in 0..<3 { try checkChanges(after: UInt64.random(in: tokens, using: &random)) }
        let asksEvery = tokens.count <= Self.nextChangeTokenCount
        let asked =
            asksEvery
            ? Array(tokens) : (0..<Self.nextChangeTokenCount).map { _ in UInt64.random(in: tokens, using: &random) }
        for token in asked { try checkNextChange(after: token) }
    }

    private func checkNextChange(after token: UInt64) throws {
        let next = try OracleAnswer.asked { try reader.changes(after: token, limit: 1).map(\.oracleChange) }
        try expectEqual(next, oracle.nextChange(after: token), "the change after \(token)")
    }

    private func checkChanges(after token: UInt64) throws {
        let changes = try OracleAnswer.asked {
            try reader.changes(after: token).map { change in
                try checkPlace(in: change)
                return change.oracleChange
            }
        }
        let wanted = oracle.changes(after: token)
        try expectEqual(changes, wanted, "changes after \(token)")
        guard case .answer(let all) = wanted, all.count > 1 else { return }
        let page = try reader.changes(after: token, limit: all.count / 2).map(\.oracleChange)
        try expectEqual(page, Array(all.prefix(all.count / 2)), "the first \(all.count / 2) changes after \(token)")
    }

    /// The entry of a saved record names its parent, unless it is the root of a share.
    private func checkPlace(in change: LatestWrite) throws {
        guard case .saved(let place) = change.kind, let record = oracle.live[change.name]?.record else { return }
        let wanted: ChangeEntry.SavedPlace = record.share == nil ? .below(record.parent) : .unsaid
        try expectEqual(place, wanted, "the place in the change of \(change.name.debugText)")
    }

    private mutating func checkPast(isThorough: Bool) throws {
        let sequences = 0...(oracle.sequence + 1)
        for name in names {
            for _ in 0..<(isThorough ? 8 : 1) {
                let sequence = UInt64.random(in: sequences, using: &random)
                let position: OracleAnswer<OraclePosition?> = try OracleAnswer.asked {
                    .some(
                        try reader.pastNode(name, asOf: sequence)
                            .map { OraclePosition(parent: $0.parent, share: $0.share) })
                }
                try expectEqual(
                    position, oracle.position(of: name, asOf: sequence), "\(name.debugText) as of \(sequence)")
            }
        }
    }
}

extension OracleAnswer {
    /// What `question` answers; nil is an unknown record.
    static func asked(_ question: () throws -> Value?) throws -> OracleAnswer {
        do {
            return try question().map { .answer($0) } ?? .unknownRecord
        } catch let error as StoreError {
            switch error.code {
            case .unknownRecord: return .unknownRecord
            case .hierarchyTooDeep: return .tooDeep
            case .expired: return .expired
            default: throw error
            }
        }
    }
}

extension RecordName {
    /// The name as a literal, so that invisible characters show.
    var debugText: String { text.debugDescription }
}

extension LatestWrite {
    var oracleChange: OracleChange {
        let oracleKind: OracleChange.Kind =
            switch kind {
            case .saved: .saved
            case .deleted(let type, let parent): .deleted(type: type, parent: parent)
            }
        return OracleChange(sequence: sequence, name: name, kind: oracleKind)
    }
}
