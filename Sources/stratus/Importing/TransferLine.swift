// The lines of an exported store, one JSON object each:
//
//   {"stratusExport":1,"secrets":BOOL,                                    first; "holds" announces the counts, for the
//    "holds":{"accounts","zones","records"}}                              progress; older exports have none
//   {"account":{…}}  {"device":{…}}  {"schema":{"container","text","imported"}}
//                                                                        people, then containers; "imported"
//                                                                        lists types
//   {"zone":{…}}                                                          then its records, parents before children:
//     {"asset":{"owner","digest","byteCount","part","data"}}                an asset, in parts, before the first record
//     {"record":{…}}                                                        that uses it
//   {"subscription":{…}}
//   {"end":{"accounts","zones","records","contents"}}                     last
//
// Dates are seconds since 2001-01-01 UTC; numbers with many digits are strings. Names never change their meaning; a
// reader ignores members that it does not know.

import Foundation
import StratusCloud
import StratusModel

enum TransferLine {
    static let version = 1

    /// The announced counts, from the headers of zones: they are the same for every store with the same content.
    private static let foretoldKeys = ["accounts", "zones", "records"]
    /// Larger counts are cut to this one.
    private static let foretoldLimit: Int64 = 1 << 48

    static func head(secrets: Bool, foretelling counts: TransferCounts) -> JSONObject {
        let holds: JSONObject = ["accounts": counts.accounts, "zones": counts.zones, "records": counts.records]
        return ["stratusExport": version, "secrets": secrets, "holds": holds]
    }

    /// The sum of the announced counts; nil if the first line has none.
    static func foretoldCount(_ head: TransferObject) -> Int? {
        guard let holds = head.optionalObject("holds") else { return nil }
        return foretoldKeys.reduce(0) { sum, key in
            sum + Int(min(max(0, holds.optionalInteger(key) ?? 0), foretoldLimit))
        }
    }

    // MARK: Accounts

    static func object(of account: StoredAccount) -> JSONObject {
        let handles = account.handles.sorted { $0.text < $1.text }.map { object(of: $0) }
        let name = account.name
        let parts = JSONObject(unlessNil: [
            "prefix": name.prefix, "given": name.given, "middle": name.middle, "family": name.family,
            "suffix": name.suffix, "nickname": name.nickname,
        ])
        return [
            "id": account.id.text, "externalID": account.externalID, "user": account.userName.text, "handles": handles,
            "name": parts, "standing": "\(account.standing)", "discoverable": account.isDiscoverable,
            "quota": account.quotaByteCount, "created": FieldJSON.seconds(account.created),
        ]
    }

    static func account(_ object: TransferObject) throws -> StoredAccount {
        let name = try object.object("name")
        return try StoredAccount(
            id: AccountID(object.string("id")), externalID: object.optionalString("externalID"),
            userName: UserName(object.string("user")), handles: Set(object.objects("handles").map { try handle($0) }),
            name: PersonName(
                prefix: name.optionalString("prefix"), given: name.optionalString("given"),
                middle: name.optionalString("middle"), family: name.optionalString("family"),
                suffix: name.optionalString("suffix"), nickname: name.optionalString("nickname")),
            standing: object.word("standing", among: AccountStanding.allCases),
            isDiscoverable: object.boolean("discoverable"), quotaByteCount: object.optionalInteger("quota"),
            created: object.date("created"))
    }

    static func object(of handle: Handle) -> JSONObject {
        switch handle {
        case .email(let text): ["email": text]
        case .phone(let text): ["phone": text]
        }
    }

    static func handle(_ object: TransferObject) throws -> Handle {
        if let email = object.optionalString("email") { return .email(email) }
        return .phone(try object.string("phone"))
    }

    // MARK: Records

    static func object(of stored: StoredRecord, secrets: Bool) throws -> JSONObject {
        let (record, system) = (stored.record, stored.system)
        let names = JSONObject(unlessNil: [
            "name": record.name.text, "type": record.type.text, "parent": record.parent?.text,
            "share": record.share?.text,
        ])
        let object: JSONObject = [
            "created": FieldJSON.seconds(system.created.date), "creator": system.created.user.text,
            "modified": FieldJSON.seconds(system.modified.date), "modifier": system.modified.user.text,
            "fields": FieldJSON.object(of: record.fields) { _ in true },
        ]
        guard let content = try record.shareContent() else { return names + object }
        return names + object + ["sharing": TransferShare.object(of: content, secrets: secrets)]
    }

    static func record(_ object: TransferObject, _ newToken: () throws -> ShareToken) throws -> StoredRecord {
        var fields: RecordFields = [:]
        for (key, any) in try object.object("fields").members {
            guard let field = FieldJSON.field(of: any) else { throw object.wrong("fields/\(key)") }
            fields[FieldKey(key)] = field
        }
        var record = Record(
            name: RecordName(try object.string("name")), type: RecordType(try object.string("type")),
            parent: object.optionalString("parent").map { RecordName($0) },
            share: object.optionalString("share").map { RecordName($0) }, fields: fields)
        if let sharing = object.optionalObject("sharing") {
            record = record.with(try TransferShare.content(sharing, newToken))
        }
        return StoredRecord(
            record: record,
            system: SystemFields(
                changeSequence: 0, tagSalt: 0,
                created: Stamp(date: try object.date("created"), user: UserName(try object.string("creator"))),
                modified: Stamp(date: try object.date("modified"), user: UserName(try object.string("modifier")))))
    }
}

/// A JSON object in a line of an export.
struct TransferObject {
    let members: [String: Any]
    let line: Int
    let kind: String

