// Each item by itself, in one transaction: what isAtomic = false means, and every change of a zone that is not
// transactional. A new share and its root are one item.

import StratusModel
import StratusRecords

extension ZoneBatch {
    /// Saves with parents first, then deletes with children first. What fails leaves the others as they are. A save with an
    /// empty list in a field of no type is saved after the others, and its children after it: another may give the field one.
    mutating func carryOutAlone() throws {
        let saveByName = Dictionary(uniqueKeysWithValues: saves.map { ($0.name, $0) })
        let parents = saves.map { ($0.name, $0.record.parent) }
        let newShares = newShares
        var late: [JudgedSave] = []
        var (awaitsType, awaiting): (Set<RecordName>, [RecordName]) = ([], [])
        for name in Self.parentsFirst(parents) {
            guard let save = saveByName[name] else { continue }
            if let root = save.share?.newRoot {
                // The first one goes with its root; others are in its way, or have no root.
                if newShares[root] != name || saveByName[root] == nil { late.append(save) }
                continue
            }
            let awaitsParent = save.record.parent.map { awaitsType.contains($0) } ?? false
            if try awaitsParent || hasEmptyListOfNoType(save) {
                awaitsType.insert(name)
                awaiting.append(name)
                continue
            }
            try carryOut(unitOf: save, newShares, saveByName)
        }
        try carryOut(awaiting, newShares, saveByName)
        for save in late { try carryOut(unit: [save]) }
        let places = try deletes.map { ($0, try zone.node($0)?.parent) }
        for name in Self.parentsFirst(places).reversed() {
            errors[name] = try carryOut(saves: [], deletes: [name])[name]
        }
    }

    /// Saves those that wait for the type of a field, as long as one of them gives another's field its type.
    private mutating func carryOut(
        _ names: [RecordName], _ newShares: [RecordName: RecordName], _ saveByName: [RecordName: JudgedSave]
    ) throws {
        var waiting = names.compactMap { saveByName[$0] }
        while !waiting.isEmpty {
            var left: [JudgedSave] = []
            for save in waiting {
                let awaitsParent = save.record.parent.map { parent in left.contains { $0.name == parent } } ?? false
                if try awaitsParent || hasEmptyListOfNoType(save) {
                    left.append(save)
                } else {
                    try carryOut(unitOf: save, newShares, saveByName)
                }
            }
            if left.count == waiting.count {
                // Each of them may give another's field its type.
                let together = left.flatMap { save in
                    [save] + (newShares[save.name].flatMap { saveByName[$0] }.map { [$0] } ?? [])
                }
                if left.count > 1, try carryOut(saves: together, deletes: []).isEmpty { return }
                // Nobody gives the first one its type: it fails, and the others are looked at again.
                try carryOut(unitOf: left.removeFirst(), newShares, saveByName)
            }
            waiting = left
        }
    }

    private func hasEmptyListOfNoType(_ save: JudgedSave) throws -> Bool {
        try service.schemaKeeper.hasEmptyListOfNoType(
            save.record, replacing: save.old?.record, container: outset.container, in: transaction)
    }

    /// A save, with the new share whose root it is.
    private mutating func carryOut(
        unitOf save: JudgedSave, _ newShares: [RecordName: RecordName], _ saveByName: [RecordName: JudgedSave]
    ) throws {
        let share = newShares[save.name].flatMap { saveByName[$0] }
        try carryOut(unit: [save] + (share.map { [$0] } ?? []))
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
