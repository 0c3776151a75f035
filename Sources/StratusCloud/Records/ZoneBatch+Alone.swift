// Each item by itself, in one transaction: what isAtomic = false means, and every change of a zone that is not
// transactional. A new share and its root are one item.

import StratusModel
import StratusRecords

extension ZoneBatch {
    /// Saves with parents first, then deletes with children first. What fails leaves the others as they are.
    mutating func carryOutAlone() throws {
        let saveByName = Dictionary(uniqueKeysWithValues: saves.map { ($0.name, $0) })
        let newShares = newShares
        var (units, late): ([[JudgedSave]], [JudgedSave]) = ([], [])
        for name in Self.parentsFirst(saves.map { ($0.name, $0.record.parent) }) {
            guard let save = saveByName[name] else { continue }
            if let root = save.share?.newRoot {
                // The first one goes with its root; others are in its way, or have no root.
                if newShares[root] != name || saveByName[root] == nil { late.append(save) }
            } else {
                units.append([save] + [newShares[name].flatMap { saveByName[$0] }].compactMap { $0 })
            }
        }
        try carryOut(units)
        for save in late { try carryOut(unit: [save]) }
        let places = try deletes.map { ($0, try zone.node($0)?.parent) }
        for name in Self.parentsFirst(places).reversed() {
            errors[name] = try carryOut(saves: [], deletes: [name])[name]
        }
    }

    /// Saves units in their order. One with an empty list in a field of no type waits for another that gives the field its
    /// type, and its children wait for it.
    private mutating func carryOut(_ units: [[JudgedSave]]) throws {
        var waiting = units
        while !waiting.isEmpty {
            var left: [[JudgedSave]] = []
            var leftNames: Set<RecordName> = []
            for unit in waiting {
                let awaitsParent = unit.contains { $0.record.parent.map(leftNames.contains) ?? false }
                if try awaitsParent || unit.contains(where: hasEmptyListOfNoType) {
                    left.append(unit)
                    leftNames.formUnion(unit.map(\.name))
                } else {
                    try carryOut(unit: unit)
                }
            }
            if left.count == waiting.count {
                // Each of them may give another's field its type.
                if left.count > 1, try carryOut(saves: left.flatMap { $0 }, deletes: []).isEmpty { return }
                // Nothing gives the first one its type: it fails, and the others are looked at again.
                try carryOut(unit: left.removeFirst())
            }
            waiting = left
        }
    }

    private func hasEmptyListOfNoType(_ save: JudgedSave) throws -> Bool {
        try service.schemaKeeper.hasEmptyListOfNoType(
            save.record, replacing: save.old?.record, container: outset.container, in: transaction)
    }

    private mutating func carryOut(unit: [JudgedSave]) throws {
        let failures = try carryOut(saves: unit, deletes: [])
        guard !failures.isEmpty else { return }
        for member in unit {
            errors[member.name] = spread(failures[member.name] ?? FailureSpread.batchRequestFailed, to: member)
        }
    }

    /// The first new share of each root: a share and its root stand together, for neither is without the other (SH-03).
    private var newShares: [RecordName: RecordName] {
        Dictionary(saves.compactMap { save in save.share?.newRoot.map { ($0, save.name) } }) { first, _ in first }
    }

    /// The error of a save whose parent's failure says more than its own.
    private func spread(_ error: CloudError, to save: JudgedSave) -> CloudError {
        guard error.code == .referenceViolation, let parent = save.record.parent, let above = errors[parent] else {
            return error
        }
        return FailureSpread.childError(ofParentFailing: above, save.name) ?? error
    }

    /// The names so that each stands behind its parent, if that is among them; those on a cycle in any order.
    static func parentsFirst(_ items: [(name: RecordName, parent: RecordName?)]) -> [RecordName] {
        let parents = Dictionary(items.map { ($0.name, $0.parent) }, uniquingKeysWith: { first, _ in first })
        var sorted: [RecordName] = []
        var placed: Set<RecordName> = []
        for item in items {
            var path: [RecordName] = []
            var next: RecordName? = item.name
            while let name = next, let parent = parents[name], placed.insert(name).inserted {
                path.append(name)
                next = parent
            }
            sorted += path.reversed()
        }
        return sorted
    }
}
