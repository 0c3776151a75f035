// Turns a request into a plan, in eight steps. Nothing is written on the way: the plan is a value, and a refused
// request has none.
//
//   1. Load the stored state of every name of the request.              (RecordDraft)
//   2. Place all records of the request.                                (FinalHierarchy)
//   3. Refuse missing parents, orphaned children, cycles, excess depth.
//   4. Count the share roots along the chains that change.              (ShareCounts)
//   5. Refuse records that would be in two shares.
//   6. Number the writes in the zone's feed.
//   7. Find the hierarchy nodes that change.                            (MutationPlanner+Writing)
//   8. Write records, index entries and history into the plan.          (MutationPlanner+Writing)

import StratusLayout
import StratusModel
import StratusStore

/// Plans one request over one zone, inside a transaction.
struct MutationPlanner {
    let zone: ZoneReader
    let request: MutationRequest
    /// The items of the request in its order, and by name.
    var items: [RecordDraft] = []
    var drafts: [RecordName: RecordDraft] = [:]
    /// The parents that the saved records name.
    var namedParents: [RecordName: NamedParent] = [:]
    var header: ZoneHeader
    /// The indexes for queries of each type, as stored and as they will be.
    var storedIndexes: [RecordType: QueryIndexesEntry] = [:]
    var indexes: [RecordType: QueryIndexesEntry] = [:]

    init(zone: ZoneReader, request: MutationRequest) throws {
        self.zone = zone
        self.request = request
        self.header = try zone.header()
    }

    /// The plan of the request.
    ///
    /// Throws `RequestRefused` with the reason of every record that cannot be written as asked, `StoreError` with
    /// `invalidRequest` for a request that contradicts itself or is over a limit.
    mutating func plan() throws -> MutationPlan {
        try load()
        try loadIndexes()
        var hierarchy = FinalHierarchy(zone: zone, drafts: drafts)
        try refuse(structureRefusals(&hierarchy))
        // Counts come only from records that were there before or become roots: a plain load has none.
        let countsChange = items.contains { $0.isMoving || $0.becomesRoot }
        let counts = countsChange ? try ShareCounts(zone: zone, drafts: drafts, items: items) : nil
        if let counts { try refuse(shareRefusals(&hierarchy, counts)) }
        let memberships = try memberships(&hierarchy)
        try number()
        var plan = try written(nodeChanges(hierarchy), counts)
        plan.memberships = memberships
        return plan
    }

    private func refuse(_ refusals: [RecordName: Refusal]) throws {
        if !refusals.isEmpty { throw RequestRefused(refusals: refusals) }
    }

    // MARK: 1. Load

    private func checkLimits() throws {
        let limit = zone.limits.requestItemCount
        guard request.mutations.count <= limit else {
            throw StoreError(
                .invalidRequest, "The request has too many items: split it.",
                ["items": "\(request.mutations.count)", "limit": "\(limit)"])
        }
        try RecordMutation.checkName(request.stamp.user.text, "user")
        let mutations = request.mutations.span
        for index in mutations.indices { try mutations[index].checkLimits() }
    }

    private mutating func load() throws {
        try checkLimits()
        items.reserveCapacity(request.mutations.count)
        drafts.reserveCapacity(request.mutations.count)
        if header.sequence == 0 { zone.transaction?.expectWrites(intoEmpty: zone.keys.keyspace(.records)) }
        let states = try storedStates()
        if let reads = zone.reads { announceRest(states, reads) }
        for index in states.indices {
            let draft = RecordDraft(request.mutations[index], old: states[index])
            let name = draft.name
            if draft.wasLive && (draft.isPlacedAnew || draft.isMarkedAnew) {
                draft.oldNode = try zone.node(name)
                guard draft.oldNode != nil else { throw StoreError.missingParentEntry(name, in: zone.id) }
            }
            guard drafts.updateValue(draft, forKey: name) == nil else {
                throw StoreError(
                    .invalidRequest, "A record occurs twice in one request: name each record once.",
                    ["record": name.text])
            }
            items.append(draft)
        }
        var last: NamedParent?
        for draft in items {
            guard let name = draft.newParent else { continue }
            // Siblings often come one after the other.
            let parent = if let last, last.name == name { last } else { namedParent(name) }
            draft.parent = parent
            last = parent
        }
    }

    private mutating func namedParent(_ name: RecordName) -> NamedParent {
        if let known = namedParents[name] { return known }
        let parent = NamedParent(name: name, draft: drafts[name])
        namedParents[name] = parent
        return parent
    }

