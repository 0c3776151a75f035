// What a report tells of a store, as plain values of bounded size.

import FoundationEssentials

struct StoreReport {
    struct Zone: Hashable {
        var address: String
        var recordCount: Int
        var deletedCount = 0
        /// Of the records' values, before LevelDB packs them.
        var valueByteCount = 0
        /// Of LevelDB's files, about.
        var fileByteCount: Int
        var sequence: UInt64
        var horizon: UInt64
        var shareCount = 0
    }

    struct TypeCount: Hashable {
        var type: String
        var recordCount = 0
        var valueByteCount = 0
    }

    /// A share with its owner.
    struct Sharing: Hashable {
        var owner: String
        var zone: String
        var share: PictureShare
        var url: String?
    }

    /// Files of one kind, or of one level.
    struct Files: Hashable {
        var title: String
        var count = 0
        var byteCount = 0
    }

    /// Zones, types and shares that are told one by one, the largest or first of them.
    static let zoneCount = 50
    static let typeCount = 30
    static let shareCount = 100
    /// Owners of assets that are told one by one, those with the most bytes.
    static let ownerCount = 30

    var path: String
    /// Who it is for, as they were named; nil for the host.
    var person: String?
    /// When the store was looked at.
    var date: Date
    var isCopy: Bool
    var accountCount = 0
    var databaseCount = 0
    var zones: [Zone] = []
    /// All others together.
    var otherZones = Zone(address: "", recordCount: 0, fileByteCount: 0, sequence: 0, horizon: 0)
    var otherZoneCount = 0
    var types: [TypeCount] = []
    var otherTypes = TypeCount(type: "")
    var shape = HierarchyShape()
    var changes = TimeHistogram()
    var ages = AgeCounts()
    var shares: [Sharing] = []
    var shareCount = 0
    /// Contents of assets by whose they are, each counted once for its owner however many records hold it.
    private(set) var contents: [Files] = []
    /// Those of all other owners.
    private(set) var otherContents = Files(title: "")
    /// LevelDB's tables, level 0 first.
    var levels: [Files] = []
    var files: [Files] = []
    /// Nil where nobody has asked for it.
    var verification: Verification?

    var zoneCount: Int { zones.count + otherZoneCount }
    var recordCount: Int { zones.reduce(otherZones.recordCount) { $0 + $1.recordCount } }
    var deletedCount: Int { zones.reduce(otherZones.deletedCount) { $0 + $1.deletedCount } }
    var valueByteCount: Int { zones.reduce(otherZones.valueByteCount) { $0 + $1.valueByteCount } }
    var contentCount: Int { contents.reduce(otherContents.count) { $0 + $1.count } }
    var contentByteCount: Int { contents.reduce(otherContents.byteCount) { $0 + $1.byteCount } }
    var sequenceSum: UInt64 { zones.reduce(otherZones.sequence) { $0 &+ $1.sequence } }

    /// Takes a zone in; the largest are told one by one.
    mutating func add(_ zone: Zone) {
        zones.append(zone)
        guard zones.count > Self.zoneCount else { return }
        guard let least = zones.indices.min(by: { zones[$0].recordCount <= zones[$1].recordCount }) else { return }
        let gone = zones.remove(at: least)
        otherZoneCount += 1
        otherZones.recordCount += gone.recordCount
        otherZones.deletedCount += gone.deletedCount
        otherZones.valueByteCount += gone.valueByteCount
        otherZones.fileByteCount += gone.fileByteCount
        otherZones.sequence &+= gone.sequence
        otherZones.shareCount += gone.shareCount
    }

    /// Takes an owner's contents in; those with the most bytes are told one by one.
    mutating func add(_ owned: Files) {
        contents.append(owned)
        contents.sort { ($1.byteCount, $0.title) < ($0.byteCount, $1.title) }
        guard contents.count > Self.ownerCount, let least = contents.popLast() else { return }
        otherContents.count += least.count
        otherContents.byteCount += least.byteCount
    }
}
