// The JSON of the service's requests and responses.

import Foundation
import Hummingbird
import StratusKit

// MARK: Requests

struct CodeRequest: Decodable {
    var email: String
}

struct SignInRequest: Decodable {
    var email: String
    var code: String
    var device: String?
}

struct NewListRequest: Decodable {
    var id: String?
    var title: String
}

struct ListChangeRequest: Decodable {
    var title: String
}

struct NewItemRequest: Decodable {
    var id: String?
    var title: String
}

struct ItemChangeRequest: Decodable {
    var title: String?
    var done: Bool?
    var list: String?
}

struct InvitationRequest: Decodable {
    enum Permission: String, Decodable {
        case readOnly
        case readWrite
    }

    var email: String
    var permission: Permission
}

// MARK: Answers

struct TokenBody: ResponseEncodable {
    var token: String
}

struct PersonBody: ResponseEncodable {
    var user: String
    var emails: [String]
    var device: String
}

/// How a person is named to another: `me`, or the name of their user record.
private func clientName(_ user: String, seenBy person: Person?) -> String {
    user == CKCurrentUserDefaultName || user == person?.account.userRecordName ? ListAddress.me : user
}

/// A list or an item.
struct RecordBody: ResponseEncodable {
    var type: String
    /// `me`, or the owner's name.
    var owner: String
    /// The list that an item is in.
    var list: String?
    var id: String
    var title: String
    var done: Bool?
    /// Whether a list is shared.
    var shared: Bool?
    var etag: String
    var modified: Date?
    /// The last author: `me`, or their name.
    var modifiedBy: String?

    /// Nil for a record that is neither.
    init?(_ record: CKRecord, seenBy person: Person?) {
        func name(_ user: String) -> String { clientName(user, seenBy: person) }
        switch record.recordType {
        case UserLists.RecordType.list:
            type = "list"
            shared = record.share != nil
        case UserLists.RecordType.item:
            type = "item"
            list = record.parent?.recordID.recordName
            done = record["done"] as? Int == 1
        default: return nil
        }
        owner = name(record.recordID.zoneID.ownerName)
        id = record.recordID.recordName
        title = record["title"] as? String ?? ""
        etag = record.entityTag
        modified = record.modificationDate
        modifiedBy = record.lastModifiedUserRecordID.map { name($0.recordName) }
    }
}

struct ListsBody: ResponseEncodable {
    var lists: [RecordBody]
}

struct ItemsBody: ResponseEncodable {
    var items: [RecordBody]
    /// The beginning of the next page; none after the last.
    var cursor: String?
}

struct ParticipantsBody: ResponseEncodable {
    struct Participant: Encodable {
        var id: String
        var email: String?
        var user: String?
        var role: String
        var permission: String
        var accepted: Bool
    }

    var participants: [Participant]

    init(_ participants: [CKShare.Participant], seenBy person: Person?) {
        self.participants = participants.map { participant in
            Participant(
                id: participant.participantID, email: participant.userIdentity.lookupInfo?.emailAddress,
                user: participant.userIdentity.userRecordID.map { clientName($0.recordName, seenBy: person) },
                role: "\(participant.role)",
                permission: "\(participant.permission)", accepted: participant.acceptanceStatus == .accepted)
        }
    }
}

struct ChangesBody: ResponseEncodable {
    struct Deletion: Encodable {
        var type: String
        var id: String
    }

    var changed: [RecordBody]
    var deleted: [Deletion]
    var token: String
    var more: Bool

    init(_ changes: ListChanges, seenBy person: Person) throws {
        changed = changes.records.compactMap { RecordBody($0, seenBy: person) }
        deleted = changes.deletions.compactMap { deletion -> Deletion? in
            switch deletion.recordType {
            case UserLists.RecordType.list: Deletion(type: "list", id: deletion.recordID.recordName)
            case UserLists.RecordType.item: Deletion(type: "item", id: deletion.recordID.recordName)
            default: nil
            }
        }
        token = try OpaqueText.encode(changes.token)
        more = changes.isMoreComing
    }
}

struct SharedChangesBody: ResponseEncodable {
    var changedOwners: [String]
    var goneOwners: [String]
    var token: String
    var more: Bool

    init(_ changes: SharedChanges) throws {
        changedOwners = changes.changedOwners
        goneOwners = changes.goneOwners
        token = try OpaqueText.encode(changes.token)
        more = changes.isMoreComing
    }
}

struct HealthBody: ResponseEncodable {
    var status: String
}
