// Steps 7 and 8 of planning: the hierarchy nodes that change, then records, index entries and history as keys and
// values.

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusStore

extension MutationPlanner {
    func written(_ nodes: [NodeChange], _ counts: ShareCounts?) throws -> MutationPlan {
        var plan = MutationPlan(header: header)
        // Enough for most records, so that their bytes are not moved while they grow.
        plan.mutations.reserveCapacity(items.count * 6, byteCount: items.count * 768)
        plan.saved.reserveCapacity(items.count)
        plan.nodes.reserveCapacity(nodes.count)
        var value: [UInt8] = []
        for draft in items where draft.isEffective {
            if let record = draft.new {
                try appendSave(StoredRecord(record: record, system: systemFields(draft)), draft, &value, to: &plan)
            } else if let live = draft.oldLive {
                try appendDeletion(of: live, draft, to: &plan)
            }
        }
        appendIndexes(to: &plan)
        for change in nodes {
            appendNode(change, to: &plan)
            appendHistory(change, to: &plan)
        }
        for (old, new) in try counts?.changes() ?? [] {
            ShareCountIndex.appendDifference(from: old, to: new, in: zone.keys, to: &plan.mutations)
        }
        return plan
    }

    /// `value` is room for the record's bytes, reused for every record.
    private func appendSave(
        _ stored: consuming StoredRecord, _ draft: RecordDraft, _ value: inout [UInt8], to plan: inout MutationPlan
    ) throws {
        let chunkCount = try plan.mutations.set(stored, in: zone.keys, &value)
        appendChunkRemoval(draft, from: chunkCount, to: &plan)
        let facts = RecordFacts(
            name: draft.name, type: stored.record.type, changeSequence: draft.sequence,
            place: ChangeEntry.SavedPlace(parent: stored.record.parent, share: stored.record.share),
            references: stored.record.references)
        appendRecordEntries(draft, new: facts, to: &plan)
        appendQueryEntries(draft, new: stored, to: &plan)
        if case .deleted(let tombstone) = draft.old {
            let old = tombstone.write(of: draft.name)
            ChangeIndex.appendDifference(from: old, to: nil, in: zone.keys, to: &plan.mutations)
        }
        if !draft.wasLive { plan.header.recordCount = try plan.header.recordCount.advanced(in: "record count") }
        plan.saved.append(consume stored)
    }

    private func appendDeletion(of live: LiveRecord, _ draft: RecordDraft, to plan: inout MutationPlan) throws {
        let tombstone = Tombstone(
            sequence: draft.sequence, type: live.header.type, parent: live.header.parent,
            deleted: request.stamp)
        plan.mutations.set(tombstone) { zone.keys.record(draft.name, into: &$0) }
        appendChunkRemoval(draft, from: 1, to: &plan)
        appendRecordEntries(draft, new: nil, to: &plan)
        appendQueryEntries(draft, new: nil, to: &plan)
        let new = tombstone.write(of: draft.name)
        ChangeIndex.appendDifference(from: nil, to: new, in: zone.keys, to: &plan.mutations)
        guard plan.header.recordCount > 0 else {
            throw StoreError(
                .corruption, "A zone counts no records but has some: verify the store, then rebuild its indexes.",
                ["zone": zone.id.name.text])
        }
        plan.header.recordCount -= 1
        plan.deleted.append((draft.name, live.header.type))
    }

    private func appendRecordEntries(_ draft: RecordDraft, new: RecordFacts?, to plan: inout MutationPlan) {
        let old = draft.oldLive?.facts
        TypeIndex.appendDifference(from: old, to: new, in: zone.keys, to: &plan.mutations)
        ReferenceIndex.appendDifference(from: old, to: new, in: zone.keys, to: &plan.mutations)
        ChangeIndex.appendDifference(from: old?.write, to: new?.write, in: zone.keys, to: &plan.mutations)
    }

    /// Removes the chunks of the old value that the new one does not overwrite.
    private func appendChunkRemoval(_ draft: RecordDraft, from first: Int, to plan: inout MutationPlan) {
        guard draft.wasLive, let old = draft.oldLive?.chunkCount, old > max(first, 1) else { return }
        for index in max(first, 1)..<old {
            plan.mutations.delete { zone.keys.recordChunk(draft.name, index: index, into: &$0) }
        }
    }

