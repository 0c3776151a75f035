// Requests for records and the files of their assets.

/// Which of a record's values a save writes, and whether the tag is compared (S-01, S-02).
package enum SavePolicy: Int, Hashable, Codable, Sendable, CaseIterable {
    case ifServerRecordUnchanged = 0
    case changedKeys = 1
    case allKeys = 2
}

/// Saves and deletes records.
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
package struct ModifyRecordsResponse: Codable, Sendable {
    @ItemResults package var saves: [Result<ClientRecord, CloudError>]
    @ItemResults package var deletes: [Result<Done, CloudError>]
    /// The shares that the deletions have ended: stopped, left, or deleted with their roots (SH-10, SH-11, P-13).
    package var endedShares: [RecordAddress] = []
}

/// Fetches records by name.
package struct FetchRecordsRequest: Codable, Sendable {
    package var addresses: [RecordAddress]
    /// The fields to return; nil for all of them.
    package var desiredKeys: Set<String>?
    /// Whether the client library looks for itself, without a call of the client: the host gets no event of the
    /// request, and it uses up no planned fault.
    package var isUnasked: Bool

    package init(addresses: [RecordAddress], desiredKeys: Set<String>? = nil, isUnasked: Bool = false) {
        self.addresses = addresses
        self.desiredKeys = desiredKeys
        self.isUnasked = isUnasked
    }
}

/// An answer for every address, in the order of the request.
package struct FetchRecordsResponse: Codable, Sendable {
    @ItemResults package var records: [Result<ClientRecord, CloudError>]
}
