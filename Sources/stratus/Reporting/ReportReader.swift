// Reads a whole store for a report, from one snapshot: every record's header once, every parent entry once, every
// share. Memory holds only the content of the page.

import Foundation
import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

struct ReportReader {
    /// The limit of types that are counted separately: clients can create any number of them.
    private static let countedTypeLimit = 5_000

    let session: StoreSession
    private let secret: URLArguments?
    private let progress: StoreSession.PartListener
    /// Counts each record twice, for its header and its parent entry; each share and each asset once.
    private(set) var meter: WorkMeter
    var report: StoreReport
    private var types: [RecordType: StoreReport.Amount] = [:]

    /// `progress` gets the counting, and then the number of records and assets read, and their total.
    init(
        _ session: StoreSession, _ secret: URLArguments?, now: Date, progress: @escaping StoreSession.PartListener
    ) {
        (self.session, self.secret, self.progress) = (session, secret, progress)
        meter = WorkMeter(total: 0) { _, _ in }
        report = StoreReport(path: session.path, date: session.copyDate ?? now, isCopy: session.copyDate != nil)
    }

    /// Throws the store's errors, `corruption` among them.
    mutating func read() throws -> StoreReport {
        try session.engine.read(.wholeStore) { try read($0) }
        guard let files = session.opened.files else {
            finish()
            return report
        }
        let figures = try files.figures()
        report.levels = zip(figures.filesByLevel, figures.bytesByLevel).enumerated().map { level, counts in
            StoreReport.Amount(title: "\(level)", count: counts.0, byteCount: counts.1)
        }
        report.files = self.files
        finish()
        return report
    }

    /// Sorts the counts.
    mutating func finish() {
        let all = types.values.sorted { ($1.count, $0.title) < ($0.count, $1.title) }
        report.types = Array(all.prefix(StoreReport.typeCount))
        for type in all.dropFirst(StoreReport.typeCount) { report.otherTypes.add(type) }
        report.zones.sort { ($1.recordCount, $0.address) < ($0.recordCount, $1.address) }
        report.shape.finish()
    }

    /// Call it before reading.
    mutating func expect(_ count: Int, of part: String) {
        meter = WorkMeter(total: count) { [progress] in progress(part, $0, $1) }
    }

    /// A counter for the time before the total is known.
    func makeCounter() -> WorkCounter {
        WorkCounter { [progress] count in
            progress("(counting)", count, 0)
            return .next
        }
    }

    /// The share of a zone in the total for `expect`.
    static func lookCount(of zone: ZoneID, in reader: RecordReader, _ counter: WorkCounter) throws -> Int {
        _ = counter.add()
        guard let zone = try reader.zone(zone) else { return 0 }
        return try 2 * Int(summable: zone.header().recordCount) + shareCount(of: zone, reader, counter)
    }

    static func shareCount(
        of zone: ZoneReader, _ reader: RecordReader, _ counter: WorkCounter? = nil
    ) throws -> Int {
        try reader.entryCount(in: zone.keys.types(of: ShareContent.recordType), counter)
    }

    private mutating func read(_ reader: RecordReader) throws {
        let counter = makeCounter()
        report.accountCount = try reader.entryCount(in: GlobalKeys.keyspace(.accounts), counter)
        var count = try reader.entryCount(in: GlobalKeys.keyspace(.assets), counter)
        try reader.visitZones { id, _ in
            count += try Self.lookCount(of: id, in: reader, counter)
            return .next
        }
        expect(count, of: "records and contents")
        try readContents(reader)
        try reader.visitDatabases { database, _ in
            report.databaseCount += 1
            let owner = try session.owner(of: database, in: reader)
            try reader.visitZones(in: database) { listing in
                try read(ZoneID(database: database, name: listing.name), .all, owner, reader)
                return .next
            }
            return .next
        }
    }

