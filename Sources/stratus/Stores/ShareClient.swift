// Shares through CloudKit's face: what a person does with their own records and with those of others.

import Foundation
import StratusKit
import StratusModel

/// A person's databases, for sharing. Every call waits for its answer.
struct ShareClient {
    let container: CKContainer

    init(_ container: CKContainer) { self.container = container }

    // MARK: The owner's part

    /// Shares a record and everything below it. Nobody is invited yet.
    ///
    /// Throws `ItemsRefused` when a rule stands against it.
    func share(_ root: CKRecord.ID, named name: String?) throws -> CKShare {
        let database = container.privateCloudDatabase
        return try Blocking.wait {
            let record = try await database.record(for: root)
            let share =
                name.map { CKShare(rootRecord: record, shareID: CKRecord.ID(recordName: $0, zoneID: root.zoneID)) }
                ?? CKShare(rootRecord: record)
            try await Self.save([record, share], in: database)
            return share
        }
    }

    /// The share that a record is the root of, or nil.
    func share(ofRoot root: CKRecord.ID) throws -> CKShare? {
        let database = container.privateCloudDatabase
        return try Blocking.wait {
            guard let id = try await database.record(for: root).share?.recordID else { return nil }
            return try await database.record(for: id) as? CKShare
        }
    }

    /// Ends the share that a record is the root of. Returns its name, or nil where it was none.
    func stopSharing(_ root: CKRecord.ID) throws -> String? {
        let database = container.privateCloudDatabase
        return try Blocking.wait {
            guard let id = try await database.record(for: root).share?.recordID else { return nil }
            try await Self.save([], deleting: [id], in: database)
            return id.recordName
        }
    }

    /// Invites the person with an e-mail address to the share of a root.
    func invite(
        email: String, to root: CKRecord.ID, permission: CKShare.ParticipantPermission
    ) throws -> CKShare {
        let container = container
        return try change(root) { share in
            let participant = try await container.shareParticipant(forEmailAddress: email)
            participant.permission = permission
            share.addParticipant(participant)
        }
    }

    /// Takes a person out of the share of a root.
    func remove(userRecordName: String, from root: CKRecord.ID) throws -> CKShare {
        try change(root) { share in
            let found = share.participants.first { $0.userIdentity.userRecordID?.recordName == userRecordName }
            guard let found else {
                throw ToolError(.notFound, "The person takes no part in the share.", ["user": userRecordName])
            }
            share.removeParticipant(found)
        }
    }

    private func change(
        _ root: CKRecord.ID, _ edit: @escaping @Sendable (CKShare) async throws -> Void
    ) throws -> CKShare {
        let database = container.privateCloudDatabase
        return try Blocking.wait {
            guard let id = try await database.record(for: root).share?.recordID,
                let share = try await database.record(for: id) as? CKShare
            else {
                throw ToolError(.notFound, "The record is the root of no share.", ["record": root.recordName])
            }
            try await edit(share)
            try await Self.save([share], in: database)
            return share
        }
    }

    // MARK: The participant's part

    /// The person's own zones.
    func privateZones() throws -> [CKRecordZone.ID] {
        let database = container.privateCloudDatabase
        return try Blocking.wait { try await database.allRecordZones().map(\.zoneID) }
    }

    /// The zones that others share with the person.
    func sharedZones() throws -> [CKRecordZone.ID] {
        let database = container.sharedCloudDatabase
        return try Blocking.wait { try await database.allRecordZones().map(\.zoneID) }
    }

    /// A record that others share with the person.
    func sharedRecord(_ id: CKRecord.ID) throws -> CKRecord {
        let database = container.sharedCloudDatabase
        return try Blocking.wait { try await database.record(for: id) }
    }

    /// The records of these types right under one that others share with the person, at most `limit` of each type.
    func sharedRecords(under parent: CKRecord.ID, types: [String], limit: Int) throws -> [CKRecord] {
        let database = container.sharedCloudDatabase
        return try Blocking.wait {
            var records: [CKRecord] = []
            for type in types {
                let reference = CKRecord.Reference(recordID: parent, action: .none)
                let query = CKQuery(recordType: type, predicate: NSPredicate(format: "parent == %@", reference))
                do {
                    let page = try await database.records(
                        matching: query, inZoneWith: parent.zoneID, resultsLimit: limit)
                    for (_, result) in page.matchResults { records.append(try result.get()) }
                } catch let error as CKError {
                    // Nobody has saved a record of the type yet (Q-11).
                    guard error.code == .unknownItem else { throw error }
                }
            }
            return records
        }
    }

    /// Sets a field of a record that others share with the person.
    func setShared(_ value: String, forKey key: String, of id: CKRecord.ID) throws {
        let database = container.sharedCloudDatabase
        try Blocking.wait {
            let record = try await database.record(for: id)
            record[key] = value
            try await Self.save([record], in: database)
        }
    }

    /// Makes a record in a zone of somebody else.
    func makeShared(_ id: CKRecord.ID, type: String, under parent: CKRecord.ID?) throws {
        let database = container.sharedCloudDatabase
        try Blocking.wait {
            let record = CKRecord(recordType: type, recordID: id)
            record.setParent(parent)
            try await Self.save([record], in: database)
        }
    }

    /// Saves and deletes, all or nothing.
    ///
    /// Throws `ItemsRefused` with the reasons of the items that have one of their own.
    private static func save(
        _ records: [CKRecord], deleting ids: [CKRecord.ID] = [], in database: CKDatabase
    ) async throws {
        let answer = try await database.modifyRecords(saving: records, deleting: ids)
        var errors: [RecordName: CKError] = [:]
        for (id, result) in answer.saveResults { errors.note(result, id) }
        for (id, result) in answer.deleteResults { errors.note(result, id) }
        guard errors.isEmpty else { throw ItemsRefused(errors: errors) }
    }
}

extension [RecordName: CKError] {
    /// An item that failed only because others did tells nothing.
    fileprivate mutating func note<Success>(_ result: Result<Success, any Error>, _ id: CKRecord.ID) {
        guard case .failure(let error as CKError) = result, error.code != .batchRequestFailed else { return }
        self[RecordName(id.recordName)] = error
    }
}
