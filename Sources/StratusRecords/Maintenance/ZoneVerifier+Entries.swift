// Verification of one zone backwards: no index has an entry without a record, and the history contradicts neither
// itself nor the present. Also what the zone stores about its indexes for queries and about shares.

import StratusLayout
import StratusModel
import StratusStore

/// The last period of a record's history that was read.
private struct EndedTime {
    let name: RecordName
    let ended: UInt64

    /// When the next period of the record may begin; nil for another record.
    func end(for name: RecordName) -> UInt64? { name == self.name ? ended : nil }
}

extension ZoneVerifier {
    /// The keyspaces whose entries follow from the present records.
    static let indexKeyspaces: [ZoneKeyspace] = [
        .parents, .children, .shareRoots, .shareCounts, .references, .types, .fields, .tokens, .changes,
    ]

    /// The keyspaces whose entries are looked up only if their tallies differ.
    private static let talliedKeyspaces: Set<ZoneKeyspace> = [.fields, .tokens]

    mutating func verifyCounts() throws {
        let total = expected.values.reduce(0) { $0 + $1.count }
        var done = 0
        if header.recordCount != UInt64(liveCount), try isStill() {
            report.note(
                .wrong, key: zone.keys.header(), "counts \(header.recordCount.counting("record")), of \(liveCount)")
        }
        for keyspace in Self.indexKeyspaces {
            let isTallied = Self.talliedKeyspaces.contains(keyspace)
            let found = try tally(keyspace, looksAtEntries: isTallied, &done, of: total)
            let wanted = expected[keyspace] ?? EntryTally()
            if isTallied, found != wanted { try lookUpQueryEntries(keyspace) }
            if found.count != wanted.count || isFaulty {
                try findDangling(keyspace)
            } else if isTallied, !unfinishedFields.isEmpty {
                try findDangling(keyspace, unfinishedOnly: true)
            }
        }
    }

    /// Tallies a keyspace without unfinished indexes. Each entry that is read counts as done.
    private mutating func tally(
        _ keyspace: ZoneKeyspace, looksAtEntries: Bool, _ done: inout Int, of total: Int
    ) throws -> EntryTally {
        var tally = EntryTally()
        try zone.store.forEach(in: zone.keys.keyspace(keyspace)) { key, value in
            report.entriesChecked += 1
            done += 1
            progress.tell(.entries, done, of: total)
            if !looksAtEntries {
                tally.addUnseen()
            } else if try !isUnfinished(key, keyspace) {
                tally.add(key, value)
            }
        }
        return tally
    }

    /// Whether an entry of an index for queries belongs to an unfinished one.
    private func isUnfinished(_ key: Span<UInt8>, _ keyspace: ZoneKeyspace) throws -> Bool {
        guard !unfinishedFields.isEmpty else { return false }
        let field = try keyspace == .fields ? zone.keys.readFieldKey(key).field : zone.keys.readTokenKey(key).field
        return unfinishedFields.contains(field)
    }

    private mutating func findDangling(_ keyspace: ZoneKeyspace, unfinishedOnly: Bool = false) throws {
        try zone.store.forEach(in: zone.keys.keyspace(keyspace)) { key, value in
            progress.tellOfLook()
            if unfinishedOnly, try !isUnfinished(key, keyspace) { return }
            if try isDangling(key, value, keyspace) {
                report.note(.dangling, key: [UInt8](copying: key), "no record accounts for it")
            }
        }
    }

    /// Whether an entry has no record, both at one moment.
    private func isDangling(_ key: Span<UInt8>, _ value: Span<UInt8>, _ keyspace: ZoneKeyspace) throws -> Bool {
        guard !zone.store.showsOneMoment else { return try !zone.isAccountedFor(key, value, keyspace) }
        let key = [UInt8](copying: key)
        return try zone.atOneMoment { zone in
            guard let value = try zone.store.value(forKey: key) else { return false }
            return try !zone.isAccountedFor(key.span, value.span, keyspace)
        }
    }

    /// Verifies the periods of a parent or a share, record by record. Every period begins before it ends and overlaps
    /// neither another nor the present one, and both sides of a link agree.
    ///
    /// It cannot detect a lost period without a parent, a lost share, or a link that is lost on both sides.
    mutating func verifyPeriods(_ kind: EndedKind) throws {
        var previous: EndedTime?
        try zone.store.forEach(in: zone.keys.keyspace(kind.keyspace)) { key, value in
            progress.tellOfHistory()
            guard try kind.end(key, zone.keys) > header.horizon else { return }
            let (name, span) = try kind.read(key, value, zone.keys)
            if let previous, previous.name != name { try checkNow(previous, kind) }
            try checkTimes(key, began: span.began, ended: span.ended, notBefore: previous?.end(for: name) ?? 0)
            previous = EndedTime(name: name, ended: span.ended)
            guard kind == .parents, let parent = span.name else { return }
            let twin = zone.keys.endedChild(parent: parent, child: name, ended: span.ended)
            let began = try zone.store.withValue(forKey: twin) { try EndedPeriodEntry(decoding: $0).began }
            if began == nil { report.note(.missing, key: twin, "the child's history has no counterpart here") }
            if let began, began != span.began { report.note(.wrong, key: twin, "began at \(began)") }
        }
        if let previous { try checkNow(previous, kind) }
    }