    /// The assets of one owner are contiguous in the ledger.
    private mutating func readContents(_ reader: RecordReader) throws {
        let people = People(reader: reader)
        var owned: (user: UserName, files: StoreReport.Amount)?
        try reader.store.forEach(in: GlobalKeys.keyspace(.assets)) { key, value in
            let user = try GlobalKeys.readAssetKey(key).owner
            let byteCount = Int(summable: try AssetEntry(decoding: value).byteCount)
            if owned?.user != user {
                if let owned { report.add(owned.files) }
                let title = AssetLedger.isPublicOwner(user) ? user.text : try people.title(of: user)
                owned = (user, StoreReport.Amount(title: DisplayText.of(title)))
            }
            owned?.files.count += 1
            owned?.files.byteCount += byteCount
            meter.add()
        }
        if let owned { report.add(owned.files) }
    }

    /// Adds what is seen of a zone. The address names `owner` if the reader may know that account.
    private mutating func read(
        _ id: ZoneID, _ sight: Sight, _ owner: StoredAccount?, _ reader: RecordReader
    ) throws {
        guard let zone = try reader.zone(id) else { return }
        let address = PlaceAddress(id.database, ownedBy: owner, zone: id.name).text
        var counts = StoreReport.Zone(address: DisplayText.of(address))
        if sight.isWhole { try readRecords(of: zone, &counts) } else { try readRecords(of: zone, sight, &counts) }
        // A person's report leaves out a public database without visible records.
        guard sight.isWhole || counts.recordCount > 0 || id.database.scope != .public else {
            return meter.add(try Int(summable: zone.header().recordCount) + Self.shareCount(of: zone, reader))
        }
        try readHierarchy(of: zone, sight)
        try readShares(of: zone, sight, reader, &counts)
        report.add(counts)
    }

    /// Adds the visible shares with their visible participants.
    private mutating func readShares(
        of zone: ZoneReader, _ sight: Sight, _ reader: RecordReader, _ counts: inout StoreReport.Zone
    ) throws {
        let pictures = SharePictures(zone: zone, sight: sight, reader: reader)
        try zone.visitShareNames(looking: { [meter] in meter.add() }) { name in
            guard try sight.sees(name) else { return .next }
            counts.shareCount += 1
            report.shareCount += 1
            guard report.shares.count < StoreReport.shareCount, let content = try zone.shareContent(name) else {
                return .next
            }
            let owner = try pictures.people.title(of: zone.id.database.owner)
            report.shares.append(
                StoreReport.Sharing(
                    owner: DisplayText.of(owner), zone: DisplayText.of(zone.id.name.text),
                    share: try pictures.share(name, content), url: secret?.url(of: content)))
            return .next
        }
    }

    /// Adds the numbers of a zone, and every record and tombstone: the type, the size, the date of the change.
    private mutating func readRecords(of zone: ZoneReader, _ counts: inout StoreReport.Zone) throws {
        let header = try zone.header()
        counts.recordCount = Int(summable: header.recordCount)
        counts.fileByteCount = try session.opened.files?.approximateByteCount(of: zone.keys.all) ?? 0
        (counts.sequence, counts.horizon) = (header.sequence, header.horizon)
        try zone.store.forEach(in: zone.keys.keyspace(.records)) { _, value in
            counts.valueByteCount += value.count
            switch try RecordValueKind(of: value) {
            case .laterChunk: break
            case .tombstone:
                let deleted = try Tombstone(decoding: value).deleted.date
                counts.deletedCount += 1
                note(deleted, isDeletion: true)
                // Zones do not count deleted records.
                meter.add(0)
            case .live, .firstChunk:
                let header = try RecordHeader(decoding: value)
                note(header.system.modified.date, isDeletion: false)
                note(header.type, value.count)
                meter.add()
            }
        }
    }

    mutating func note(_ date: Date, isDeletion: Bool) {
        report.changes.note(date, isDeletion: isDeletion)
        report.ages.note(date, now: report.date)
    }

