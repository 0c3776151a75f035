// The effect of a request: the whole map is copied, the request is applied to the copy, and every rule is checked there
// record by record. Nothing is clever, and nothing depends on the order of the items but the numbers of their writes.

import FoundationEssentials
package import StratusModel

/// A request judged, with the zone afterwards: the same zone unless it was accepted.
package struct OracleOutcome: Sendable {
    package var verdict: OracleVerdict
    package var zone: OracleZone
    /// Whether a record of the request is deeper than the limit, before or after, so that a walk up from it may fail.
    package var mayBeTooDeepToWalk = false
    /// The written records in the order of the request. Their change tags are empty.
    package var saved: [StoredRecord] = []
    package var deleted: [RecordName] = []
}

extension OracleZone {
    package func outcome(
        of items: [OracleItem], stamp: Stamp, limits: OracleLimits, fault: OracleFault? = nil
    ) -> OracleOutcome {
        guard items.count <= limits.itemCount, Set(items.map(\.name)).count == items.count else {
            return OracleOutcome(verdict: .invalid, zone: self)
        }
        var outcome = carriedOut(items, stamp: stamp, fault: fault)
        let judge = OracleJudge(before: self, after: outcome.zone, items: items, limits: limits, fault: fault)
        let structure = judge.structureRefusals()
        if structure.isEmpty { outcome.mayBeTooDeepToWalk = judge.hasDeepRecord() }
        let refusals = structure.isEmpty ? judge.shareRefusals() : structure
        if refusals.isEmpty { return outcome }
        return OracleOutcome(
            verdict: .refused(refusals), zone: self, mayBeTooDeepToWalk: outcome.mayBeTooDeepToWalk)
    }

    private func carriedOut(_ items: [OracleItem], stamp: Stamp, fault: OracleFault?) -> OracleOutcome {
        var outcome = OracleOutcome(verdict: .accepted, zone: self)
        for item in items {
            switch item {
            case .save(let record):
                outcome.saved.append(outcome.zone.save(record, stamp: stamp))
            case .delete(let name):
                if outcome.zone.delete(name, fault: fault) { outcome.deleted.append(name) }
            }
        }
        return outcome
    }

    private mutating func save(_ record: Record, stamp: Stamp) -> StoredRecord {
        sequence += 1
        let old = live[record.name]
        var modified = stamp
        if let before = old?.system.modified.date, modified.date <= before {
            // Later than the write before, by as little as there is.
            let seconds = before.timeIntervalSinceReferenceDate
            modified.date = .init(timeIntervalSinceReferenceDate: seconds.nextUp)
        }
        let system = SystemFields(
            changeSequence: sequence, tagSalt: 0, created: old?.system.created ?? modified, modified: modified)
        let stored = StoredRecord(record: record, system: system)
        live[record.name] = stored
        latest[record.name] = OracleChange(sequence: sequence, name: record.name, kind: .saved)
        note(record.name, OraclePosition(parent: record.parent, share: record.share))
        return stored
    }

    private mutating func delete(_ name: RecordName, fault: OracleFault?) -> Bool {
        guard let old = live.removeValue(forKey: name) else { return false }
        sequence += 1
        let kind = OracleChange.Kind.deleted(type: old.record.type, parent: old.record.parent)
        latest[name] = fault == .forgetsTombstones ? nil : OracleChange(sequence: sequence, name: name, kind: kind)
        note(name, nil)
        return true
    }

    private mutating func note(_ name: RecordName, _ position: OraclePosition?) {
        positions[name, default: []].append(OracleMoment(sequence: sequence, position: position))
    }
}