    /// The stored state of each name of the request, in the request's order.
    ///
    /// The names are looked up in their order, so that neighbours in the store are read one after the other, while they
    /// are in the processor's caches. Names that begin alike keep the order of the request.
    private func storedStates() throws -> [StoredState] {
        let names = request.mutations.map(\.name)
        var order = names.indices.map { (beginning: names[$0].beginning, index: $0) }
        order.sort { ($0.beginning, $0.index) < ($1.beginning, $1.index) }
        var states = [StoredState](repeating: .absent, count: names.count)
        for (_, index) in order {
            states[index] = try zone.state(of: names[index], withFields: header.hasQueryIndexes)
        }
        return states
    }

    // MARK: 3. Structure

    /// Missing parents, orphaned children, cycles and excess depth.
    private func structureRefusals(_ hierarchy: inout FinalHierarchy) throws -> [RecordName: Refusal] {
        var refusals: [RecordName: Refusal] = [:]
        for draft in items {
            let refusal =
                try draft.isSaved
                ? placementRefusal(draft, &hierarchy) : deletionRefusal(draft, hierarchy)
            if let refusal { refusals[draft.name] = refusal }
        }
        return refusals
    }

    private func deletionRefusal(_ draft: RecordDraft, _ hierarchy: FinalHierarchy) throws -> Refusal? {
        guard draft.wasLive else { return nil }
        guard draft.oldNode?.hasChildren == true || draft.isNamedParent else { return nil }
        return try hierarchy.firstChild(of: draft.name).map { .hasChildren(child: $0) }
    }

    private func placementRefusal(_ draft: RecordDraft, _ hierarchy: inout FinalHierarchy) throws -> Refusal? {
        guard let parent = draft.parent else { return nil }
        guard draft.isPlacedAnew else {
            // The parent existed before. Only this request can delete it.
            return parent.draft?.isSaved == false ? .parentMissing(parent: parent.name) : nil
        }
        if parent.draft === draft { return .cycle(parent: parent.name) }
        guard try hierarchy.exists(parent) else { return .parentMissing(parent: parent.name) }
        let depthLimit = zone.limits.hierarchyDepth
        switch try hierarchy.position(of: draft) {
        case .onCycle: return .cycle(parent: parent.name)
        case .tooDeep: return .tooDeep(depthLimit: depthLimit)
        case .placed(let level, _) where level > depthLimit: return .tooDeep(depthLimit: depthLimit)
        case .placed, .belowCycle: return nil
        }
    }

    // MARK: 5. Shares

    /// Records that would be in two hierarchical shares. Two roots on one path need a new root, or a record that moved
    /// with a root at or below it. So only those look up their ancestors.
    private func shareRefusals(
        _ hierarchy: inout FinalHierarchy, _ counts: ShareCounts
    ) throws -> [RecordName: Refusal] {
        var refusals: [RecordName: Refusal] = [:]
        for draft in items {
            guard draft.isSaved else { continue }
            let name = draft.name
            if let old = draft.oldShare, let share = draft.newShare, old != share {
                refusals[name] = .alreadyShared(ShareConflict(place: .same, root: name, share: old))
                continue
            }
            guard draft.becomesRoot || (draft.isPlacedAnew && counts.count(of: name) > 0) else { continue }
            if let parent = draft.newParent, case .placed(_, let above?) = try hierarchy.position(of: parent) {
                refusals[name] = .alreadyShared(ShareConflict(place: .above, root: above.root, share: above.share))
            } else if draft.becomesRoot, counts.count(of: name) > 1 {
                let below = try counts.firstRoot(below: name)
                refusals[name] = .alreadyShared(ShareConflict(place: .below, root: below.root, share: below.share))
            }
        }
        return refusals
    }

    /// The shares of the saved records, if the request wants them.
    private func memberships(_ hierarchy: inout FinalHierarchy) throws -> [RecordName: ShareMembership] {
        guard request.asksForMemberships else { return [:] }
        var memberships: [RecordName: ShareMembership] = [:]
        for draft in items where draft.isSaved {
            guard case .placed(_, let membership?) = try hierarchy.position(of: draft) else { continue }
            memberships[draft.name] = membership
        }
        return memberships
    }

    // MARK: 6. Numbers

    private mutating func number() throws {
        for draft in items where draft.isEffective {
            header.sequence = try header.sequence.advanced(in: "sequence")
            draft.sequence = header.sequence
        }
    }
}

extension RecordName {
    /// The name's first bytes as a number that sorts like them.
    fileprivate var beginning: UInt64 {
        var number: UInt64 = 0
        let bytes = text.utf8Span.span
        for index in 0..<8 { number = number << 8 | (index < bytes.count ? UInt64(bytes[index]) : 0) }
        return number
    }
}

extension StoreError {
    static func missingParentEntry(_ name: RecordName, in zone: ZoneID) -> StoreError {
        StoreError(
            .corruption, "A record has no entry in the parent index: verify the store, then rebuild its indexes.",
            ["record": name.text, "zone": zone.name.text])
    }
}
