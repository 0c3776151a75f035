// How a client names zones and records. A client's owner name is a claim: the server resolves it.

import StratusModel

/// A zone as a client names it.
package struct ZoneAddress: Hashable, Codable, Sendable, CustomStringConvertible {
    /// The owner name that means the caller.
    package static let currentUser = "__defaultOwner__"
    /// The zone that every private and public database has.
    package static let defaultZoneName = "_defaultZone"
    package static let defaultZone = ZoneAddress(zoneName: defaultZoneName)

    package var zoneName: String
    package var ownerName: String

    package init(zoneName: String, ownerName: String = currentUser) {
        self.zoneName = zoneName
        self.ownerName = ownerName
    }

    package var description: String { "\(zoneName):\(ownerName)" }

    // By bytes, like all names.
    package static func == (left: Self, right: Self) -> Bool {
        ZoneName(left.zoneName) == ZoneName(right.zoneName) && UserName(left.ownerName) == UserName(right.ownerName)
    }
}

/// A record as a client names it.
package struct RecordAddress: Hashable, Codable, Sendable, CustomStringConvertible {
    package var recordName: String
    package var zone: ZoneAddress

    package init(recordName: String, zone: ZoneAddress = .defaultZone) {
        self.recordName = recordName
        self.zone = zone
    }

    package var description: String { "\(recordName):(\(zone))" }

    package static func == (left: Self, right: Self) -> Bool {
        RecordName(left.recordName) == RecordName(right.recordName) && left.zone == right.zone
    }
}

/// Which database of a container a request goes to.
package enum DatabaseSelector: UInt8, Hashable, Codable, Sendable, CaseIterable {
    case `public` = 1
    case `private` = 2
    case shared = 3
}

/// What a zone can do (Z-02). The bits are those of the client's option set.
package struct ZoneCapabilities: OptionSet, Hashable, Codable, Sendable {
    package let rawValue: UInt
    package init(rawValue: UInt) { self.rawValue = rawValue }

    package static let fetchChanges = ZoneCapabilities(rawValue: 1 << 0)
    package static let atomic = ZoneCapabilities(rawValue: 1 << 1)
    package static let sharing = ZoneCapabilities(rawValue: 1 << 2)
    package static let zoneWideSharing = ZoneCapabilities(rawValue: 1 << 3)
}

/// Whether each record of a zone has its own key or all share one (Z-06). The raw values are stored; they never change.
package enum ZoneEncryptionScope: UInt8, Hashable, Codable, Sendable, CaseIterable {
    case perRecord = 0
    case perZone = 1
}

/// A zone as the server returns it, or as a client saves it; then capabilities and share are ignored.
package struct ClientZone: Hashable, Codable, Sendable {
    package var address: ZoneAddress
    package var capabilities: ZoneCapabilities
    package var share: ClientReference?
    package var encryptionScope: ZoneEncryptionScope

    package init(
        address: ZoneAddress, capabilities: ZoneCapabilities = [], share: ClientReference? = nil,
        encryptionScope: ZoneEncryptionScope = .perRecord
    ) {
        self.address = address
        self.capabilities = capabilities
        self.share = share
        self.encryptionScope = encryptionScope
    }
}

/// Why a host deleted a zone of an account (Z-07). The raw values are stored; they never change.
package enum HostPurgeReason: UInt8, Hashable, Sendable, CaseIterable {
    /// The person deleted their data: an app must ask before it uploads again.
    case purged = 1
    /// The account's keys were lost: an app should create the zone again and upload (Z-08).
    case encryptedDataReset = 2
}
