// How a client names zones and records. A client's owner name is a claim: the server resolves it.

import StratusModel

/// A zone as a client names it.
package struct ZoneAddress: Hashable, Codable, Sendable, CustomStringConvertible {
    /// The owner name that stands for the caller, whoever that is.
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

    // By bytes, as all names are compared.
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