    mutating func note(_ type: RecordType, _ byteCount: Int) {
        let one = StoreReport.Amount(title: "", count: 1, byteCount: byteCount)
        guard types[type] != nil || types.count < Self.countedTypeLimit else { return report.otherTypes.add(one) }
        types[type, default: StoreReport.Amount(title: DisplayText.of(type.text))].add(one)
    }

    /// Adds the visible records by their depth below visible records.
    private mutating func readHierarchy(of zone: ZoneReader, _ sight: Sight) throws {
        // Look below hidden records too: roots of shares may be there, and in a public database any visible record.
        try zone.visitAllSeen(below: nil, .all) { child, _, level in
            meter.add()
            report.shape.note(depth: level, counts: try sight.sees(child.name))
        }
    }

    // MARK: Files

    /// The files in the store's directory, by kind.
    private var files: [StoreReport.Amount] {
        var kinds = ["tables", "logs", "manifest", "others"].map { StoreReport.Amount(title: $0) }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: session.readPath)) ?? []
        for name in names {
            let path = Array("\(session.readPath)/\(name)".utf8)
            guard let facts = try? Disk.facts(of: path), facts.kind == .file else { continue }
            let isTable = name.hasSuffix(".ldb") || name.hasSuffix(".sst")
            let kind = isTable ? 0 : name.hasSuffix(".log") ? 1 : name.hasPrefix("MANIFEST-") ? 2 : 3
            kinds[kind].count += 1
            kinds[kind].byteCount += Int(summable: facts.byteCount)
        }
        return kinds
    }
}

// MARK: - What one person sees
//
// The server's rules decide about every record; hidden records are neither shown nor counted. The report leaves out
// what only the host may see: LevelDB's files, the zones' numbers, accounts, assets, deletions, and the sizes of other
// people's records.

extension ReportReader {
    /// How many records one call of the server's rules checks.
    private static let pageCount = 512

    /// Throws the store's errors, `corruption` among them.
    mutating func read(seenBy person: StoredAccount, called title: String) throws -> StoreReport {
        report.person = DisplayText.of(title)
        try session.engine.read(.wholeStore) { reader in
            let zones = try session.visibleZones(of: person, in: reader)
            let counter = makeCounter()
            expect(try zones.reduce(0) { try $0 + Self.lookCount(of: $1.zone, in: reader, counter) }, of: "records")
            for (id, isOwn) in zones {
                let sight = Sight(service: try session.service, zone: id, user: person.userName)
                try read(id, sight, isOwn ? person : nil, reader)
            }
        }
        finish()
        return report
    }

    /// A record while its chunks are scanned.
    private typealias Head = (name: RecordName, header: RecordHeader, byteCount: Int)

    private mutating func readRecords(of zone: ZoneReader, _ sight: Sight, _ counts: inout StoreReport.Zone) throws {
        var page: [Head] = []
        try zone.store.forEach(in: zone.keys.keyspace(.records)) { key, value in
            switch try RecordValueKind(of: value) {
            case .tombstone: break
            case .laterChunk:
                // Later chunks follow the first one.
                if !page.isEmpty { page[page.count - 1].byteCount += value.count }
            case .live, .firstChunk:
                if page.count >= Self.pageCount {
                    try take(page, sight, &counts)
                    page.removeAll(keepingCapacity: true)
                }
                let name = try zone.keys.readRecordKey(key).name
                page.append((name, try RecordHeader(decoding: value), value.count))
            }
        }
        try take(page, sight, &counts)
    }

    /// Counts the visible records of a page.
    private mutating func take(_ page: [Head], _ sight: Sight, _ counts: inout StoreReport.Zone) throws {
        for (head, isSeen) in zip(page, try sight.seen(of: page.map(\.name))) where isSeen {
            counts.recordCount += 1
            counts.valueByteCount += head.byteCount
            note(head.header.system.modified.date, isDeletion: false)
            note(head.header.type, head.byteCount)
        }
        meter.add(page.count)
    }
}
