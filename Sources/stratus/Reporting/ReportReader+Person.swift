// The same of what one person sees: the server's rules are asked of every record, and nothing is told, counted or summed up
// that they do not let through. What is the host's alone is left out: LevelDB's files, the numbers of zones, accounts,
// contents, deletions, and what the records of others take.

import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

extension ReportReader {
    /// Records that the server is asked about at a time.
    private static let pageCount = 512

    /// Throws the store's errors, `corruption` among them.
    mutating func read(seenBy person: StratusModel.Account, called title: String) throws -> StoreReport {
        report.person = DisplayText.of(title)
        try session.engine.read { reader in
            let zones = try session.visibleZones(of: person, in: reader)
            let counter = makeCounter()
            expect(try zones.reduce(0) { try $0 + Self.lookCount(of: $1.zone, in: reader, counter) }, of: "records")
            for (id, isOwn) in zones {
                let sight = Sight(service: try session.service, zone: id, user: person.userName)
                try read(reader.existingZone(id), sight, isOwn ? person : nil, reader)
            }
        }
        finish()
        return report
    }

    private mutating func read(
        _ zone: ZoneReader, _ sight: Sight, _ owner: StratusModel.Account?, _ reader: RecordReader
    ) throws {
        let address = PlaceAddress(zone.id.database, ownedBy: owner, zone: zone.id.name).text
        var counts = StoreReport.Zone(
            address: DisplayText.of(address), recordCount: 0, fileByteCount: 0, sequence: 0, horizon: 0)
        try readRecords(of: zone, sight, &counts)
        // A public database of which nothing is seen is none of the person's.
        guard counts.recordCount > 0 || zone.id.database.scope != .public else {
            return meter.add(try Int(summable: zone.header().recordCount) + Self.shareCount(of: zone, reader))
        }
        try readHierarchy(of: zone, sight)
        try readShares(of: zone, sight, reader, &counts)
        report.add(counts)
    }

    /// A record whose chunks stream by.
    private struct Head {
        var name: RecordName
        var header: RecordHeader
        var byteCount: Int
    }

    private mutating func readRecords(of zone: ZoneReader, _ sight: Sight, _ counts: inout StoreReport.Zone) throws {
        var page: [Head] = []
        try zone.store.scan(zone.keys.records.keyRange) { key, value in
            switch try RecordValueKind(of: value) {
            case .tombstone: break
            case .laterChunk:
                // It follows the chunk before it.
                if !page.isEmpty { page[page.count - 1].byteCount += value.count }
            case .live, .firstChunk:
                if page.count >= Self.pageCount {
                    try take(page, sight, &counts)
                    page.removeAll(keepingCapacity: true)
                }
                let name = try zone.keys.readRecordKey(key).name
                page.append(Head(name: name, header: try RecordHeader(decoding: value), byteCount: value.count))
            }
            return .next
        }
        try take(page, sight, &counts)
    }

    /// Counts those of the records that are seen.
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
