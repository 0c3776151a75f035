// The indexes for queries of a request: which there are, which there will be, and what of them changes with each record.
//
// A zone without such indexes costs nothing here: its header says so.

import StratusLayout
import StratusModel
import StratusStore

extension MutationPlanner {
    /// Reads what the zone has of each type of the request, and adds what the request wants.
    mutating func loadIndexes() throws {
        guard header.hasQueryIndexes || !request.queryIndexes.isEmpty else { return }
        var saved: Set<RecordType> = []
        for draft in items {
            for type in [draft.new?.type, draft.oldLive?.header.type] {
                guard let type, indexes[type] == nil else { continue }
                let stored = header.hasQueryIndexes ? try zone.queryIndexes(of: type) : QueryIndexesEntry()
                (storedIndexes[type], indexes[type]) = (stored, stored)
            }
            if let type = draft.new?.type { saved.insert(type) }
        }
        for type in saved {
            guard let wanted = request.queryIndexes[type] else { continue }
            let hasRecords = header.recordCount > 0
            _ = try indexes[type]?.add(wanted) { try !hasRecords || zone.isEmpty(ofType: type) }
        }
    }

    /// Writes what is new of the indexes themselves.
    func appendIndexes(to plan: inout MutationPlan) {
        var isUnfinished = false
        for (type, entry) in indexes.sorted(by: { $0.key < $1.key }) where entry != storedIndexes[type] {
            plan.mutations.set(entry.encoded(), forKey: zone.keys.queryIndexes(of: type))
            plan.header.hasQueryIndexes = true
            isUnfinished = isUnfinished || entry.isUnfinished
        }
        guard isUnfinished else { return }
        plan.mutations.set(
            IndexBuildEntry(identity: header.identity).encoded(),
            forKey: GlobalKeys.indexBuild(zone.keys.database, zone.keys.zone))
    }

    /// Turns a record's old entries into its new ones; nil where it is deleted.
    func appendQueryEntries(_ draft: Draft, new: StoredRecord?, to plan: inout MutationPlan) {
        guard !indexes.isEmpty else { return }
        let old = draft.oldLive?.stored.flatMap { stored in
            storedIndexes[stored.record.type].map { QueryFacts(of: stored, $0, in: QueryIndexPhase.all) }
        }
        let new = new.flatMap { stored in
            indexes[stored.record.type].map { QueryFacts(of: stored, $0, in: QueryIndexPhase.written) }
        }
        FieldIndex.appendDifference(from: old, to: new, in: zone.keys, to: &plan.mutations)
        TokenIndex.appendDifference(from: old, to: new, in: zone.keys, to: &plan.mutations)
    }
}

extension ZoneReader {
    /// Whether the zone has no records of a type.
    func isEmpty(ofType type: RecordType) throws -> Bool {
        var isEmpty = true
        try store.scan(keys.types(of: type).keyRange, .forward, limit: 1) { _, _ in
            isEmpty = false
            return .stop
        }
        return isEmpty
    }
}
