// Writes a whole store as lines, from one snapshot. Memory holds one record, one part of an asset, and the digests of
// assets that several records share.
//
// If the store's snapshots end early, it reads many. A record that is moved meanwhile may then be missing with all
// below it. The export can still be imported: it has no record twice, and none without its parent (`WrittenRecords`).

import Foundation
import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

struct TransferCounts: Hashable {
    var accounts = 0
    var zones = 0
    var records = 0
    var contents = 0

    /// The count that the first line of an export announces.
    var foretoldCount: Int { accounts + zones + records }

    var object: JSONObject {
        ["accounts": accounts, "zones": zones, "records": records, "contents": contents]
    }

    var text: String {
        [
            Quantities.count(accounts, "account"), Quantities.count(zones, "zone"), Quantities.count(records, "record"),
            Quantities.count(contents, "content"),
        ].joined(separator: ", ")
    }
}

/// The records of a zone that an export over several moments has written. Memory holds a hash of each name.
private struct WrittenRecords {
    private var names: Set<Int> = []

    /// Whether a record is to be written: once, and after its parent, as an import needs it.
    mutating func takes(_ record: Record) -> Bool {
        if let parent = record.parent, !names.contains(parent.hashValue) { return false }
        return names.insert(record.name.hashValue).inserted
    }
}

struct StoreExporter {
    /// Gets the number of written lines, without the first and the last, and the total.
    typealias Listener = (_ done: Int, _ total: Int) -> Void

    /// The bytes of an asset in one line.
    private static let partByteCount = 48 << 10

    private let service: CloudService
    private let secrets: Bool
    private let write: (JSONObject) throws -> Void
    private let progress: Listener
    private(set) var counts = TransferCounts()
    private var lineCount = 0
    private var total = 0
    /// Assets that were written and that other records share.
    private var written: Set<[UInt8]> = []

    init(
        _ service: CloudService, secrets: Bool, progress: @escaping Listener,
        _ write: @escaping (JSONObject) throws -> Void
    ) {
        (self.service, self.secrets, self.progress, self.write) = (service, secrets, progress, write)
    }

    mutating func run() throws {
        try service.engine.read(.wholeStore) { try export($0) }
    }

    private mutating func export(_ reader: RecordReader) throws {
        let foretold = try Self.foretold(reader)
        let containers = try Self.containers(reader)
        let subscriptionCount = try reader.entryCount(in: GlobalKeys.keyspace(.subscriptions))
        total = foretold.foretoldCount + containers.count + subscriptionCount
        total += try reader.entryCount(in: GlobalKeys.keyspace(.devices)) + Self.partCount(reader)
        try write(TransferLine.head(secrets: secrets, foretelling: foretold))
        try exportPeople(reader)
        for container in containers {
            let (text, imported) = try service.markedSchema(of: container, in: reader)
            let types = imported.sorted().map(\.text)
            try add("schema", ["container": container.text, "text": text, "imported": types])
        }
        try reader.visitZones { id, listing in
            try export(id, listing.entry, reader)
            return .next
        }
        // The total included assets that only deleted zones use, which are not written.
        total = lineCount + subscriptionCount
        try exportSubscriptions(reader)
        progress(lineCount, total)
        try write(["end": counts.object])
    }

    /// Writes a line that counts for the progress.
    private mutating func add(_ kind: String, _ object: JSONObject) throws {
        try write([kind: object])
        lineCount += 1
        progress(lineCount, total)
    }

    // MARK: Beforehand

    private static func foretold(_ reader: RecordReader) throws -> TransferCounts {
        var counts = TransferCounts()
        counts.accounts = try reader.entryCount(in: GlobalKeys.keyspace(.accounts))
        (_, counts.zones, counts.records) = try reader.placeAndRecordCount()
        return counts
    }

    /// The number of asset parts. It includes those that only deleted zones use, which are not written.
    private static func partCount(_ reader: RecordReader) throws -> Int {
        var count = 0
        try reader.store.forEach(in: GlobalKeys.keyspace(.assets)) { _, value in
            let byteCount = Int(summable: try AssetEntry(decoding: value).byteCount)
            // An empty asset has one part too.
            count += max(0, byteCount - 1) / partByteCount + 1
        }
        return count
    }

    /// The containers that have a schema.
    private static func containers(_ reader: RecordReader) throws -> [ContainerName] {
        var containers: [ContainerName] = []
        try reader.store.forEach(in: GlobalKeys.keyspace(.schema)) { key, _ in
            let container = try GlobalKeys.readSchemaKey(key).container
            if containers.last != container { containers.append(container) }
        }
        return containers
    }

    // MARK: People and containers

