// Rebuilds the indexes of a zone from its records, batch by batch, by the rules that wrote them.
//
//   1. Mark the zone (`RebuildMark`): requests are refused from here on, because the counts are wrong meanwhile.
//   2. Delete entries that no record accounts for.
//   3. Write the entries that every record should have. The record's own value decides its parent and share, the zone
//      which fields are indexed.
//   4. Set the flags for records with children.
//   5. Count the share roots, chain by chain.
//   6. Give the zone a new incarnation and raise its horizon: feeds may have reported wrong changes, so old tokens
//      expire. The same commit removes the mark.
//
// A rebuild that is interrupted or fails leaves the mark: the zone takes no requests, `verify` reports that, and
// another rebuild starts from the beginning. Entries that follow from no record stay: the secrets of URLs, the events
// of shares, and ended acceptances, which the next purge of history deletes because of the raised horizon. A
// contradiction between records, such as a missing parent or two roots on one path, is not repaired. `verify` still
// reports it.

package import FoundationEssentials
import StratusLayout
package import StratusModel
import StratusStore
import Synchronization

extension RecordEngine {
    /// Rebuilds the indexes of one zone. The caller draws `incarnation`. `progress` is called during each step, and
    /// while counting before it.
    ///
    /// Throws `unknownZone`, also if the zone is deleted meanwhile, `rebuilding` while another rebuild runs, and
    /// `corruption` if a record cannot be read.
    package func rebuild(
        _ id: ZoneID, incarnation: UUID, progress: @escaping (RebuildProgress) -> Void = { _ in }
    ) throws {
        guard !isRebuilding.exchange(true, ordering: .acquiringAndReleasing) else {
            throw StoreError(.rebuilding, "Indexes are being rebuilt already: wait until that is done.")
        }
        defer { isRebuilding.store(false, ordering: .releasing) }
        let identity = try transact { transaction in
            let zone = try transaction.existingZone(id)
            let identity = try zone.header().identity
            try transaction.markRebuilding(zone, identity: identity)
            return identity
        }
        let rebuilder = ZoneRebuilder(engine: self, id: id, identity: identity, progress: progress)
        try rebuilder.deleteDangling()
        try rebuilder.writeEntries()
        try rebuilder.setFlags()
        try rebuilder.countShares()
        try rebuilder.finish(incarnation: incarnation)
    }
}

/// The steps of one rebuild.
private struct ZoneRebuilder {
    /// Entries read in one transaction.
    static let batchCount = 500
    /// Bytes read in one transaction. What is written for them stays well below a transaction's limit.
    static let batchByteCount = 500_000
    /// Share roots in one transaction: each writes along a chain that may be long.
    static let rootBatchCount = 8

    let engine: RecordEngine
    let id: ZoneID
    let identity: UUID
    let progress: (RebuildProgress) -> Void

    // MARK: Progress

    private func tell(_ step: RebuildProgress.Step, _ done: Int, of total: Int?) {
        progress(RebuildProgress(zone: id.name, step: step, doneCount: done, totalCount: total))
    }

    /// Reports the count and never stops: the zone takes no requests until the rebuild is done.
    private func makeCounter() -> WorkCounter {
        WorkCounter { count in
            tell(.counting, count, of: nil)
            return .next
        }
    }

    private func entryCount(_ keyspace: ZoneKeyspace, _ counter: WorkCounter? = nil) throws -> Int {
        try engine.read { reader in
            let keys = try reader.existingZone(id, identity: identity).keys
            return try reader.entryCount(in: keys.keyspace(keyspace), counter ?? makeCounter())
        }
    }

    // MARK: 2. Dangling entries

    func deleteDangling() throws {
        let keyspaces = [.records] + ZoneVerifier.indexKeyspaces.filter { $0 != .shareCounts } + [.endedChildren]
        let counter = makeCounter()
        let counts = try keyspaces.map { try entryCount($0, counter) }
        let total = counts.reduce(0, +)
        for (index, keyspace) in keyspaces.enumerated() {
            let before = counts[..<index].reduce(0, +)
            try inBatches(keyspace, step: .entries, after: before, of: total) { transaction, zone, key, value in
                guard try !zone.isAccountedFor(key.span, value.span, keyspace) else { return }
                try transaction.delete(key)
            }
        }
    }

