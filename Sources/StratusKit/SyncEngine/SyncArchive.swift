// The bytes of an engine's state: see `CKSyncEngine.State.Serialization`. The bytes come from the program: they are
// checked, and invalid ones are an error.

import Foundation

/// An engine's state for encoding.
struct SyncArchive: Codable {
    /// A zone, and everything that is known about it.
    struct Zone: Codable {
        var name: String
        var owner: String
        var token: Data?
        /// Its position among the zones to fetch.
        var unfetched: Int?
        /// Its position among the zones to send.
        var pending: Int?
        /// Whether the pending change deletes it.
        var isDeletion: Bool?
        /// The encryption scope, if the pending change saves it.
        var encryptionScope: Int?

        fileprivate func change(of zoneID: CKRecordZone.ID) -> CKSyncEngine.PendingDatabaseChange {
            guard isDeletion != true else { return .deleteZone(zoneID) }
            let zone = CKRecordZone(zoneID: zoneID)
            zone.encryptionScope = encryptionScope.flatMap { CKRecordZone.EncryptionScope(rawValue: $0) } ?? .perRecord
            return .saveZone(zone)
        }
    }

    /// A pending change of a record.
    struct Record: Codable {
        /// The index of its zone in `zones`.
        var zone: Int
        var name: String
        var isDeletion: Bool?
    }

    /// Why a state cannot be read.
    enum Fault: Error {
        case newerVersion(Int)
        case unknownZone(Int)
        case twoOfOne(String)
    }

    static let currentVersion = 1

    var version = SyncArchive.currentVersion
    var container: String
    var scope: Int
    var user: String?
    var token: Data?
    var zones: [Zone] = []
    var records: [Record] = []
    var hasUntracked: Bool?
}

// MARK: Writing

extension SyncArchive {
    /// The bytes of a state.
    static func data(of content: SyncContent) throws -> Data {
        Data(try ExactJSON.encode(SyncArchive(content)))
    }

    init(_ content: SyncContent) {
        self.init(container: content.container, scope: content.scope)
        user = content.userName
        token = content.databaseToken.map { Data($0.bytes) }
        hasUntracked = content.hasUntrackedChanges ? true : nil
        var places: [CKRecordZone.ID: Int] = [:]
        for (zoneID, token) in content.zoneTokens.sorted(by: { $0.key.sortKey < $1.key.sortKey }) {
            zones[place(of: zoneID, &places)].token = Data(token.bytes)
        }
        for (number, zoneID) in content.unfetchedZoneIDs.enumerated() {
            zones[place(of: zoneID, &places)].unfetched = number
        }
        for (number, change) in content.zones.changes.enumerated() {
            let place = place(of: change.zoneID, &places)
            zones[place].pending = number
            switch change {
            case .saveZone(let zone): zones[place].encryptionScope = zone.encryptionScope.rawValue
            case .deleteZone: zones[place].isDeletion = true
            }
        }
        records = content.records.changes.map { change in
            let place = place(of: change.recordID.zoneID, &places)
            let isDeletion = change == .deleteRecord(change.recordID)
            return Record(zone: place, name: change.recordID.recordName, isDeletion: isDeletion ? true : nil)
        }
    }

    private mutating func place(of zoneID: CKRecordZone.ID, _ places: inout [CKRecordZone.ID: Int]) -> Int {
        if let place = places[zoneID] { return place }
        places[zoneID] = zones.count
        zones.append(Zone(name: zoneID.zoneName, owner: zoneID.ownerName))
        return zones.count - 1
    }

    // MARK: Reading

    private struct Version: Codable {
        var version: Int
    }

    /// The state in these bytes. Throws `Fault`, and what the decoder throws.
    static func content(of data: Data) throws -> SyncContent {
        let decoder = JSONDecoder()
        let version = try decoder.decode(Version.self, from: data).version
        guard version == currentVersion else { throw Fault.newerVersion(version) }
        return try decoder.decode(SyncArchive.self, from: data).content()
    }

    private func content() throws -> SyncContent {
        var content = SyncContent(container: container, scope: scope)
        content.userName = user
        content.databaseToken = Self.token(token)
        content.hasUntrackedChanges = hasUntracked ?? false
        let zoneIDs = zones.map { CKRecordZone.ID(zoneName: $0.name, ownerName: $0.owner) }
        guard Set(zoneIDs).count == zoneIDs.count else { throw Fault.twoOfOne("zone") }
        for (zone, zoneID) in zip(zones, zoneIDs) { content.zoneTokens[zoneID] = Self.token(zone.token) }
        let unfetched = zip(zones, zoneIDs).compactMap { zone, id in zone.unfetched.map { ($0, id) } }
        content.unfetchedZoneIDs = unfetched.sorted { $0.0 < $1.0 }.map(\.1)
        let pending = zip(zones, zoneIDs).compactMap { zone, id in zone.pending.map { ($0, zone.change(of: id)) } }
        for (_, change) in pending.sorted(by: { $0.0 < $1.0 }) { content.zones.add(change, at: 0) }
        for record in records {
            guard zoneIDs.indices.contains(record.zone) else { throw Fault.unknownZone(record.zone) }
            let id = CKRecord.ID(recordName: record.name, zoneID: zoneIDs[record.zone])
            content.records.add(record.isDeletion == true ? .deleteRecord(id) : .saveRecord(id), at: 0)
        }
        guard content.records.count == records.count else { throw Fault.twoOfOne("record") }
        return content
    }

    private static func token(_ data: Data?) -> CKServerChangeToken? {
        data.flatMap { $0.isEmpty ? nil : CKServerChangeToken([UInt8]($0)) }
    }
}

extension CKRecordZoneID {
    fileprivate var sortKey: String { "\(ownerName)/\(zoneName)" }
}
