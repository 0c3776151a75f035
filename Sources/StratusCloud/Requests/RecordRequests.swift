// Requests for records and the files of their assets.

/// Which of a record's values a save writes, and whether the tag is compared (S-01, S-02).
package enum SavePolicy: Int, Hashable, Codable, Sendable, CaseIterable {
    case ifServerRecordUnchanged = 0
    case changedKeys = 1
    case allKeys = 2
}

/// Saves and deletes records.
package struct ModifyRecordsRequest: CloudRequest {
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

    package static let name = RequestName.modifyRecords

    package func answer(
        by service: CloudService, as caller: Caller, in database: DatabaseSelector
    ) throws -> ModifyRecordsResponse {
        try service.modifyRecords(self, as: caller, in: database)
    }
}

/// An answer for every item, in the order of the request.
package struct ModifyRecordsResponse: Codable, Sendable {
    @ItemResults package var saves: [Result<ClientRecord, CloudError>]
    @ItemVerdicts package var deletes: [Result<Void, CloudError>]
    /// The shares that the deletions have ended: stopped, left, or deleted with their roots (SH-10, SH-11, P-13).
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

/// Fetches records by name.
package struct FetchRecordsRequest: CloudRequest {
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

    package static let name = RequestName.fetchRecords

    package func answer(
        by service: CloudService, as caller: Caller, in database: DatabaseSelector
    ) throws -> FetchRecordsResponse {
        try service.fetchRecords(self, as: caller, in: database)
    }
}

/// An answer for every address, in the order of the request.
package struct FetchRecordsResponse: Codable, Sendable {
    @ItemResults package var records: [Result<ClientRecord, CloudError>]

    package init(records: [Result<ClientRecord, CloudError>]) { self.records = records }
}

/// Copies the content of an asset from another process, which cannot know how long the copy is used: the copy ages from
/// the beginning. Answers its path.
package struct CopyAssetRequest: CloudRequest {
    package var wanted: HeldAsset

    package static let name = RequestName.copyAsset

    package init(_ wanted: HeldAsset) { self.wanted = wanted }

    package func answer(
        by service: CloudService, as caller: Caller, in database: DatabaseSelector
    ) throws -> String {
        let path = try service.copyAsset(wanted, as: caller, in: database)
        service.releaseCopies([path], unseen: [])
        return path
    }
}

/// Copies the contents of several assets, as `CopyAssetRequest` does one.
package struct CopyAssetsRequest: CloudRequest {
    package var wanted: [HeldAsset]

    package static let name = RequestName.copyAssets

    package init(_ wanted: [HeldAsset]) { self.wanted = wanted }

    package func answer(
        by service: CloudService, as caller: Caller, in database: DatabaseSelector
    ) throws -> ItemList<String> {
        let paths = try service.copyAssets(wanted, as: caller, in: database, under: nil) { true }
        service.releaseCopies(paths.compactMap { try? $0.get() }, unseen: [])
        return ItemList(paths)
    }
}

/// Asks whether a file is larger than an asset may be (L-04). Answers false if the file cannot be read.
package struct CheckFileSizeRequest: CloudRequest {
    package var path: String

    package static let name = RequestName.checkFileSize

    package init(path: String) { self.path = path }

    package func answer(by service: CloudService, as caller: Caller, in place: NoDatabase) -> Bool {
        service.isTooLarge(fileAt: path)
    }
}

/// Asks what one request may hold (L-01).
package struct RequestLimitsRequest: CloudRequest {
    package static let name = RequestName.requestLimits

    package init() {}

    package func answer(by service: CloudService, as caller: Caller, in place: NoDatabase) -> RequestSize {
        service.requestLimits()
    }
}