    // MARK: 3. Entries

    func writeEntries() throws {
        let total = try entryCount(.records)
        try inBatches(.records, step: .records, of: total) { transaction, zone, key, value in
            let parts = try zone.keys.readRecordKey(key.span)
            guard parts.chunkIndex == nil else { return }
            switch try StoredState(decoding: value.span, name: parts.name) {
            case .absent: return
            case .deleted(let tombstone):
                try write(ChangeIndex.self, tombstone.write(of: parts.name), zone, transaction)
            case .live(let live):
                let stored = try zone.record(parts.name)
                let facts = stored.map { $0.facts } ?? live.facts
                try write(TypeIndex.self, facts, zone, transaction)
                try write(ReferenceIndex.self, facts, zone, transaction)
                try write(ChangeIndex.self, facts.write, zone, transaction)
                if let stored {
                    let indexes = try zone.queryIndexes(of: facts.type)
                    let facts = QueryFacts(of: stored, indexes, in: QueryIndexPhase.written)
                    try write(FieldIndex.self, facts, zone, transaction)
                    try write(TokenIndex.self, facts, zone, transaction)
                }
                try writePlace(live.header, parts.name, zone, transaction)
            }
        }
    }

    private func writePlace(
        _ record: RecordHeader, _ name: RecordName, _ zone: ZoneReader, _ transaction: RecordTransaction
    ) throws {
        let sequence = record.system.changeSequence
        var node =
            try zone.store.withValue(forKey: zone.keys.parent(of: name)) { try ParentEntry(decoding: $0) }
            ?? ParentEntry(parent: nil, parentSince: sequence)
        if node.parent != record.parent {
            node.parent = record.parent
            node.parentSince = sequence
        }
        if node.share != record.share {
            node.share = record.share
            node.shareSince = record.share == nil ? 0 : sequence
        }
        try write(node, name, zone, transaction)
    }

    private func write(
        _ node: ParentEntry, _ name: RecordName, _ zone: ZoneReader, _ transaction: RecordTransaction
    ) throws {
        let facts = HierarchyFacts(name: name, node: node)
        try write(ParentIndex.self, facts, zone, transaction)
        try write(ChildIndex.self, facts, zone, transaction)
        try write(ShareRootIndex.self, facts, zone, transaction)
    }

    private func write<Rule: IndexRule>(
        _ rule: Rule.Type, _ facts: Rule.Facts, _ zone: ZoneReader, _ transaction: RecordTransaction
    ) throws {
        for entry in rule.entries(of: facts, in: zone.keys)
        where try zone.store.value(forKey: entry.key) != entry.value {
            try transaction.set(entry.key, to: entry.value)
        }
    }

    // MARK: 4. Flags

    func setFlags() throws {
        let total = try entryCount(.parents)
        try inBatches(.parents, step: .places, of: total) { transaction, zone, key, value in
            var node = try ParentEntry(decoding: value.span)
            let name = try zone.keys.readParentKey(key.span)
            node.hasChildren = try !zone.children(of: name, limit: 1).isEmpty
            try write(node, name, zone, transaction)
        }
    }

    // MARK: 5. Share counts

    func countShares() throws {
        let countCount = try entryCount(.shareCounts)
        let total = try countCount + entryCount(.shareRoots)
        try inBatches(.shareCounts, step: .shares, of: total) { transaction, _, key, _ in
            try transaction.delete(key)
        }
        try inBatches(
            .shareRoots, batchCount: Self.rootBatchCount, step: .shares, after: countCount, of: total
        ) { transaction, zone, key, _ in
            var current: RecordName? = try zone.keys.readShareRootKey(key.span)
            // A chain may be longer than the depth limit, which holds where records are saved; a cycle ends the walk.
            var seen: Set<RecordName> = []
            while let name = current, seen.insert(name).inserted {
                let parentKey = zone.keys.parent(of: name)
                let parent = try zone.store.withValue(forKey: parentKey) { try ParentEntry(decoding: $0).parent } ?? nil
                let count = try zone.shareCount(of: name, under: parent).advanced(in: "share count")
                let facts = ShareCountFacts(name: name, parent: parent, count: count)
                try write(ShareCountIndex.self, facts, zone, transaction)
                current = parent
            }
        }
    }

