// Fills and clears indexes for queries in the background, a batch of records to a transaction, while others write.
//
// A batch reads the records of a type in the order of their names, sets the entries of filling fields, removes those of
// clearing ones, and moves the position that is stored with the fields. Saves maintain entries on both sides of the
// position (`QueryFacts`), so the order of batches and saves does not matter, and a crash between two batches loses
// nothing. After the last batch the filled indexes are ready and the cleared ones are removed. An index that is added
// or dropped meanwhile resets the position.

import FoundationEssentials
package import StratusLayout
package import StratusModel
import StratusStore

/// The progress of building indexes.
package struct IndexBuildProgress: Hashable, Sendable {
    package var zonesFinished = 0
    package var recordsVisited = 0
    package var commits = 0
    /// How many times the work waited for the store.
    package var pauses = 0
}

extension RecordEngine {
    /// The bytes that a batch writes at most, approximately.
    private static let buildBatchByteCount = 1_000_000

    /// Finishes the unfinished indexes of all zones. `pause` and `shouldContinue` are those of `purgeDeletedZones`.
    /// Another call continues where this one stopped.
    ///
    /// `rest` gets the seconds to rest: three times those of a batch beside which this process has committed something
    /// else. Where other processes may write, it gets a few milliseconds after each of the other batches.
    @discardableResult
    package func buildIndexes(
        pause: () -> Void, rest: (_ seconds: Double) -> Void = { _ in },
        shouldContinue: (IndexBuildProgress) -> Bool = { _ in true }
    ) throws -> IndexBuildProgress {
        let clock = ContinuousClock()
        var progress = IndexBuildProgress()
        var pausesInARow = 0
        var last: [UInt8]?
        var commitCount = store.statistics.transactionsCommitted
        while let build = try next(in: GlobalKeys.keyspace(.indexBuilds), from: last, IndexBuild.init) {
            last = build.key
            guard shouldContinue(progress) else { return progress }
            if pausesInARow < options.limits.purgePauseCount, store.isUnderWritePressure {
                pausesInARow += 1
                progress.pauses += 1
                pause()
                continue
            }
            pausesInARow = 0
            let began = clock.now
            let done = try transact { transaction in
                try transaction.buildBatch(
                    of: build, recordLimit: options.limits.indexBatchCount, Self.buildBatchByteCount)
            }
            progress.commits += 1
            progress.recordsVisited += done.recordCount
            if done.isFinished { progress.zonesFinished += 1 }
            let newCount = store.statistics.transactionsCommitted
            if newCount > commitCount + 1 {
                rest(BackgroundRest.seconds(afterBuildingFor: (clock.now - began) / .seconds(1)))
            } else if store.isShared {
                // Commits of other processes are not counted here.
                rest(BackgroundRest.shortSeconds)
            }
            commitCount = newCount
        }
        return progress
    }
}

extension RecordReader {
    /// The number of records that `buildIndexes` would read now. Scans their keys, until the `counter` stops.
    package func unbuiltRecordCount(_ counter: WorkCounter? = nil) throws -> Int {
        var count = 0
        try store.scan(GlobalKeys.keyspace(.indexBuilds)) { key, value in
            let build = try IndexBuild(key, value)
            let header = try store.withValue(forKey: build.keys.header()) { try ZoneHeader(decoding: $0) }
            guard header?.identity == build.entry.identity else { return .next }
            var rest: [KeyRange] = []
            try store.forEach(in: build.keys.keyspace(.queryIndexes)) { key, value in
                let entry = try QueryIndexesEntry(decoding: value)
                if entry.isUnfinished { rest.append(build.rest(of: try build.keys.readQueryIndexesKey(key), entry)) }
            }
            count += try rest.reduce(0) { try $0 + entryCount(in: $1, counter) }
            return counter?.step ?? .next
        }
        return count
    }
}

private struct IndexBuild {
    var keys: ZoneKeys
    var entry: ZoneIdentityEntry
    var key: [UInt8] { keys.listed(in: .indexBuilds) }

    init(_ key: Span<UInt8>, _ value: Span<UInt8>) throws(StoreError) {
        let (database, zone) = try GlobalKeys.readZoneKey(key, in: .indexBuilds)
        keys = ZoneKeys(database: database, zone: zone)
        entry = try ZoneIdentityEntry(decoding: value)
    }