    private func appendNode(_ change: NodeChange, to plan: inout MutationPlan) {
        plan.nodes.append(HierarchyChange(zone: zone.cacheZone, name: change.name, node: change.new))
        let old = change.old.map { HierarchyFacts(name: change.name, node: $0) }
        let new = change.new.map { HierarchyFacts(name: change.name, node: $0) }
        ParentIndex.appendDifference(from: old, to: new, in: zone.keys, to: &plan.mutations)
        ChildIndex.appendDifference(from: old, to: new, in: zone.keys, to: &plan.mutations)
        ShareRootIndex.appendDifference(from: old, to: new, in: zone.keys, to: &plan.mutations)
    }

    /// Ended entries are stored until the purge horizon, in separate keyspaces, so that walks of the present stay
    /// small.
    private func appendHistory(_ change: NodeChange, to plan: inout MutationPlan) {
        guard let old = change.old, let ended = change.sequence else { return }
        if change.new == nil || change.new?.parent != old.parent {
            let deletedType = change.new == nil ? drafts[change.name]?.oldLive?.header.type : nil
            let link = EndedParentEntry(parent: old.parent, began: old.parentSince, deletedType: deletedType)
            plan.mutations.set(link) { zone.keys.endedParent(child: change.name, ended: ended, into: &$0) }
            if let parent = old.parent {
                plan.mutations.set(EndedPeriodEntry(began: old.parentSince)) {
                    zone.keys.endedChild(parent: parent, child: change.name, ended: ended, into: &$0)
                }
            }
        }
        if let share = old.share, change.new?.share != share {
            let mark = EndedShareEntry(share: share, began: old.shareSince)
            plan.mutations.set(mark) { zone.keys.endedShare(root: change.name, ended: ended, into: &$0) }
        }
    }

    /// The date of a save is later than that of the last one, even within one tick of the clock.
    private func systemFields(_ draft: RecordDraft) -> SystemFields {
        var modified = request.modifications[draft.name] ?? request.stamp
        var created = request.creations[draft.name] ?? modified
        if draft.wasLive, let before = draft.oldLive?.header.system {
            created = before.created
            if modified.date <= before.modified.date {
                modified.date = Date(
                    timeIntervalSinceReferenceDate: before.modified.date.timeIntervalSinceReferenceDate.nextUp)
            }
        }
        return SystemFields(
            changeSequence: draft.sequence, tagSalt: request.tagSalt, created: created, modified: modified)
    }
}

extension MutationPlanner {
    /// The plan that gives records another tag and changes nothing else. `hasRoom` says whether the transaction has
    /// room for as many counted bytes: the plan ends before the first record for which it has none.
    static func planNewTags(
        for names: [RecordName], salt: UInt32, in zone: ZoneReader, hasRoom: (_ byteCount: Int) -> Bool
    ) throws -> MutationPlan {
        var plan = MutationPlan(header: try zone.header(), entersFeed: false)
        var value: [UInt8] = []
        for name in names {
            guard var stored = try zone.record(name) else { continue }
            // Another salt makes another tag of the same sequence, so the record keeps its place in the feed.
            stored.system.tagSalt = stored.system.tagSalt == salt ? salt &+ 1 : salt
            let count = plan.mutations.count
            // A tag has a fixed size, so there are as many chunks as before.
            _ = try plan.mutations.set(stored, in: zone.keys, &value)
            guard hasRoom(plan.mutations.countedByteCount) else {
                plan.mutations.removeAll(from: count)
                break
            }
        }
        return plan
    }
}

extension KeyMutations {
    /// Sets the value of a record, in chunks if it is large, and returns the number of chunks. `value` is room for its
    /// bytes.
    mutating func set(_ stored: borrowing StoredRecord, in keys: ZoneKeys, _ value: inout [UInt8]) throws -> Int {
        let name = stored.record.name
        try RecordCodec.encode(stored, into: &value)
        guard value.count > LayoutLimits.maximumChunkByteCount else {
            set({ $0.append(contentsOf: value) }, forKey: { keys.record(name, into: &$0) })
            return 1
        }
        let chunks = try RecordChunks.split(value, record: name, changeSequence: stored.system.changeSequence)
        for (index, chunk) in chunks.enumerated() {
            set(chunk, forKey: index == 0 ? keys.record(name) : keys.recordChunk(name, index: index))
        }
        return chunks.count
    }
}