    mutating func checkTimes(_ key: Span<UInt8>, began: UInt64, ended: UInt64, notBefore start: UInt64) throws {
        report.entriesChecked += 1
        guard try began < start || began >= ended || isAhead(ended) else { return }
        report.note(
            .wrong, key: [UInt8](copying: key),
            "the periods overlap or are ahead of the zone's last change: \(began) to \(ended)")
    }

    /// The present parent of a record, or none, and its present share must have begun when the last one ended or later.
    private mutating func checkNow(_ last: EndedTime, _ kind: EndedKind) throws {
        let place = try zone.store.withValue(forKey: zone.keys.parent(of: last.name)) { try ParentEntry(decoding: $0) }
        guard let place else { return }
        let isOfParents = kind == .parents
        let since = isOfParents ? place.parentSince : place.shareSince
        guard isOfParents || place.share != nil, since < last.ended else { return }
        let key =
            isOfParents
            ? zone.keys.endedParent(child: last.name, ended: last.ended)
            : zone.keys.endedShare(root: last.name, ended: last.ended)
        report.note(.wrong, key: key, "ended at \(last.ended), and what holds now began at \(since)")
    }

    mutating func verifyEndedChildren() throws {
        var found = 0
        try zone.store.forEach(in: zone.keys.keyspace(.endedChildren)) { key, value in
            progress.tellOfHistory()
            guard try zone.keys.readEndedChildKey(key).ended > header.horizon else { return }
            found += 1
            if try isDangling(key, value, .endedChildren) {
                report.note(.dangling, key: [UInt8](copying: key), "the child's history knows nothing of it")
            }
        }
        report.entriesChecked += found
    }
}

extension ZoneReader {
    /// Whether an index entry follows from a record as it is now, or an ended child from the history of the child. For
    /// a count, the record must have the parent in the key: the forward pass verifies the number.
    func isAccountedFor(_ key: Span<UInt8>, _ value: Span<UInt8>, _ keyspace: ZoneKeyspace) throws -> Bool {
        switch keyspace {
        case .records:
            let parts = try keys.readRecordKey(key)
            guard let chunk = parts.chunkIndex else { return true }
            return try live(parts.name).map { chunk < $0.chunkCount } ?? false
        case .parents: return try live(keys.readParentKey(key)) != nil
        case .children:
            let parts = try keys.readChildKey(key)
            return try live(parts.child)?.header.parent == .some(parts.parent)
        case .shareRoots: return try live(keys.readShareRootKey(key))?.header.share != nil
        case .shareCounts:
            let parts = try keys.readShareCountKey(key)
            guard let record = try live(parts.name), record.header.parent == parts.parent else { return false }
            return try CountEntry(decoding: value).count > 0
        case .references:
            let parts = try keys.readReferenceKey(key)
            let reference = RecordReference(target: parts.target, action: parts.action)
            let source = SourceReference(field: parts.field, reference: reference)
            return try record(parts.source)?.facts.references.contains(source) ?? false
        case .types:
            let parts = try keys.readTypeKey(key)
            return try live(parts.name)?.header.type == parts.type
        case .changes:
            let sequence = try keys.readChangeKey(key)
            switch try state(of: ChangeEntry(decoding: value).name) {
            case .absent: return false
            case .deleted(let tombstone): return tombstone.sequence == sequence
            case .live(let live): return live.facts.changeSequence == sequence
            }
        case .fields:
            let parts = try keys.readFieldKey(key)
            guard let facts = try queryFacts(of: parts.name), facts.type == parts.type else { return false }
            return facts.values.contains(QueryFact(field: parts.field, content: parts.value))
        case .tokens:
            let parts = try keys.readTokenKey(key)
            let word = QueryFact(field: parts.field, content: parts.token)
            return try queryFacts(of: parts.name)?.words.contains(word) ?? false
        case .endedChildren:
            let parts = try keys.readEndedChildKey(key)
            let twin = keys.endedParent(child: parts.child, ended: parts.ended)
            let parent = try store.withValue(forKey: twin) { try EndedParentEntry(decoding: $0).parent }
            return parent == .some(parts.parent)
        default: return false
        }
    }

    private func live(_ name: RecordName) throws -> LiveRecord? {
        if case .live(let live) = try state(of: name) { live } else { nil }
    }

    /// The values and words of a record in the indexes for queries, in any phase of the indexes.
    private func queryFacts(of name: RecordName) throws -> QueryFacts? {
        guard let stored = try record(name) else { return nil }
        return QueryFacts(of: stored, try queryIndexes(of: stored.record.type), in: QueryIndexPhase.all)
    }
}

extension StoredRecord {
    /// The facts of the record alone.
    var facts: RecordFacts {
        RecordFacts(
            name: record.name, type: record.type, changeSequence: system.changeSequence,
            place: ChangeEntry.SavedPlace(parent: record.parent, share: record.share), references: record.references)
    }
}