    /// The remaining records of a type, in the index of types.
    func rest(of type: RecordType, _ entry: QueryIndexesEntry) -> KeyRange {
        entry.position.map { keys.types(of: type, after: $0) } ?? keys.types(of: type)
    }
}

extension RecordTransaction {
    /// Sets the wanted indexes of a type. Missing ones are filled and unwanted ones cleared in the background.
    ///
    /// Returns whether anything changed.
    @discardableResult
    package func setQueryIndexes(
        _ wanted: [FieldKey: QueryIndexKinds], of type: RecordType, in zone: ZoneReader
    ) throws -> Bool {
        var entry = try zone.queryIndexes(of: type)
        let isDropped = entry.drop(allBut: wanted)
        // A type without records gets its indexes with the first one.
        let isAdded = try zone.isEmpty(ofType: type) ? false : entry.add(wanted) { false }
        guard isDropped || isAdded else { return false }
        var header = try zone.header()
        try set(zone.keys.queryIndexes(of: type), to: entry.encoded())
        if !header.hasQueryIndexes {
            header.hasQueryIndexes = true
            try set(zone.keys.header(), to: header.encoded())
        }
        if entry.isUnfinished {
            let build = ZoneIdentityEntry(identity: header.identity)
            try set(zone.keys.listed(in: .indexBuilds), to: build.encoded())
        }
        return true
    }

    /// Fills and clears the entries of the next records of a type.
    fileprivate func buildBatch(
        of build: IndexBuild, recordLimit: Int, _ byteLimit: Int
    ) throws -> (isFinished: Bool, recordCount: Int) {
        let zone = zone(of: build.keys)
        let header = try store.withValue(forKey: build.keys.header()) { try ZoneHeader(decoding: $0) }
        // A zone that was deleted needs no indexes.
        guard header?.identity == build.entry.identity, let unfinished = try firstUnfinished(in: zone)
        else {
            try delete(build.key)
            return (true, 0)
        }
        let type = unfinished.type
        var entry = unfinished.indexes
        let whole = build.keys.types(of: type)
        let range = build.rest(of: type, entry)
        let names = try store.collect(range, limit: recordLimit) { key, _ in
            try ZoneKeys.readName(key, prefixByteCount: whole.lower.count)
        }
        let fields = FieldSelection.only(Set(entry.fields.keys))
        let isClearing = entry.fields.values.contains { $0.phase == .clearing }
        var mutations = KeyMutations()
        var count = 0
        for name in names where mutations.byteCount < byteLimit {
            count += 1
            entry.position = name
            guard let stored = try zone.record(name, fields: fields) else { continue }
            let filled = QueryFacts(of: stored, entry, in: [.filling])
            FieldIndex.append(filled, in: zone.keys, to: &mutations)
            TokenIndex.append(filled, in: zone.keys, to: &mutations)
            guard isClearing else { continue }
            let cleared = QueryFacts(of: stored, entry, in: [.clearing])
            FieldIndex.appendDifference(from: cleared, to: nil, in: zone.keys, to: &mutations)
            TokenIndex.appendDifference(from: cleared, to: nil, in: zone.keys, to: &mutations)
        }
        try writing { try mutations.write(to: $0) }
        if count == names.count, names.count < recordLimit {
            entry.position = nil
            entry.fields = entry.fields.filter { $0.value.phase != .clearing }
                .mapValues { QueryIndexState(kinds: $0.kinds, phase: .ready) }
        }
        if entry.fields.isEmpty {
            try delete(build.keys.queryIndexes(of: type))
        } else {
            try set(build.keys.queryIndexes(of: type), to: entry.encoded())
        }
        return (false, count)
    }

    private func firstUnfinished(
        in zone: ZoneReader
    ) throws -> (type: RecordType, indexes: QueryIndexesEntry)? {
        var found: (type: RecordType, indexes: QueryIndexesEntry)?
        try store.scan(zone.keys.keyspace(.queryIndexes)) { key, value in
            let entry = try QueryIndexesEntry(decoding: value)
            guard entry.isUnfinished else { return .next }
            found = (try zone.keys.readQueryIndexesKey(key), entry)
            return .stop
        }
        return found
    }
}
