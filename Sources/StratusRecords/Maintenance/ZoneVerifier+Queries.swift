// What a zone says of its indexes for queries: it can be read, its writers know that there are some, and somebody will
// finish what is unfinished.

import StratusLayout
import StratusModel
import StratusStore

extension ZoneVerifier {
    mutating func verifyQueryIndexes() throws {
        var isUnfinished = false
        try zone.store.scan(zone.keys.queryIndexes.keyRange) { key, value in
            report.entriesChecked += 1
            guard let entry = try? QueryIndexesEntry(decoding: value) else {
                report.note(.wrong, key: [UInt8](copying: key), "what is indexed of the type cannot be read")
                return .next
            }
            queryIndexes[try zone.keys.readQueryIndexesKey(key)] = entry
            isUnfinished = isUnfinished || entry.isUnfinished
            unfinishedFields.formUnion(entry.fields.filter { $0.value.phase != .ready }.keys)
            return .next
        }
        if !queryIndexes.isEmpty, !header.hasQueryIndexes {
            report.note(.wrong, key: zone.keys.header(), "says that the zone has no indexes for queries")
        }
        let build = GlobalKeys.indexBuild(zone.keys.database, zone.keys.zone)
        if isUnfinished, try !zone.store.contains(build) {
            report.note(.missing, key: build, "an index is unfinished, and nobody will finish it")
        }
    }
}

extension ZoneVerifier {
    /// Looks up what every record accounts for in one of the keyspaces, in the indexes that are finished.
    mutating func lookUpQueryEntries(_ keyspace: ZoneKeyspace) throws {
        try zone.store.scan(zone.keys.records.keyRange) { key, _ in
            let parts = try zone.keys.readRecordKey(key)
            progress.tellOfLook()
            // A record that cannot be read has been reported.
            guard parts.chunkIndex == nil, let stored = try? zone.record(parts.name),
                let indexes = queryIndexes[stored.record.type]
            else { return .next }
            let facts = QueryFacts(of: stored, indexes, in: [.ready]).leaving { !unfinishedFields.contains($0) }
            try lookUp(
                keyspace == .fields
                    ? FieldIndex.entries(of: facts, in: zone.keys) : TokenIndex.entries(of: facts, in: zone.keys))
            return .next
        }
    }
}

extension QueryFacts {
    /// What some of the fields contribute.
    func leaving(_ isWanted: (FieldKey) -> Bool) -> QueryFacts {
        var facts = self
        facts.values = values.filter { isWanted($0.key) }
        facts.words = words.filter { isWanted($0.key) }
        return facts
    }
}

extension ZoneReader {
    /// Whether a record accounts for an entry of an index for queries, whatever the phase of the index.
    func isAccountedFor(field parts: FieldKeyParts) throws -> Bool {
        guard let facts = try queryFacts(of: parts.name), facts.type == parts.type else { return false }
        return facts.values[parts.field]?.contains(parts.value) ?? false
    }

    func isAccountedFor(token parts: TokenKeyParts) throws -> Bool {
        try queryFacts(of: parts.name)?.words[parts.field]?.contains(parts.token) ?? false
    }

    private func queryFacts(of name: RecordName) throws -> QueryFacts? {
        guard let stored = try record(name) else { return nil }
        return QueryFacts(of: stored, try queryIndexes(of: stored.record.type), in: QueryIndexPhase.all)
    }
}
