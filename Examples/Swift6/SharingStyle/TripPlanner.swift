// A trip planner whose trips are planned together: one person makes a trip and invites, the others accept and add
// stops.
//
// A trip is a record; its stops are records below it, so everyone with whom the trip is shared has them too.

import CloudKit

/// The trips of the signed-in user, and those that others share with them.
public struct TripPlanner: Sendable {
    /// The destination of the group.
    public struct Stop: Hashable, Sendable {
        /// The name of the place.
        public var name: String
        /// The person who added it: nil for the user.
        public var addedBy: String?

        /// A stop.
        public init(name: String, addedBy: String? = nil) {
            self.name = name
            self.addedBy = addedBy
        }
    }

    /// Errors that the user must see.
    public enum Problem: Error, Equatable {
        case notInvited
        case readOnly
        case noSuchTrip
    }

    private let container: CKContainer
    private let zoneID = CKRecordZone.ID(zoneName: "Trips")

    /// The trips in a container.
    public init(container: CKContainer = .default()) {
        self.container = container
    }

    // MARK: The owner's side

    /// Creates a trip, not shared yet.
    public func plan(_ title: String) async throws -> CKShare {
        try await container.privateCloudDatabase.save(CKRecordZone(zoneID: zoneID))
        let trip = CKRecord(recordType: "Trip", recordID: CKRecord.ID(zoneID: zoneID))
        trip["title"] = title
        let share = CKShare(rootRecord: trip)
        share[CKShare.SystemFieldKey.title] = title as CKRecordValue
        share[CKShare.SystemFieldKey.shareType] = "com.example.trip" as CKRecordValue
        share.publicPermission = .none
        let (results, _) = try await container.privateCloudDatabase.modifyRecords(
            saving: [trip, share], deleting: [])
        for result in results.values { _ = try result.get() }
        return share
    }

    /// Invites people by their addresses; returns those who were not found.
    public func invite(_ emails: [String], to share: CKShare, canEdit: Bool) async throws -> [String] {
        var strangers: [String] = []
        let found = try await container.shareParticipants(forEmailAddresses: emails)
        for email in emails {
            switch found[email] {
            case .success(let participant)?:
                participant.permission = canEdit ? .readWrite : .readOnly
                share.addParticipant(participant)
            default:
                strangers.append(email)
            }
        }
        _ = try await database(of: share.recordID).modifyRecords(saving: [share], deleting: [])
        return strangers
    }

    /// Who is on the trip, as the list in the sharing sheet says it.
    public func people(on share: CKShare) -> [String] {
        share.participants.map { participant in
            let identity = participant.userIdentity
            let name = identity.nameComponents?.displayName ?? identity.lookupInfo?.emailAddress ?? "somebody"
            let isMe = participant == share.currentUserParticipant
            switch participant.role {
            case .owner: return "\(name) (organises\(isMe ? ", me" : ""))"
            default:
                let state = participant.acceptanceStatus == .accepted ? "comes" : "is invited"
                return "\(name) (\(state)\(isMe ? ", me" : ""))"
            }
        }
    }

    /// Removes a person from the trip.
    public func remove(_ name: String, from share: CKShare) async throws {
        let latest = try await fetch(share.recordID)
        for participant in latest.participants where participant.role != .owner {
            if participant.userIdentity.nameComponents?.givenName == name { latest.removeParticipant(participant) }
        }
        try await database(of: share.recordID).save(latest)
    }

    /// The current share.
    public func fetch(_ id: CKRecord.ID) async throws -> CKShare {
        guard let share = try await database(of: id).record(for: id) as? CKShare else { throw Problem.noSuchTrip }
        return share
    }

    // MARK: Everybody's side

    /// What the scene delegate does with the metadata of a URL that was tapped.
    public func join(_ url: URL) async throws -> CKShare {
        do {
            let metadata = try await container.shareMetadata(for: url)
            guard metadata.participantStatus == .pending else { return metadata.share }
            return try await container.accept(metadata)
        } catch let error as CKError where error.code == .unknownItem {
            throw Problem.notInvited
        }
    }

    /// Adds a stop to a trip, your own or another's.
    public func add(_ stop: String, to share: CKShare) async throws {
        let root = try await rootID(of: share)
        let record = CKRecord(recordType: "Stop", recordID: CKRecord.ID(recordName: stop, zoneID: root.zoneID))
        record["name"] = stop
        record.setParent(root)
        do {
            try await database(of: root).save(record)
        } catch CKError.permissionFailure {
            throw Problem.readOnly
        }
    }

    /// The stops of a trip that the user may see.
    public func stops(_ names: [String], on share: CKShare) async throws -> [Stop] {
        let ids = names.map { CKRecord.ID(recordName: $0, zoneID: share.recordID.zoneID) }
        let results = try await database(of: share.recordID).records(for: ids)
        return ids.compactMap { id in
            guard let record = try? results[id]?.get(), let name = record["name"] as? String else { return nil }
            let creator = record.creatorUserRecordID?.recordName
            return Stop(name: name, addedBy: creator == CKCurrentUserDefaultName ? nil : creator)
        }
    }

    /// The organisers of the trips that others share with the user.
    public func organisers() async throws -> [String] {
        try await container.sharedCloudDatabase.allRecordZones().map(\.zoneID.ownerName)
    }

    /// Leaves a trip, or cancels your own.
    public func leave(_ share: CKShare) async throws {
        try await database(of: share.recordID).deleteRecord(withID: share.recordID)
    }

    // MARK: Where things are

    private func database(of id: CKRecord.ID) -> CKDatabase {
        id.zoneID.ownerName == CKCurrentUserDefaultName
            ? container.privateCloudDatabase : container.sharedCloudDatabase
    }

    private func rootID(of share: CKShare) async throws -> CKRecord.ID {
        guard let url = share.url else { throw Problem.noSuchTrip }
        let metadata = try await container.shareMetadata(for: url)
        guard let root = metadata.hierarchicalRootRecordID else { throw Problem.noSuchTrip }
        return root
    }
}

extension PersonNameComponents {
    /// The name as a list shows it.
    fileprivate var displayName: String {
        [givenName, familyName].compactMap { $0 }.joined(separator: " ")
    }
}
