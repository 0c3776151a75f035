// Who asks, and how answers hold the results of single items. A request as a whole fails by throwing a `CloudError`; an
// item fails in its place of the answer.

package import StratusModel

/// Who asks, and in which container.
package struct Caller: Hashable, Codable, Sendable {
    package var container: ContainerName
    /// Nil if no account is signed in: then only the public database can be read (S-17).
    package var account: AccountID?
    /// The name of the account's device that asks; nil if it is not one that gets notifications (N-05).
    package var device: String?

    package init(container: ContainerName, account: AccountID?, device: String? = nil) {
        self.container = container
        self.account = account
        self.device = device
    }
}

extension Result where Failure == CloudError {
    /// The result of an item that may fail alone. The store's failures are those of the request.
    static func item(_ body: () throws -> Success) throws -> Self {
        do { return .success(try body()) } catch let error as CloudError { return .failure(error) }
    }
}

/// An answer that holds nothing.
package struct Done: Codable, Sendable {
    package init() {}
}

/// Answers of single items, in the order of the request: each is a value or the item's error.
@propertyWrapper
package struct ItemResults<Value: Codable & Sendable>: Codable, Sendable {
    package var wrappedValue: [Result<Value, CloudError>]

    package init(wrappedValue: [Result<Value, CloudError>]) { self.wrappedValue = wrappedValue }

    package init(from decoder: any Decoder) throws {
        wrappedValue = try [EncodedItem<Value>](from: decoder).map(\.result)
    }

    package func encode(to encoder: any Encoder) throws {
        try wrappedValue.map(EncodedItem.init).encode(to: encoder)
    }
}

/// The answer of a request that is a list of items and nothing else.
package struct ItemList<Value: Codable & Sendable>: Codable, Sendable {
    @ItemResults package var items: [Result<Value, CloudError>]

    package init(_ items: [Result<Value, CloudError>]) { self.items = items }
}

private struct EncodedItem<Value: Codable & Sendable>: Codable {
    var value: Value?
    var error: CloudError?

    init(_ result: Result<Value, CloudError>) {
        switch result {
        case .success(let value): self.value = value
        case .failure(let error): self.error = error
        }
    }

    var result: Result<Value, CloudError> {
        if let value { return .success(value) }
        return .failure(error ?? CloudError(.internalError, "The server's answer for an item is empty."))
    }
}

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

// The request for shares by their URLs, and its answer.

/// Fetches shares by their URLs, as the caller may know them. Answers in order.
package struct ShareMetadataRequest: Hashable, Codable, Sendable {
    package var urls: [String]
    package var wantsRootRecord: Bool
    /// The fields of the root to return; nil for all of them (M-02).
    package var rootDesiredKeys: Set<String>?

    package init(urls: [String], wantsRootRecord: Bool = false, rootDesiredKeys: Set<String>? = nil) {
        self.urls = urls
        self.wantsRootRecord = wantsRootRecord
        self.rootDesiredKeys = rootDesiredKeys
    }
}

/// What a person who has the URL of a share may know of it (M-01 … M-03).
package struct ClientShareMetadata: Hashable, Codable, Sendable {
    /// The URL of the request: a one-time URL is for another participant than the share's own.
    package var url: String
    /// Where the share must be accepted (M-01).
    package var container: ContainerName
    package var share: ClientRecord
    /// Nil for a share of a whole zone, and if the request does not want it.
    package var rootRecord: ClientRecord?
    package var role: ParticipantRole
    package var status: AcceptanceStatus
    package var permission: ParticipantPermission
    package var owner: ClientIdentity
}
