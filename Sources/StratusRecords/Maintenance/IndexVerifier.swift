// Compares the indexes of every zone with its records, in one pass over one snapshot.
//
// If the store's snapshots end early, one pass reads several snapshots. Then each record is compared with its entries,
// and each entry with its record, in a snapshot of their own; a count of a zone that has changed meanwhile is not
// compared at all (`isStill`); and further passes confirm all findings.
//
// Forwards, the rules that write entries compute those of every record, and each must exist: otherwise it is missing or
// wrong. Backwards, every keyspace is counted: if it has as many entries as the records account for, none is dangling.
// If it has more or fewer, the record of each entry is looked up. If every record is reachable from the records without
// a parent, the hierarchy has no cycle.
//
// Indexes for queries have many entries for each record, and looking up each would take most of the time. They are
// tallied, forwards and backwards, and looked up only if the tallies differ. Entries of unfinished indexes are always
// looked up.

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusStore

extension RecordEngine {
    /// Verifies all indexes of all zones, and that no keys exist outside the directory.
    ///
    /// `progress` gets the number of databases, zones and records that were verified, of all that the zones count: each
    /// zone once on its own, with its records, and once in its database. Within a zone it is called after every
    /// `toldCount` records or entries.
    ///
    /// Throws `corruption` when the store cannot be read. Disagreements are findings of the report.
    package func verify(
        tellingEvery toldCount: Int = ZoneVerifierProgress.toldCount,
        progress: @escaping WorkMeter.Listener = { _, _ in }
    ) throws -> IndexReport {
        try store.confirmed { try verifyOnce(tellingEvery: toldCount, progress) }
    }

    private func verifyOnce(
        tellingEvery toldCount: Int, _ progress: @escaping WorkMeter.Listener
    ) throws -> IndexReport {
        try read(.wholeStore) { reader in
            let counts = try reader.placeAndRecordCount()
            let meter = WorkMeter(total: counts.databases + 2 * counts.zones + counts.records, progress)
            let zones = ZoneMeter(meter)
            var report = IndexReport(toBeConfirmed: !reader.store.showsOneMoment)
            // Without a cache, to verify what is on disk.
            let cache = AncestorCache(capacityByteCount: 0)
            try reader.visitZones { id, listing in
                let zone = ZoneReader(
                    id: id, keys: listing.keys, store: reader.store, transaction: nil, cache: cache,
                    limits: options.limits)
                // A zone whose header cannot be read counts no records.
                zones.begin()
                do {
                    try verifyZone(zone, listing, &report, ZoneVerifierProgress(meter: zones, toldCount: toldCount))
                } catch let error as StoreError where error.isDamagedEntry {
                    report.note(.wrong, "zone \(id.name)", "could not be verified to its end: \(error)")
                }
                zones.end()
                return .next
            }
            try DirectoryVerifier(reader: reader, meter: meter).verify(&report)
            return report
        }
    }

    private func verifyZone(
        _ zone: ZoneReader, _ listing: ZoneListing, _ report: inout IndexReport, _ progress: ZoneVerifierProgress
    ) throws {
        var verifier = ZoneVerifier(zone, header: try zone.header(), report: report, progress: progress)
        // Findings count even if the zone turns out to be unreadable.
        defer { report = verifier.report }
        try verifier.progress.foretell(zone, recordCount: Int(summable: verifier.header.recordCount))
        try verifier.verifyQueryIndexes()
        try verifier.verifyRecords()
        try verifier.verifyReachability()
        try verifier.verifyCounts()
        try verifier.verifyPeriods(.parents)
        try verifier.verifyEndedChildren()
        try verifier.verifyPeriods(.shares)
        try verifier.verifySharing()
        if verifier.header.identity != listing.entry.identity {
            verifier.report.note(.wrong, key: zone.keys.header(), "the header has another identity than the directory")
        }
        if verifier.header.incarnation == .withoutRandomness {
            verifier.report.note(
                .identity, key: zone.keys.header(),
                "the zone's incarnation is predictable: rebuild its indexes, which draws another")
        }
        verifier.report.zonesChecked += 1
    }
}

/// Verifies one zone.
struct ZoneVerifier {
    /// Reads the snapshot; or, while a record is verified over several moments, that of the record.
    private(set) var zone: ZoneReader
    let header: ZoneHeader
    /// The sequence of the last change that the snapshot may know; over several moments the newest that was read.
    var sequence: UInt64
    var report: IndexReport
    /// The entries that should exist because of the records, by keyspace.
    var expected: [ZoneKeyspace: EntryTally] = [:]
    var liveCount = 0
    /// The zone's indexes for queries.
    var queryIndexes: [RecordType: QueryIndexesEntry] = [:]
    /// Fields whose index is being filled or cleared for any type. Some records may lack their entries.
    var unfinishedFields: Set<FieldKey> = []
    fileprivate var current: (name: RecordName, chunkCount: Int)?
    /// Whether entries of the hierarchy are known to be wrong. A walk down it then proves nothing.
    fileprivate var isHierarchyDamaged = false