    private mutating func exportPeople(_ reader: RecordReader) throws {
        var last: AccountID?
        repeat {
            let page = try AccountDirectory().accounts(after: last, limit: AccountLimits.pageCount, in: reader)
            for account in page.accounts {
                try add("account", TransferLine.object(of: account))
                counts.accounts += 1
            }
            last = page.next
        } while last != nil
        try reader.store.forEach(in: GlobalKeys.keyspace(.devices)) { key, _ in
            let (account, name) = try GlobalKeys.readDeviceKey(key)
            try add("device", ["account": account.text, "name": name])
        }
    }

    private mutating func exportSubscriptions(_ reader: RecordReader) throws {
        try reader.store.forEach(in: GlobalKeys.keyspace(.subscriptions)) { key, value in
            let parts = try GlobalKeys.readSubscriptionKey(key)
            let bytes = Data([UInt8](copying: value))
            try add(
                "subscription",
                [
                    "container": parts.container.text, "user": parts.user.text, "database": Int(parts.database),
                    "id": parts.id, "entry": bytes.base64EncodedString(),
                ])
        }
    }

    // MARK: Zones

    private mutating func export(_ id: ZoneID, _ entry: ZoneEntry, _ reader: RecordReader) throws {
        guard let zone = try reader.zone(id) else { return }
        let scope = try service.encryptionScope(of: id, in: reader)
        let line: JSONObject = [
            "container": id.database.container.text, "scope": "\(id.database.scope)",
            "owner": id.database.owner?.text, "name": id.name.text, "created": FieldJSON.seconds(entry.created.date),
            "creator": entry.created.user.text, "encryptionScope": "\(scope)",
        ]
        try add("zone", line)
        counts.zones += 1
        var written = reader.store.showsOneMoment ? nil : WrittenRecords()
        try zone.visitAllSeen(below: nil, .all) { child, _, _ in try export(child.name, zone, &written) }
    }

    private mutating func export(
        _ name: RecordName, _ zone: ZoneReader, _ written: inout WrittenRecords?
    ) throws {
        if written != nil {
            guard let stored = try zone.record(name), written?.takes(stored.record) == true else { return }
            return try export(stored, name, zone)
        }
        try export(zone.listedRecord(name), name, zone)
    }

    private mutating func export(_ stored: StoredRecord, _ name: RecordName, _ zone: ZoneReader) throws {
        for asset in stored.record.assets.keys.sorted(by: { $0.digest.lexicographicallyPrecedes($1.digest) }) {
            try export(asset, of: name, zone)
        }
        try add("record", TransferLine.object(of: stored, secrets: secrets))
        counts.records += 1
    }

    /// Writes an asset, unless it was written before for the same owner.
    ///
    /// Throws `corruption` if its content is missing or damaged: an import would refuse it. Throws `unavailable` if it
    /// has been deleted since the snapshot: a store's own process keeps what is being read, another host does not.
    private mutating func export(_ asset: AssetDescriptor, of record: RecordName, _ zone: ZoneReader) throws {
        let owner = CloudService.assetOwner(of: zone.id.database)
        let key = GlobalKeys.asset(owner: owner, digest: asset.digest)
        let holders = try zone.store.withValue(forKey: key) { try AssetEntry(decoding: $0).count } ?? 0
        if holders > 1, !written.insert(key).inserted { return }
        let name = Hex.text(asset.digest)
        var fields = ["digest": name, "record": record.text, "zone": zone.id.name.text]
        fields["file"] = service.contentPath(of: asset, owner: owner)
        let damage = StoreError(
            .corruption,
            "The content of an asset is missing or damaged: restore it from a backup, or delete the record.", fields)
        var (part, byteCount, pending): (Int, Int64, [UInt8]) = (0, 0, [])
        func addPart(_ data: some Collection<UInt8>) throws {
            let line: JSONObject = [
                "owner": owner.text, "digest": name, "byteCount": asset.byteCount, "part": part,
                "data": Data(data).base64EncodedString(),
            ]
            try add("asset", line)
            part += 1
        }
        let digest = try service.assets?.readContent(AssetKey(owner: owner, digest: asset.digest)) { buffer, count in
            byteCount += Int64(count)
            guard byteCount <= asset.byteCount else { throw damage }
            pending += buffer[..<count]
            var start = 0
            while pending.count - start > Self.partByteCount {
                try addPart(pending[start..<start + Self.partByteCount])
                start += Self.partByteCount
            }
            pending.removeFirst(start)
        }
        // Checked before the last part is written, so that no complete asset in an export is damaged.
        guard digest == asset.digest, byteCount == asset.byteCount else {
            let isThere = try service.engine.store.read { try $0.value(forKey: key) != nil }
            guard !isThere else { throw damage }
            throw StoreError(
                .unavailable, "An asset was deleted while the store was exported: export it again.", damage.fields)
        }
        try addPart(pending)
        counts.contents += 1
    }
}