    func wrong(_ key: String) -> ToolError {
        ToolError(
            .damaged, "A line is not a line of an export: export the store again.",
            ["line": "\(line)", "kind": kind, "key": key])
    }

    private func require<Value>(_ value: Value?, _ key: String) throws -> Value {
        guard let value else { throw wrong(key) }
        return value
    }

    func string(_ key: String) throws -> String { try require(optionalString(key), key) }

    func optionalStrings(_ key: String) -> [String] { members[key] as? [String] ?? [] }

    func optionalString(_ key: String) -> String? { members[key] as? String }

    func integer(_ key: String) throws -> Int64 { try require(optionalInteger(key), key) }

    func optionalInteger(_ key: String) -> Int64? { (members[key] as? NSNumber)?.int64Value }

    func boolean(_ key: String) throws -> Bool { try require(members[key] as? Bool, key) }

    func date(_ key: String) throws -> Date { try require(FieldJSON.date(of: members[key]), key) }

    func bytes(_ key: String) throws -> [UInt8] { [UInt8](try require(Data(base64Encoded: string(key)), key)) }

    func word<Value>(_ key: String, among values: [Value]) throws -> Value {
        let text = try string(key)
        return try require(values.first { "\($0)" == text }, key)
    }

    func optionalObject(_ key: String) -> TransferObject? {
        (members[key] as? [String: Any]).map { TransferObject(members: $0, line: line, kind: kind) }
    }

    func object(_ key: String) throws -> TransferObject { try require(optionalObject(key), key) }

    func objects(_ key: String) throws -> [TransferObject] {
        try require(members[key] as? [[String: Any]], key).map {
            TransferObject(members: $0, line: line, kind: kind)
        }
    }
}

/// The content of a share in the lines of an export. Without --secrets it has no secrets of URLs: an import creates new
/// ones, and people need the new URLs.
enum TransferShare {
    static func object(of content: ShareContent, secrets: Bool) -> JSONObject {
        JSONObject(unlessNil: ["root": content.root?.text, "token": secrets ? content.token.text : nil])
            + [
                "publicPermission": "\(content.publicPermission)",
                "allowsAccessRequests": content.allowsAccessRequests,
                "participants": content.participants.map { object(of: $0, secrets: secrets) },
                "requesters": content.requesters.map { object(of: $0) },
                "blocked": content.blocked.map { object(of: $0) },
            ]
    }

    private static func object(of one: ShareParticipant, secrets: Bool) -> JSONObject {
        let invitation: JSONObject =
            switch one.invitation {
            case .handle(let handle)?: TransferLine.object(of: handle)
            case .userRecord?: ["invitedBy": "userRecord"]
            case .oneTime(let token)?:
                JSONObject(unlessNil: ["invitedBy": "oneTimeURL", "token": secrets ? token.text : nil])
            case nil: [:]
            }
        return [
            "id": one.id.text, "role": "\(one.role)", "permission": "\(one.permission)", "status": "\(one.status)",
            "added": FieldJSON.seconds(one.added), "approvedRequester": one.isApprovedRequester,
        ] + JSONObject(unlessNil: ["user": one.user?.text]) + invitation
    }

    private static func object(of one: SharePetitioner) -> JSONObject {
        ["id": one.id.text, "user": one.user.text, "date": FieldJSON.seconds(one.date)]
            + (one.handle.map { TransferLine.object(of: $0) } ?? [:])
    }

    // MARK: Reading

    static func content(_ object: TransferObject, _ newToken: () throws -> ShareToken) throws -> ShareContent {
        ShareContent(
            root: object.optionalString("root").map { RecordName($0) }, token: try token(object, newToken),
            publicPermission: try object.word("publicPermission", among: ParticipantPermission.allCases),
            allowsAccessRequests: try object.boolean("allowsAccessRequests"),
            participants: try object.objects("participants").map { try participant($0, newToken) },
            requesters: try object.objects("requesters").map { try petitioner($0) },
            blocked: try object.objects("blocked").map { try petitioner($0) })
    }

    private static func token(_ object: TransferObject, _ newToken: () throws -> ShareToken) throws -> ShareToken {
        guard let text = object.optionalString("token") else { return try newToken() }
        guard let token = ShareToken(text: text) else { throw object.wrong("token") }
        return token
    }

    private static func participant(
        _ object: TransferObject, _ newToken: () throws -> ShareToken
    ) throws -> ShareParticipant {
        var invitation = try handle(object).map { ParticipantInvitation.handle($0) }
        switch object.optionalString("invitedBy") {
        case "userRecord": invitation = .userRecord
        case "oneTimeURL": invitation = .oneTime(try token(object, newToken))
        default: break
        }
        return ShareParticipant(
            id: ParticipantID(try object.string("id")),
            role: try object.word("role", among: ParticipantRole.allCases),
            permission: try object.word("permission", among: ParticipantPermission.allCases),
            status: try object.word("status", among: AcceptanceStatus.allCases), invitation: invitation,
            user: object.optionalString("user").map { UserName($0) }, added: try object.date("added"),
            isApprovedRequester: try object.boolean("approvedRequester"))
    }

    private static func petitioner(_ object: TransferObject) throws -> SharePetitioner {
        SharePetitioner(
            id: ParticipantID(try object.string("id")), user: UserName(try object.string("user")),
            handle: try handle(object), date: try object.date("date"))
    }

    private static func handle(_ object: TransferObject) throws -> Handle? {
        guard object.members["email"] != nil || object.members["phone"] != nil else { return nil }
        return try TransferLine.handle(object)
    }
}