    var progress: ZoneVerifierProgress
    fileprivate let faultCountBefore: Int
    /// Whether this zone has a finding.
    var isFaulty: Bool { report.faultCount > faultCountBefore }

    /// Whether the zone is as it was when its verification began. In one moment it is.
    func isStill() throws -> Bool { try zone.store.showsOneMoment || zone.header() == header }

    /// Whether the zone has not reached a sequence.
    mutating func isAhead(_ sequence: UInt64) throws -> Bool {
        if sequence > self.sequence, !zone.store.showsOneMoment { self.sequence = try zone.header().sequence }
        return sequence > self.sequence
    }

    init(_ zone: ZoneReader, header: ZoneHeader, report: IndexReport, progress: ZoneVerifierProgress) {
        (self.zone, self.header, self.report, self.progress) = (zone, header, report, progress)
        (sequence, faultCountBefore) = (header.sequence, report.faultCount)
    }

    // MARK: Forwards

    mutating func verifyRecords() throws {
        try zone.store.forEach(in: zone.keys.keyspace(.records)) { key, value in
            let parts = try zone.keys.readRecordKey(key)
            if let chunk = parts.chunkIndex {
                if current?.name != parts.name || chunk >= current?.chunkCount ?? 0 {
                    report.note(.dangling, key: [UInt8](copying: key), "a chunk of no record")
                }
                return
            }
            do {
                try verifyRecord(parts.name, value)
            } catch let error as StoreError where error.damage == .entry {
                report.note(.wrong, key: [UInt8](copying: key), "a value of the record is damaged: \(error)")
            }
            progress.tell(.records, liveCount, of: Int(summable: header.recordCount))
        }
    }

    private mutating func verifyRecord(_ name: RecordName, _ value: Span<UInt8>) throws {
        guard !zone.store.showsOneMoment else {
            return try verify(StoredState(decoding: value, name: name), name, value)
        }
        let before = self
        do {
            try before.zone.atOneMoment { zone in
                self = before
                self.zone = zone
                let value = try zone.store.value(forKey: zone.keys.record(name))
                // Deleted and purged meanwhile.
                guard let value else { return }
                sequence = try zone.header().sequence
                try verify(StoredState(decoding: value.span, name: name), name, value.span)
            }
            zone = before.zone
        } catch let error as StoreError where error.code == .snapshotEnded {
            // It has more ancestors, or more roots below it, than one snapshot can read.
            self = before
            try verify(StoredState(decoding: value, name: name), name, value)
        } catch {
            self = before
            throw error
        }
    }

    private mutating func verify(_ state: StoredState, _ name: RecordName, _ value: Span<UInt8>) throws {
        current = (name, 1)
        switch state {
        case .absent: return
        case .deleted(let tombstone):
            try verify(ChangeIndex.self, tombstone.write(of: name))
        case .live(let live):
            liveCount += 1
            report.recordsChecked += 1
            if UUID.isWithoutRandomness(name.text) {
                report.note(
                    .identity, key: zone.keys.record(name),
                    "the record's name is predictable: save the record under a new name, and delete this one")
            }
            current = (name, live.chunkCount)
            // Decoding it whole shows that every field decodes and every chunk exists. Cached records are not used.
            let stored = live.chunkCount > 1 ? try zone.record(name) : try RecordCodec.decode(name, value)
            let facts = stored.map { $0.facts } ?? live.facts
            try verify(TypeIndex.self, facts)
            try verify(ReferenceIndex.self, facts)
            // An entry that an earlier format wrote does not name the place.
            let earlier = ChangeEntry(name: name, kind: .saved(.unsaid)).encoded()
            try verify(ChangeIndex.self, facts.write, orFinding: earlier)
            if let stored, let indexes = queryIndexes[facts.type] {
                // In an index that is being filled or cleared, an entry may be absent: only existing entries are
                // checked.
                let facts = QueryFacts(of: stored, indexes, in: [.ready])
                let finished = facts.leaving { !unfinishedFields.contains($0) }
                expect(FieldIndex.self, finished)
                expect(TokenIndex.self, finished)
                if !unfinishedFields.isEmpty {
                    let unfinished = facts.leaving { unfinishedFields.contains($0) }
                    try lookUp(FieldIndex.entries(of: unfinished, in: zone.keys))
                    try lookUp(TokenIndex.entries(of: unfinished, in: zone.keys))
                }
            }
            let before = report
            try verifyPlace(live.header, name)
            if report != before { isHierarchyDamaged = true }
        }
    }

    private mutating func verify<Rule: IndexRule>(
        _ rule: Rule.Type, _ facts: Rule.Facts, orFinding earlier: [UInt8]? = nil
    ) throws {
        let entries = rule.entries(of: facts, in: zone.keys)
        for _ in entries { expected[rule.keyspace, default: EntryTally()].addUnseen() }
        try lookUp(entries, orFinding: earlier)
    }

