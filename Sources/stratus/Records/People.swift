// What people are called: by the host's identifier where they have one, else by their user name or an address.

import StratusCloud
import StratusModel
import StratusRecords

struct People {
    let reader: RecordReader
    /// Who looks; nil for the host. The host's identifiers are nobody else's to know, but each their own.
    var viewer: UserName?

    func account(_ user: UserName?) throws -> StratusModel.Account? {
        try user.flatMap { try AccountDirectory().account(userName: $0, in: reader) }
    }

    func externalID(of user: UserName?) throws -> String? {
        guard viewer == nil || viewer == user else { return nil }
        return try account(user)?.externalID
    }

    /// For people.
    func title(of user: UserName?, _ participant: ShareParticipant? = nil) throws -> String {
        try title(of: user, handle: participant?.invitedHandle)
    }

    /// The same for whoever is known by an address too.
    func title(of user: UserName?, handle: Handle?) throws -> String {
        let address = handle.map { " <\($0.text)>" } ?? ""
        if let externalID = try externalID(of: user) { return VisibleText.of(externalID + address) }
        if let user { return VisibleText.of("user:\(user.text)\(address)") }
        if let handle { return VisibleText.of(handle.text) }
        return viewer == nil ? "whoever uses a one-time URL" : "somebody who is invited"
    }

    /// `{"user","externalID","handle","as","permission"}`
    func object(
        of user: UserName?, _ participant: ShareParticipant?, role: String, permission: String
    ) throws -> JSONObject {
        [
            "user": JSONValue(user?.text), "externalID": JSONValue(try externalID(of: user)),
            "handle": JSONValue(participant?.invitedHandle?.text), "as": .string(role),
            "permission": .string(permission),
        ]
    }
}

extension ShareParticipant {
    /// The address by which the participant was invited.
    var invitedHandle: Handle? {
        if case .handle(let handle)? = invitation { handle } else { nil }
    }
}