// The state of the indexes for queries: it can be decoded, the header says that there are some, and unfinished ones are
// in the list of the builder.

extension ZoneVerifier {
    mutating func verifyQueryIndexes() throws {
        var isUnfinished = false
        try zone.store.forEach(in: zone.keys.keyspace(.queryIndexes)) { key, value in
            report.entriesChecked += 1
            guard let entry = try? QueryIndexesEntry(decoding: value) else {
                report.note(.wrong, key: [UInt8](copying: key), "the list of the type's indexes cannot be read")
                return
            }
            queryIndexes[try zone.keys.readQueryIndexesKey(key)] = entry
            isUnfinished = isUnfinished || entry.isUnfinished
            unfinishedFields.formUnion(entry.fields.filter { $0.value.phase != .ready }.keys)
        }
        if !queryIndexes.isEmpty, !header.hasQueryIndexes {
            report.note(.wrong, key: zone.keys.header(), "says that the zone has no indexes for queries")
        }
        let build = zone.keys.listed(in: .indexBuilds)
        if isUnfinished, try !zone.store.contains(build) {
            report.note(
                .missing, key: build, "an index is unfinished, but the zone is not in the list of unfinished zones")
        }
    }
}

extension ZoneVerifier {
    /// Looks up the entries of every record in one of the keyspaces, in the finished indexes.
    mutating func lookUpQueryEntries(_ keyspace: ZoneKeyspace) throws {
        try zone.store.forEach(in: zone.keys.keyspace(.records)) { key, _ in
            let parts = try zone.keys.readRecordKey(key)
            progress.tellOfLook()
            // A record that cannot be read has been reported.
            guard parts.chunkIndex == nil,
                let stored = try StoreError.unlessDamaged({ try zone.record(parts.name) }),
                let indexes = queryIndexes[stored.record.type]
            else { return }
            let facts = QueryFacts(of: stored, indexes, in: [.ready]).leaving { !unfinishedFields.contains($0) }
            try lookUp(
                keyspace == .fields
                    ? FieldIndex.entries(of: facts, in: zone.keys) : TokenIndex.entries(of: facts, in: zone.keys))
        }
    }
}

extension QueryFacts {
    /// The facts of some of the fields.
    func leaving(_ isWanted: (FieldKey) -> Bool) -> QueryFacts {
        var facts = self
        facts.values = values.filter { isWanted($0.field) }
        facts.words = words.filter { isWanted($0.field) }
        return facts
    }
}

// Entries about shares: they can be decoded, and none is ahead of the zone's last change.
//
// They follow from no record, so none is missing or dangling. The floor above, which can read shares, verifies that
// they agree with them.

extension ZoneVerifier {
    mutating func verifySharing() throws {
        try verifyEndedAcceptances()
        try zone.store.forEach(in: zone.keys.keyspace(.clientTokens)) { key, value in
            _ = try zone.keys.readClientTokenKey(key)
            let entry = read(ClientTokenEntry.self, key, value, orNote: "what a client sent cannot be read")
            if let entry, try isAhead(entry.sequence) {
                report.note(.wrong, key: [UInt8](copying: key), "it was sent ahead of the zone's last change")
            }
        }
        try zone.store.forEach(in: zone.keys.keyspace(.shareTokens)) { key, value in
            _ = try zone.keys.readShareTokenKey(key)
            _ = read(ShareTokenEntry.self, key, value, orNote: "the secret of a URL cannot be read")
        }
        try zone.store.forEach(in: zone.keys.keyspace(.shareEvents)) { key, value in
            if try isAhead(zone.keys.readShareEventKey(key).sequence) {
                report.note(.wrong, key: [UInt8](copying: key), "the event is ahead of the zone's last change")
            }
            _ = read(ShareEventEntry.self, key, value, orNote: "the event of a share cannot be read")
        }
    }

    /// Reads a value as this type. Notes the fault if it is none.
    private mutating func read<Entry: LayoutValue>(
        _ type: Entry.Type, _ key: Span<UInt8>, _ value: Span<UInt8>, orNote fault: String
    ) -> Entry? {
        report.entriesChecked += 1
        progress.tellOfLook()
        let entry = try? Entry(decoding: value)
        if entry == nil { report.note(.wrong, key: [UInt8](copying: key), fault) }
        return entry
    }

    private mutating func verifyEndedAcceptances() throws {
        var user: UserName?
        var lastEnded: [RecordName: UInt64] = [:]
        try zone.store.forEach(in: zone.keys.keyspace(.endedAcceptances)) { key, value in
            let parts = try zone.keys.readEndedAcceptanceKey(key)
            progress.tellOfLook()
            guard parts.ended > header.horizon else { return }
            if parts.user != user {
                user = parts.user
                lastEnded = [:]
            }
            let began = try EndedPeriodEntry(decoding: value).began
            try checkTimes(key, began: began, ended: parts.ended, notBefore: lastEnded[parts.share] ?? 0)
            lastEnded[parts.share] = parts.ended
        }
    }
}