    /// Tallies the entries that a record should have.
    private mutating func expect<Rule: IndexRule>(_ rule: Rule.Type, _ facts: Rule.Facts) {
        var tally = expected[rule.keyspace] ?? EntryTally()
        for entry in rule.entries(of: facts, in: zone.keys) { tally.add(entry.key.span, entry.value.span) }
        expected[rule.keyspace] = tally
    }

    /// Looks up the entries that a record should have. `earlier` is another value that they may have.
    mutating func lookUp(_ entries: [IndexEntry], orFinding earlier: [UInt8]? = nil) throws {
        for entry in entries {
            guard let value = try zone.store.value(forKey: entry.key) else {
                report.note(.missing, key: entry.key, "the record has no such entry")
                continue
            }
            if value != entry.value, value != earlier {
                let wanted = ValueDescription.text(of: entry.value, forKey: entry.key)
                let found = ValueDescription.text(of: value, forKey: entry.key)
                report.note(.wrong, key: entry.key, "is \(found), should be \(wanted)")
            }
        }
    }

    /// A record's entries in the indexes of the hierarchy, and its counts.
    private mutating func verifyPlace(_ record: RecordHeader, _ name: RecordName) throws {
        expected[.parents, default: EntryTally()].addUnseen()
        let key = zone.keys.parent(of: name)
        guard let node = try zone.store.withValue(forKey: key, { try ParentEntry(decoding: $0) }) else {
            report.note(.missing, key: key, "the record has no such entry")
            if record.parent != nil { expected[.children, default: EntryTally()].addUnseen() }
            if record.share != nil { expected[.shareRoots, default: EntryTally()].addUnseen() }
            return
        }
        if node.parent != record.parent || node.share != record.share {
            report.note(.wrong, key: key, "names another parent or share than the record")
        }
        var place = node
        place.parent = record.parent
        place.share = record.share
        let facts = HierarchyFacts(name: name, node: place)
        try verify(ChildIndex.self, facts)
        try verify(ShareRootIndex.self, facts)
        if try zone.children(of: name, limit: 1).isEmpty == node.hasChildren {
            report.note(.wrong, key: key, "hasChildren is \(node.hasChildren), the list of children says otherwise")
        }
        if max(node.parentSince, node.shareSince) > sequence {
            report.note(.wrong, key: key, "holds since a sequence the zone has not reached")
        }
        try verifyShareCount(name, record)
        if let parent = record.parent { try verifyParent(parent, of: name, isRoot: record.share != nil) }
    }

    private mutating func verifyShareCount(_ name: RecordName, _ record: RecordHeader) throws {
        var below: UInt64 = record.share == nil ? 0 : 1
        try zone.store.forEach(in: zone.keys.shareCounts(below: name)) { _, value in
            below &+= try CountEntry(decoding: value).count
        }
        let counted = try zone.shareCount(of: name, under: record.parent)
        if below > 0 { expected[.shareCounts, default: EntryTally()].addUnseen() }
        guard counted != below else { return }
        let key = zone.keys.shareCount(parent: record.parent, name: name)
        report.note(
            counted == 0 ? .missing : .wrong, key: key, "\(below) share roots are at or below it, counted \(counted)")
    }

    private mutating func verifyParent(_ parent: RecordName, of name: RecordName, isRoot: Bool) throws {
        guard case .live = try zone.state(of: parent) else {
            report.note(.dangling, key: zone.keys.parent(of: name), "names a parent that does not exist: \(parent)")
            return
        }
        guard isRoot else { return }
        do {
            guard let above = try zone.shareMembership(of: parent) else { return }
            report.note(
                .wrong, key: zone.keys.shareRoot(name),
                "a share root below another, \(above.root), of share \(above.share)")
        } catch let error as StoreError where error.code == .hierarchyTooDeep || error.code == .unknownRecord {
            // A record may be too deep if an ancestor was moved down, and the counts on the way are verified record by
            // record. A missing entry on the way is a separate finding.
            return
        } catch let error as StoreError where error.isDamagedEntry {
            report.note(.wrong, key: zone.keys.shareRoot(name), "the way up is broken: \(error)")
        }
    }

    /// Every record must be reachable from the records without a parent. One that is not is on a cycle or below one.
    mutating func verifyReachability() throws {
        var reached = 0
        func reach() {
            reached += 1
            progress.tell(.places, reached, of: liveCount)
        }
        try zone.store.scan(zone.keys.keyspace(.parents)) { key, value in
            guard try ParentEntry(decoding: value).parent == nil else { return .next }
            reach()
            // A subtree that was moved may be deeper than a record may be saved. The number of records ends the visit.
            try zone.visitSubtree(below: zone.keys.readParentKey(key), depthLimit: .max) { _, _ in
                reach()
                return reached > liveCount ? .stop : .next
            }
            return .next
        }
        guard reached != liveCount, !isHierarchyDamaged, try isStill() else { return }
        report.note(
            .wrong, "zone \(zone.id.name), hierarchy",
            "\(liveCount.counting("record")), but \(reached) reached from the top: some are their own ancestors")
    }
}
