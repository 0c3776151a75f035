// What a client can ask of records and zones, and what it is answered. A request as a whole fails by throwing a
// `CloudError`; an item fails in its place of the answer.

package import StratusModel

/// Who asks, and in which container.
package struct Caller: Hashable, Codable, Sendable {
    package var container: ContainerName
    /// Nil when nobody is signed in: the public database can be read then (S-17).
    package var account: AccountID?
    /// The name of the account's device that asks; nil where it is none that gets notifications (N-05).
    package var device: String?

    package init(container: ContainerName, account: AccountID?, device: String? = nil) {
        self.container = container
        self.account = account
        self.device = device
    }
}

/// Which of a record's values a save writes, and whether the tag is compared (S-01, S-02).
package enum SavePolicy: Int, Hashable, Codable, Sendable, CaseIterable {
    case ifServerRecordUnchanged = 0
    case changedKeys = 1
    case allKeys = 2
}

/// Records to save and to delete.
package struct ModifyRecordsRequest: Codable, Sendable {
    package var saves: [RecordSave]
    package var deletes: [RecordAddress]
    package var policy: SavePolicy
    /// Whether each zone that can is changed whole or not at all.
    package var isAtomic: Bool
    /// What the client wants to recognise the change by in the feed of each zone (T-11).
    package var clientChangeTokenData: [UInt8]?

    package init(
        saves: [RecordSave] = [], deletes: [RecordAddress] = [], policy: SavePolicy = .ifServerRecordUnchanged,
        isAtomic: Bool = true, clientChangeTokenData: [UInt8]? = nil
    ) {
        self.saves = saves
        self.deletes = deletes
        self.policy = policy
        self.isAtomic = isAtomic
        self.clientChangeTokenData = clientChangeTokenData
    }
}

/// An answer for every item, in the order of the request.
package struct ModifyRecordsResponse: Sendable {
    package var saves: [Result<ClientRecord, CloudError>]
    package var deletes: [Result<Void, CloudError>]
    /// The shares that the deletions have ended: stopped, left, or gone with their roots (SH-10, SH-11, P-13).
    package var endedShares: [RecordAddress]

    package init(
        saves: [Result<ClientRecord, CloudError>], deletes: [Result<Void, CloudError>],
        endedShares: [RecordAddress] = []
    ) {
        self.saves = saves
        self.deletes = deletes
        self.endedShares = endedShares
    }
}

/// Records to fetch by name.
package struct FetchRecordsRequest: Codable, Sendable {
    package var addresses: [RecordAddress]
    /// The fields to hand out; nil for all of them.
    package var desiredKeys: Set<String>?
    /// Whether the client's side looks for itself, and nobody has asked: the host is told of no request, and no fault that
    /// is planned for one is used up.
    package var isUnasked: Bool

    package init(addresses: [RecordAddress], desiredKeys: Set<String>? = nil, isUnasked: Bool = false) {
        self.addresses = addresses
        self.desiredKeys = desiredKeys
        self.isUnasked = isUnasked
    }
}

/// An answer for every address, in the order of the request.
package struct FetchRecordsResponse: Sendable {
    package var records: [Result<ClientRecord, CloudError>]

    package init(records: [Result<ClientRecord, CloudError>]) { self.records = records }
}

/// Zones to save and to delete.
package struct ModifyZonesRequest: Codable, Sendable {
    package var saves: [ClientZone]
    package var deletes: [ZoneAddress]
    /// Whether the answer is to name the shares that go with the zones: looking for them costs a step for each.
    package var namesEndedShares: Bool

    package init(saves: [ClientZone] = [], deletes: [ZoneAddress] = [], namesEndedShares: Bool = false) {
        self.saves = saves
        self.deletes = deletes
        self.namesEndedShares = namesEndedShares
    }
}

/// An answer for every item, in the order of the request.
package struct ModifyZonesResponse: Sendable {
    package var saves: [Result<ClientZone, CloudError>]
    package var deletes: [Result<Void, CloudError>]
    /// The shares that have gone with the zones, where they were asked for: at most `ZoneChanges.endedShareLimit` of each.
    package var endedShares: [RecordAddress]

    package init(
        saves: [Result<ClientZone, CloudError>], deletes: [Result<Void, CloudError>],
        endedShares: [RecordAddress] = []
    ) {
        self.saves = saves
        self.deletes = deletes
        self.endedShares = endedShares
    }
}

/// Zones to fetch: those named, or all of the database.
package enum FetchZonesRequest: Codable, Sendable {
    case named([ZoneAddress])
    case all
}
