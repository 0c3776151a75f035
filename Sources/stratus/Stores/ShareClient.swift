// Shares through CloudKit's API: as an owner, and as a participant.

import Foundation
import StratusKit

/// A person's databases, for sharing. Every call blocks until it is done.
struct ShareClient {
    let container: CKContainer

    // MARK: Owners

    /// Shares a record and everything below it. Invites no one.
    ///
    /// Throws `ItemsRefused` if a rule forbids it.
    func share(_ root: CKRecord.ID, named name: String?) throws -> CKShare {
        let database = container.privateCloudDatabase
        return try Blocking.wait {
            let record = try await database.record(for: root)
            let share =
                name.map { CKShare(rootRecord: record, shareID: CKRecord.ID(recordName: $0, zoneID: root.zoneID)) }
                ?? CKShare(rootRecord: record)
            try await ItemsRefused.check(database.modifyRecords(saving: [record, share], deleting: []).saveResults)
            return share
        }
    }

    /// Invites the person with an e-mail address to the share of a root.
    func invite(
        email: String, to root: CKRecord.ID, permission: CKShare.ParticipantPermission
    ) throws -> CKShare {
        try change(root) { share in
            let participant = try await container.shareParticipant(forEmailAddress: email)
            participant.permission = permission
            share.addParticipant(participant)
        }
    }

    /// Removes a person from the share of a root.
    func remove(userRecordName: String, from root: CKRecord.ID) throws -> CKShare {
        try change(root) { share in
            let found = share.participants.first { $0.userIdentity.userRecordID?.recordName == userRecordName }
            guard let found else {
                throw ToolError(.notFound, "The person does not take part in the share.", ["user": userRecordName])
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
                throw ToolError(.notFound, "The record is not the root of a share.", ["record": root.recordName])
            }
            try await edit(share)
            try await ItemsRefused.check(database.modifyRecords(saving: [share], deleting: []).saveResults)
            return share
        }
    }

    // MARK: Participants

    /// The person's own zones.
    func privateZones() throws -> [CKRecordZone.ID] { try zones(of: container.privateCloudDatabase) }

    /// The zones that others share with the person.
    func sharedZones() throws -> [CKRecordZone.ID] { try zones(of: container.sharedCloudDatabase) }

    private func zones(of database: CKDatabase) throws -> [CKRecordZone.ID] {
        try Blocking.wait { try await database.allRecordZones().map(\.zoneID) }
    }

    /// A record that others share with the person.
    func sharedRecord(_ id: CKRecord.ID) throws -> CKRecord {
        try Blocking.wait { try await container.sharedCloudDatabase.record(for: id) }
    }

    /// The records of these types directly below a shared record, at most `limit` of each type.
    func sharedRecords(under parent: CKRecord.ID, types: [String], limit: Int) throws -> [CKRecord] {
        try Blocking.wait {
            var records: [CKRecord] = []
            for type in types {
                let reference = CKRecord.Reference(recordID: parent, action: .none)
                let query = CKQuery(recordType: type, predicate: NSPredicate(format: "parent == %@", reference))
                do {
                    let page = try await container.sharedCloudDatabase.records(
                        matching: query, inZoneWith: parent.zoneID, resultsLimit: limit)
                    for (_, result) in page.matchResults { records.append(try result.get()) }
                } catch let error as CKError {
                    // No record of the type was saved yet (Q-11).
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
            try await ItemsRefused.check(database.modifyRecords(saving: [record], deleting: []).saveResults)
        }
    }

    /// Creates a record in another person's zone.
    func makeShared(_ id: CKRecord.ID, type: String, under parent: CKRecord.ID?) throws {
        let database = container.sharedCloudDatabase
        try Blocking.wait {
            let record = CKRecord(recordType: type, recordID: id)
            record.setParent(parent)
            try await ItemsRefused.check(database.modifyRecords(saving: [record], deleting: []).saveResults)
        }
    }
}