extension Record {
    /// The references in the record's fields, lists included, in the byte order of the field keys.
    var references: [SourceReference] {
        var references: [SourceReference] = []
        let entries = fields.entries
        let fields = entries.span
        for index in fields.indices {
            switch fields[index].value.value {
            case .reference(let reference):
                references.append(SourceReference(field: fields[index].key, reference: reference))
            case .list(let elements):
                for case .reference(let reference) in elements {
                    references.append(SourceReference(field: fields[index].key, reference: reference))
                }
            default:
                continue
            }
        }
        return references.count > 1 ? references.sorted { $0.field < $1.field } : references
    }
}

// Step 7. Besides nodes of records of the request, those of parents change that gain their first child or lose their
// last.

/// A hierarchy node before and after a request; nil if the record does not exist.
struct NodeChange {
    let name: RecordName
    var old: ParentEntry?
    var new: ParentEntry?
    /// The sequence number of the record's write; nil for a parent that is not part of the request.
    var sequence: UInt64?
}

extension MutationPlanner {
    func nodeChanges(_ hierarchy: FinalHierarchy) throws -> [NodeChange] {
        let losing = Set(items.lazy.filter(\.isPlacedAnew).compactMap(\.oldParent))
        var changes: [NodeChange] = []
        changes.reserveCapacity(items.count)
        for draft in items where draft.isEffective {
            let name = draft.name
            guard draft.isPlacedAnew || draft.isMarkedAnew || draft.isNamedParent || losing.contains(name) else {
                continue
            }
            let old = try draft.wasLive ? draft.oldNode ?? zone.node(name) : nil
            guard old != nil || !draft.wasLive else { throw StoreError.missingParentEntry(name, in: zone.id) }
            let has = try draft.isNamedParent || keepsChildren(name, old: old, losing: losing, hierarchy)
            changes.append(
                NodeChange(
                    name: name, old: old, new: draft.isSaved ? node(draft, old: old, hasChildren: has) : nil,
                    sequence: draft.sequence))
        }
        let gaining = namedParents.values.lazy.filter { $0.draft == nil }.map(\.name)
        let others = gaining + losing.lazy.filter { namedParents[$0] == nil && drafts[$0] == nil }
        for name in others.sorted() {
            guard let old = try zone.node(name) else { throw StoreError.missingParentEntry(name, in: zone.id) }
            var new = old
            new.hasChildren = try namedParents[name] != nil || keepsChildren(name, old: old, losing: losing, hierarchy)
            changes.append(NodeChange(name: name, old: old, new: new, sequence: nil))
        }
        changes.removeAll { $0.old == $0.new }
        return changes
    }

    /// The node of a saved record. A parent or share that has not changed keeps its `since`.
    private func node(_ draft: RecordDraft, old: ParentEntry?, hasChildren: Bool) -> ParentEntry {
        ParentEntry(
            parent: draft.newParent,
            parentSince: old.flatMap { $0.parent == draft.newParent ? $0.parentSince : nil } ?? draft.sequence,
            share: draft.newShare,
            shareSince: old.flatMap { $0.share == draft.newShare ? $0.shareSince : nil }
                ?? (draft.newShare == nil ? 0 : draft.sequence),
            hasChildren: hasChildren)
    }

    /// Whether a record that gains no child still has children.
    private func keepsChildren(
        _ name: RecordName, old: ParentEntry?, losing: Set<RecordName>, _ hierarchy: FinalHierarchy
    ) throws -> Bool {
        guard let old, old.hasChildren else { return false }
        return try losing.contains(name) ? hierarchy.firstChild(of: name) != nil : true
    }
}

// The indexes for queries: those that exist, those that the request adds, and the entries that change with each record.
//
// A zone without such indexes costs nothing here: its header says so.

extension MutationPlanner {
    /// Reads the indexes of each type of the request, and adds those that the request wants.
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

    /// Writes the states of indexes that changed.
    func appendIndexes(to plan: inout MutationPlan) {
        var isUnfinished = false
        for (type, entry) in indexes.sorted(by: { $0.key < $1.key }) where entry != storedIndexes[type] {
            plan.mutations.set(entry.encoded(), forKey: zone.keys.queryIndexes(of: type))
            plan.header.hasQueryIndexes = true
            isUnfinished = isUnfinished || entry.isUnfinished
        }
        guard isUnfinished else { return }
        plan.mutations.set(
            ZoneIdentityEntry(identity: header.identity).encoded(),
            forKey: zone.keys.listed(in: .indexBuilds))
    }

    /// Turns a record's old entries into its new ones. `new` is nil if it is deleted.
    func appendQueryEntries(_ draft: RecordDraft, new: StoredRecord?, to plan: inout MutationPlan) {
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
        try !store.hasEntries(in: keys.types(of: type))
    }
}