    // MARK: 6. Header

    func finish(incarnation: UUID) throws {
        let count = try UInt64(entryCount(.parents))
        try engine.transact { transaction in
            let zone = try transaction.existingZone(id, identity: identity)
            var header = try zone.header()
            header.recordCount = count
            header.incarnation = incarnation
            header.horizon = header.sequence
            header.hasQueryIndexes =
                try header.hasQueryIndexes || zone.store.hasEntries(in: zone.keys.keyspace(.queryIndexes))
            try transaction.set(zone.keys.header(), to: header.encoded())
            try transaction.unmarkRebuilding(zone)
        }
    }

    /// Calls `body` for every entry of a keyspace, in a transaction for each batch. Each transaction makes the ancestor
    /// cache forget the zone. The entries count as done in a step, after those that were done before.
    private func inBatches(
        _ keyspace: ZoneKeyspace, batchCount: Int = Self.batchCount, step: RebuildProgress.Step,
        after doneBefore: Int = 0, of total: Int,
        _ body: (RecordTransaction, ZoneReader, _ key: [UInt8], _ value: [UInt8]) throws -> Void
    ) throws {
        var position: [UInt8]?
        var done = doneBefore
        repeat {
            let start = position
            let (next, count) = try engine.transact { transaction in
                let zone = try transaction.existingZone(id, identity: identity)
                var rest = zone.keys.keyspace(keyspace)
                if let start { rest.lower = start + [0] }
                var batch: [(key: [UInt8], value: [UInt8])] = []
                var byteCount = 0
                try zone.store.scan(rest, .forward, limit: batchCount) { key, value in
                    batch.append(([UInt8](copying: key), [UInt8](copying: value)))
                    byteCount += key.count + value.count
                    return byteCount < Self.batchByteCount ? .next : .stop
                }
                for entry in batch { try body(transaction, zone, entry.key, entry.value) }
                if !batch.isEmpty { transaction.forgetAncestors(of: zone) }
                let isFull = batch.count == batchCount || byteCount >= Self.batchByteCount
                return (isFull ? batch.last?.key : nil, batch.count)
            }
            position = next
            done += count
            tell(step, done, of: total)
        } while position != nil
    }
}

/// The progress of one step of a zone's rebuild.
package struct RebuildProgress: Hashable, Sendable {
    /// The steps, in their order. `counting` comes before several of them.
    package enum Step: String, CaseIterable, Sendable {
        /// The steps with a known total, in their order.
        static let measured: [Step] = [.entries, .records, .places, .shares]

        /// Counts entries before a step.
        case counting
        /// Checks the record of every entry.
        case entries
        /// Writes the entries of every record.
        case records
        /// Sets the flags of every record's place in the hierarchy.
        case places
        /// Removes the counts of share roots, then counts every share root.
        case shares
    }

    package var zone: ZoneName
    package var step: Step
    package var doneCount: Int
    /// Nil while counting.
    package var totalCount: Int?
}

extension ZoneMeter {
    /// Starts the rebuild of a zone.
    package func beginRebuild(recordCount: Int) {
        begin(recordCount: recordCount, weights: RebuildProgress.Step.measured.map { _ in 1 })
    }

    /// Reports the progress of the zone's rebuild.
    package func update(_ progress: RebuildProgress) {
        guard let total = progress.totalCount, let step = RebuildProgress.Step.measured.firstIndex(of: progress.step)
        else { return tellAgain() }
        update(step: step, progress.doneCount, of: total)
    }
}
