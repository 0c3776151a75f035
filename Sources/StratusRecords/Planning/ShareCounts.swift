// The number of share roots at or below each record, as a request changes it.
//
// First every record that moves or is deleted is detached, then every record is attached, then new roots are marked.
// Each step changes the counts along one chain of ancestors, so the cost is O(depth) however large the subtrees are.
// The final hierarchy was checked for cycles before, so no chain has one.

import StratusLayout
import StratusModel
import StratusStore

struct ShareCounts {
    /// A record's count before the request and now.
    private struct Tally {
        var old: ShareCountFacts?
        var count: Int64
    }

    private let zone: ZoneReader
    private let drafts: [RecordName: RecordDraft]
    private var tallies: [RecordName: Tally] = [:]
    /// The parents of records of the request at this step. A record that is absent has its stored parent.
    private var parents: [RecordName: RecordName?] = [:]

    init(zone: ZoneReader, drafts: [RecordName: RecordDraft], items: [RecordDraft]) throws {
        self.zone = zone
        self.drafts = drafts
        for draft in items where draft.wasLive { try detach(draft) }
        for draft in items { try attach(draft) }
        for draft in items where draft.becomesRoot { try adjust(draft.name, by: 1) }
    }

    /// The number of share roots at or below a record of the request, after it.
    func count(of name: RecordName) -> Int64 { tallies[name]?.count ?? 0 }

    /// Every count the request changes, before and after.
    ///
    /// Throws `corruption` when a stored count was less than the request subtracts.
    func changes() throws -> [(old: ShareCountFacts?, new: ShareCountFacts?)] {
        try tallies.map { name, tally in
            let draft = drafts[name]
            let parent = draft.map(\.newParent) ?? tally.old?.parent
            let survives = draft?.isSaved ?? true
            guard let count = UInt64(exactly: tally.count) else { throw wrongCount(of: name) }
            let new = survives ? ShareCountFacts(name: name, parent: parent, count: count) : nil
            return (tally.old, new)
        }
    }

    /// The root found by always descending to the child with the smallest name that has one at or below it. Call it
    /// only for a record whose count is above 0.
    ///
    /// Throws `hierarchyTooDeep` when it is more levels below than the depth limit, `corruption` when there is none.
    func firstRoot(below name: RecordName) throws -> ShareMembership {
        let tallied = smallestTalliedChildren()
        var current = name
        for _ in 0..<zone.limits.hierarchyDepth {
            guard let child = try firstChildWithRoot(of: current, tallied) else {
                throw StoreError(
                    .corruption, "A record counts a share root below it that is not there: rebuild the indexes.",
                    ["record": name.text, "zone": zone.id.name.text])
            }
            if let share = try share(of: child) { return ShareMembership(root: child, share: share) }
            current = child
        }
        throw StoreError.tooDeep(current, in: zone)
    }

    private func wrongCount(of name: RecordName) -> StoreError {
        StoreError(
            .corruption, "A count of share roots is wrong: verify the store, then rebuild its indexes.",
            ["record": name.text, "zone": zone.id.name.text])
    }

    private func share(of name: RecordName) throws -> RecordName? {
        if let draft = drafts[name] { return draft.newShare }
        return try zone.node(name)?.share
    }

    /// For every record, the child with the smallest name among those whose count the request touches and leaves above
    /// 0.
    private func smallestTalliedChildren() -> [RecordName: RecordName] {
        var smallest: [RecordName: RecordName] = [:]
        for (name, tally) in tallies where tally.count > 0 {
            guard let parent = drafts[name].map(\.newParent) ?? tally.old?.parent else { continue }
            smallest[parent] = smallest[parent].map { min($0, name) } ?? name
        }
        return smallest
    }

    private func firstChildWithRoot(
        of parent: RecordName, _ tallied: [RecordName: RecordName]
    ) throws -> RecordName? {
        var first = tallied[parent]
        try zone.store.scan(zone.keys.shareCounts(below: parent)) { key, _ in
            let name = try zone.keys.readShareCountKey(key).name
            if tallies[name] != nil { return .next }
            if first.map({ name < $0 }) ?? true { first = name }
            return .stop
        }
        return first
    }

    private mutating func detach(_ draft: RecordDraft) throws {
        let name = draft.name
        guard draft.isPlacedAnew || draft.isMarkedAnew else { return }
        try load(name)
        if draft.oldShare != nil && draft.newShare == nil { try adjust(name, by: -1) }
        guard draft.isPlacedAnew else { return }
        try adjustAbove(name, by: -count(of: name))
        parents[name] = .some(nil)
    }

    private mutating func attach(_ draft: RecordDraft) throws {
        guard draft.isPlacedAnew, draft.isSaved else { return }
        parents[draft.name] = .some(draft.newParent)
        try adjustAbove(draft.name, by: count(of: draft.name))
    }

    private mutating func adjust(_ name: RecordName, by difference: Int64) throws {
        try load(name)
        tallies[name]?.count += difference
        try adjustAbove(name, by: difference)
    }

    private mutating func adjustAbove(_ name: RecordName, by difference: Int64) throws {
        guard difference != 0 else { return }
        var current = name
        var level = 0
        while let parent = try parent(of: current) {
            level += 1
            guard level <= zone.limits.hierarchyDepth else { throw StoreError.tooDeep(name, in: zone) }
            try load(parent)
            tallies[parent]?.count += difference
            current = parent
        }
    }

    private func parent(of name: RecordName) throws -> RecordName? {
        if let parent = parents[name] { return parent }
        if let draft = drafts[name], !draft.wasLive { return nil }
        return try zone.node(name)?.parent
    }

    /// Reads the stored count of a record once. A record that is new has none.
    private mutating func load(_ name: RecordName) throws {
        guard tallies[name] == nil else { return }
        if let draft = drafts[name] {
            guard draft.wasLive else {
                tallies[name] = Tally(old: nil, count: 0)
                return
            }
        }
        let parent = try drafts[name].map { $0.oldParent } ?? zone.node(name)?.parent
        let count = try zone.shareCount(of: name, under: parent)
        // Far below the largest number, so that adding cannot overflow.
        guard count < 1 << 62 else { throw wrongCount(of: name) }
        tallies[name] = Tally(old: ShareCountFacts(name: name, parent: parent, count: count), count: Int64(count))
    }
}
