// What a share holds, in the lines of an exported store. The secrets of URLs are in it only where they were asked for; an
// import draws new ones then, and whoever has an old URL needs the new one.

import Foundation
import StratusCloud
import StratusModel

enum TransferShare {
    static func object(of content: ShareContent, secrets: Bool) -> JSONObject {
        var object: JSONObject = [:]
        object.add("root", unlessNil: content.root.map { .string($0.text) })
        if secrets { object.add("token", .string(content.token.text)) }
        object.add("publicPermission", .string("\(content.publicPermission)"))
        object.add("allowsAccessRequests", .boolean(content.allowsAccessRequests))
        object.add("participants", .array(content.participants.map { .object(self.object(of: $0, secrets: secrets)) }))
        object.add("requesters", .array(content.requesters.map { .object(self.object(of: $0)) }))
        object.add("blocked", .array(content.blocked.map { .object(self.object(of: $0)) }))
        return object
    }

    private static func object(of one: ShareParticipant, secrets: Bool) -> JSONObject {
        var object: JSONObject = [
            "id": .string(one.id.text), "role": .string("\(one.role)"), "permission": .string("\(one.permission)"),
            "status": .string("\(one.status)"), "added": FieldJSON.seconds(one.added),
            "approvedRequester": .boolean(one.isApprovedRequester),
        ]
        object.add("user", unlessNil: one.user.map { .string($0.text) })
        switch one.invitation {
        case .handle(let handle)?: add(handle, to: &object)
        case .userRecord?: object.add("invitedBy", "userRecord")
        case .oneTime(let token)?:
            object.add("invitedBy", "oneTimeURL")
            if secrets { object.add("token", .string(token.text)) }
        case nil: break
        }
        return object
    }

    private static func object(of one: SharePetitioner) -> JSONObject {
        var object: JSONObject = [
            "id": .string(one.id.text), "user": .string(one.user.text), "date": FieldJSON.seconds(one.date),
        ]
        if let handle = one.handle { add(handle, to: &object) }
        return object
    }

    private static func add(_ handle: Handle, to object: inout JSONObject) {
        switch handle {
        case .email(let text): object.add("email", .string(text))
        case .phone(let text): object.add("phone", .string(text))
        }
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
        var invitation = try handle(object).map { Invitation.handle($0) }
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
