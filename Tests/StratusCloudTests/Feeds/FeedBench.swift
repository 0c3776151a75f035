// Helpers for tests of feeds: pages, replicas that apply them, and what a person sees without any feed.

import Foundation
import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

extension RecordBench {
    /// Alice's zone Notes in the store.
    var notesID: ZoneID {
        ZoneID(
            database: DatabaseID(container: Self.container, owner: alice.userName, scope: .private), name: "Notes")
    }

    /// One page of a zone's feed; by default of Alice's zone Notes as its reader names it.
    func page(
        _ token: [UInt8]? = nil, limit: Int = 0, keys: Set<String>? = nil, zone: ZoneAddress? = nil,
        by account: StoredAccount? = nil
    ) throws -> FetchZoneChangesResponse {
        let reader = account ?? alice
        let isOwner = reader.id == alice.id
        let request = FetchZoneChangesRequest(
            zone: zone ?? (isOwner ? Self.notes : others()), token: token, limit: limit, desiredKeys: keys)
        return try service.fetchZoneChanges(request, as: caller(reader), in: isOwner ? .private : .shared)
    }

    /// One page of a database's feed.
    func zonePage(
        _ token: [UInt8]? = nil, limit: Int = 0, by account: StoredAccount? = nil,
        in database: DatabaseSelector = .private
    ) throws -> FetchDatabaseChangesResponse {
        let request = FetchDatabaseChangesRequest(token: token, limit: limit)
        return try service.fetchDatabaseChanges(request, as: caller(account ?? alice), in: database)
    }

    /// The code of the error that a page of a zone fails with.
    func pageError(
        _ token: [UInt8]? = nil, zone: ZoneAddress? = nil, by account: StoredAccount? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> CloudError {
        try thrown(sourceLocation: sourceLocation) { _ = try page(token, zone: zone, by: account) }
    }

    /// Deletes a record on behalf of a person.
    func remove(_ name: String, by account: StoredAccount? = nil) throws {
        let isOwner = account == nil || account?.id == alice.id
        let answer = try modify(
            deleting: [isOwner ? .note(name) : shared(name)], by: account, in: isOwner ? .private : .shared)
        for result in answer.deletes { _ = try result.get() }
    }

    /// Gives a record of Alice's another parent.
    func move(_ name: String, below parent: String?) throws {
        let record = try fetch(.note(name)).get()
        try save(RecordSave.change(record).with(parent: parent))
    }

    /// Changes a record of Alice's.
    func touch(_ name: String, _ text: String = "again") throws {
        let record = try fetch(.note(name)).get()
        try save(.change(record, ["text": .string(text)]))
    }

    /// The owner changes a participant's permission; nil removes them.
    func permit(_ account: StoredAccount, _ permission: ParticipantPermission?, in share: String) throws {
        _ = try change(share) { claim in
            guard
                let own = try? self.ownShare(share).sharing?.participants.first(where: {
                    $0.identity.userName == account.userName.text
                })
            else { return }
            if let permission {
                for index in claim.participants.indices where claim.participants[index].id == own.id {
                    claim.participants[index].permission = permission
                }
            } else {
                claim.participants.removeAll { $0.id == own.id }
            }
        }.get()
    }
}

/// One client's view of a zone: the changes it received, applied in order.
struct Replica {
    private(set) var records: [String: ClientRecord] = [:]
    private(set) var token: [UInt8]?

    var names: [String] { records.keys.sorted() }

    /// Applies one page.
    mutating func apply(_ page: FetchZoneChangesResponse) {
        for record in page.changed { records[record.address.recordName] = record }
        for deletion in page.deleted { records[deletion.address.recordName] = nil }
        token = page.token
    }

    /// Reads pages until no more are coming. Returns the changes of all of them.
    @discardableResult
    mutating func pull(
        _ bench: RecordBench, by account: StoredAccount? = nil, limit: Int = 0, between: () throws -> Void = {}
    ) throws -> Told {
        var told = Told()
        while true {
            let page = try bench.page(token, limit: limit, by: account)
            apply(page)
            told.add(page)
            guard page.isMoreComing else { return told }
            try between()
        }
    }
}

/// The changes of pages, by name.
struct Told: Equatable {
    var changed: [String] = []
    var deleted: [String] = []
    var pageCount = 0

    mutating func add(_ page: FetchZoneChangesResponse) {
        changed = (changed + page.changed.map(\.address.recordName)).sorted()
        deleted = (deleted + page.deleted.map(\.address.recordName)).sorted()
        pageCount += 1
    }
}
