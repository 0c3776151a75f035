// A second, naive reading of the rules of saving: policies, atomicity, parents, cascades, the limit of owning
// references. One zone, all of it in a dictionary that is copied for every attempt. It shares no code with the server.

import StratusCloud

/// The oracle's view of a record.
struct OracleRecord: Equatable {
    var version: Int
    var parent: String?
    var owner: String?
    var numbers: [String: Int64]
}

/// A save as a test sends it.
struct OracleSave {
    var name: String
    /// The version the client started from; nil for a new record.
    var base: Int?
    /// Everything that the client holds.
    var held: OracleRecord
    /// The parts it has set: "parent", "owner" and names of numbers.
    var changed: Set<String>
}

/// The answer to one item: a version, or a code.
enum OracleAnswer: Equatable {
    case done
    case failed(Int)
}

struct PolicyOracle {
    static let conflict = 14, unknown = 11, reference = 31, limit = 27, batch = 22, internalCode = 1

    var records: [String: OracleRecord] = [:]
    var nextVersion = 1
    let ownerLimit: Int

    /// The answers of saves and of deletes. `isSettled` is false if the oracle cannot predict the other codes of a
    /// failed atomic zone.
    mutating func modify(
        _ saves: [OracleSave], _ deletes: [String], _ policy: SavePolicy, isAtomic: Bool
    ) -> (saves: [OracleAnswer], deletes: [OracleAnswer], isSettled: Bool) {
        var codes: [String: Int] = [:]
        var merged: [(name: String, record: OracleRecord)] = []
        for save in saves {
            switch merge(save, policy) {
            case .success(let record): merged.append((save.name, record))
            case .failure(let code): codes[save.name] = code.rawValue
            }
        }
        let hadOwnFailures = !codes.isEmpty
        if isAtomic {
            if !hadOwnFailures {
                codes = attempt(merged, deletes, alreadySaved: [])
                if !codes.isEmpty { spread(saves, deletes, &codes) }
            } else {
                for name in saves.map(\.name) + deletes where codes[name] == nil { codes[name] = Self.batch }
            }
        } else if !attempt(merged, deletes, alreadySaved: []).isEmpty {
            oneByOne(merged, deletes, &codes)
        }
        func answer(_ name: String) -> OracleAnswer { codes[name].map { .failed($0) } ?? .done }
        return (saves.map { answer($0.name) }, deletes.map { answer($0) }, !(isAtomic && hadOwnFailures))
    }

    struct Code: Error, RawRepresentable {
        var rawValue: Int
    }

    private func merge(_ save: OracleSave, _ policy: SavePolicy) -> Result<OracleRecord, Code> {
        guard let stored = records[save.name] else {
            return save.base == nil ? .success(save.held) : .failure(Code(rawValue: Self.unknown))
        }
        if policy == .ifServerRecordUnchanged, save.base != stored.version {
            return .failure(Code(rawValue: Self.conflict))
        }
        let writesAll = policy == .allKeys || save.base == nil
        var record = stored
        if save.changed.contains("parent") || policy == .allKeys && save.held.parent != nil {
            record.parent = save.held.parent
        }
        if save.changed.contains("owner") || writesAll && save.held.owner != nil { record.owner = save.held.owner }
        for key in ["a", "b"] where save.changed.contains(key) || writesAll && save.held.numbers[key] != nil {
            record.numbers[key] = save.held.numbers[key]
        }
        return .success(record)
    }

    /// Applies all of it, or changes nothing and returns the reason.
    private mutating func attempt(
        _ saves: [(name: String, record: OracleRecord)], _ deletes: [String], alreadySaved: Set<String>
    ) -> [String: Int] {
        var after = records
        let kept = alreadySaved.union(saves.map(\.name))
        var causes: [String: String] = [:]
        // In the order of a walk by breadth, so that the first cause is the server's.
        var front = deletes.map { ($0, $0) }
        for name in deletes { causes[name] = name }
        while !front.isEmpty {
            var next: [(String, String)] = []
            for (name, cause) in front where records[name] != nil {
                let holders = records.filter { $0.value.owner == name }.keys.sorted()
                for holder in holders where causes[holder] == nil && !kept.contains(holder) {
                    causes[holder] = cause
                    next.append((holder, cause))
                }
            }
            front = next
        }
        for name in causes.keys { after[name] = nil }
        for save in saves { after[save.name] = save.record }

        var codes: [String: Int] = [:]
        // Owning references: of the saves that newly point at a target those beyond the limit.
        for target in Set(saves.compactMap(\.record.owner)) {
            let adding = saves.filter { $0.record.owner == target && records[$0.name]?.owner != target }.map(\.name)
            let others = after.filter { $0.value.owner == target && !adding.contains($0.key) }.count
            for name in adding.dropFirst(max(0, ownerLimit - others)) { codes[name] = Self.limit }
        }
        for save in saves where codes[save.name] == nil {
            guard let parent = save.record.parent else { continue }
            let moved = records[save.name].map { $0.parent != parent } ?? true
            if after[parent] == nil || moved && isOnCycle(save.name, after) { codes[save.name] = Self.reference }
        }
        for (name, cause) in causes where records[name] != nil && codes[cause] == nil {
            if after.values.contains(where: { $0.parent == name }) { codes[cause] = Self.reference }
        }
        guard codes.isEmpty else { return codes }
        records = after
        for save in saves {
            records[save.name]?.version = nextVersion
            nextVersion += 1
        }
        return [:]
    }

    private func isOnCycle(_ name: String, _ records: [String: OracleRecord]) -> Bool {
        var current = records[name]?.parent
        for _ in 0...records.count {
            guard let next = current else { return false }
            if next == name { return true }
            current = records[next]?.parent
        }
        return false
    }

    private mutating func oneByOne(
        _ saves: [(name: String, record: OracleRecord)], _ deletes: [String], _ codes: inout [String: Int]
    ) {
        var done: Set<String> = []
        for index in order(saves.map { ($0.name, $0.record.parent) }) {
            let save = saves[index]
            guard let code = attempt([save], [], alreadySaved: done)[save.name] else {
                done.insert(save.name)
                continue
            }
            let above = save.record.parent.flatMap { codes[$0] }
            codes[save.name] =
                code == Self.reference && (above == Self.reference || above == Self.internalCode)
                ? Self.internalCode : code
        }
        for index in order(deletes.map { ($0, records[$0]?.parent) }).reversed() {
            codes[deletes[index]] = attempt([], [deletes[index]], alreadySaved: done)[deletes[index]]
        }
    }

    /// Parents before children, otherwise in the given order.
    private func order(_ items: [(name: String, parent: String?)]) -> [Int] {
        var order: [Int] = []
        var begun: Set<Int> = []
        func place(_ index: Int) {
            guard begun.insert(index).inserted else { return }
            if let parent = items[index].parent, let above = items.firstIndex(where: { $0.name == parent }) {
                place(above)
            }
            order.append(index)
        }
        for index in items.indices { place(index) }
        return order
    }

    private func spread(_ saves: [OracleSave], _ deletes: [String], _ codes: inout [String: Int]) {
        let own = codes
        for save in saves where own[save.name] == nil {
            var code = Self.batch
            var current = save.held.parent
            var seen: Set<String> = [save.name]
            while let parent = current, let item = saves.first(where: { $0.name == parent }),
                seen.insert(parent).inserted
            {
                if let found = own[parent] {
                    if found == Self.reference || found == Self.internalCode { code = Self.internalCode }
                    break
                }
                current = item.held.parent
            }
            codes[save.name] = code
        }
        for name in deletes where codes[name] == nil { codes[name] = Self.batch }
    }
}
