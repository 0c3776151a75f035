// What planning reads besides the stored records, announced when these are known. See `ZoneReads`.

import StratusLayout
import StratusModel
import StratusStore

extension MutationPlanner {
    /// Announces the places, counts, children and indexes that placing, counting and refusing will read. Most requests
    /// have announced them before, by guesses.
    func announceRest(_ states: [StoredState], _ reads: ZoneReads) {
        var (moved, deleted, types): (Set<RecordName>, Set<RecordName>, Set<RecordType>) = ([], [], [])
        var counts: [[UInt8]] = []
        var placed: Set<RecordName> = []
        for (mutation, state) in zip(request.mutations, states) {
            let draft = RecordDraft(mutation, old: state)
            if header.hasQueryIndexes {
                for type in [draft.new?.type, draft.oldLive?.header.type] { if let type { types.insert(type) } }
            }
            let isPlaced = draft.isEffective && draft.isPlacedAnew
            // A parent that is named gets a child, or has it already.
            if let parent = draft.newParent { placed.insert(parent) }
            if draft.becomesRoot { placed.insert(draft.name) }
            guard draft.wasLive, draft.isPlacedAnew || draft.isMarkedAnew else { continue }
            moved.insert(draft.name)
            counts.append(zone.keys.shareCount(parent: draft.oldParent, name: draft.name))
            if let parent = draft.oldParent, isPlaced { deleted.insert(parent) }
            if !draft.isSaved { deleted.insert(draft.name) }
        }
        reads.queryIndexes(of: types)
        guard !moved.isEmpty || !placed.isEmpty else { return }
        reads.places(of: moved.union(placed).union(deleted))
        guard !moved.isEmpty || request.mutations.contains(where: { $0.isNewRoot }) else { return }
        reads.announce(counts)
        reads.shareCounts(of: moved.union(placed))
        // A child that the request deletes too does not count, so the first one that counts may come after all of them.
        reads.children(of: deleted, limit: states.count + 1)
    }
}

extension RecordMutation {
    fileprivate var isNewRoot: Bool { if case .save(let record) = self { record.share != nil } else { false } }
}
