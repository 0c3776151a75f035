// How people and accounts are shown. A person is called by the host's identifier, or else by user name or address.

import StratusCloud
import StratusModel
import StratusRecords

struct People {
    let reader: RecordReader
    /// The person who looks; nil for the host. A person sees no host identifier but their own.
    var viewer: UserName?

    func account(_ user: UserName?) throws -> StoredAccount? {
        try user.flatMap { try AccountDirectory().account(userName: $0, in: reader) }
    }

    func externalID(of user: UserName?) throws -> String? {
        guard viewer == nil || viewer == user else { return nil }
        return try account(user)?.externalID
    }

    /// The name of a user or a participant, for people.
    func title(of user: UserName?, _ participant: ShareParticipant? = nil) throws -> String {
        try title(of: user, handle: participant?.invitedHandle)
    }

    /// The name of a person who may also have an address.
    func title(of user: UserName?, handle: Handle?) throws -> String {
        let address = handle.map { " <\($0.text)>" } ?? ""
        if let externalID = try externalID(of: user) { return VisibleText.of(externalID + address) }
        if let user { return VisibleText.of("user:\(user.text)\(address)") }
        if let handle { return VisibleText.of(handle.text) }
        return viewer == nil ? "the user of a one-time URL" : "an invited person"
    }

    /// `{"user","externalID","handle","as","permission"}`
    func object(
        of user: UserName?, _ participant: ShareParticipant?, role: String, permission: String
    ) throws -> JSONObject {
        [
            "user": user?.text, "externalID": try externalID(of: user), "handle": participant?.invitedHandle?.text,
            "as": role, "permission": permission,
        ]
    }
}

extension ShareParticipant {
    /// The address by which the participant was invited.
    var invitedHandle: Handle? {
        if case .handle(let handle)? = invitation { handle } else { nil }
    }
}

/// An account as text and as JSON.
struct AccountSummary {
    static let keys = """
        {"account","externalID","user","emails","phoneNumbers","name","standing","discoverable","quotaBytes","usedBytes",\
        "created"}
        """

    let account: StoredAccount
    /// The size of the person's private databases, in bytes.
    let usedByteCount: Int64

    init(_ account: StoredAccount, _ service: CloudService) throws {
        self.account = account
        usedByteCount = try service.usage(of: account.userName)
    }

    /// The person's name on the command line.
    var title: String { account.externalID ?? "user:\(account.userName.text)" }

    private var name: String? {
        let parts = [account.name.prefix, account.name.given, account.name.family].compactMap { $0 }
        return parts.isEmpty ? nil : parts.joined(separator: " ")
    }

    private var emails: [String] {
        account.handles.compactMap { if case .email(let text) = $0 { text } else { nil } }.sorted()
    }

    private var phoneNumbers: [String] {
        account.handles.compactMap { if case .phone(let text) = $0 { text } else { nil } }.sorted()
    }

    /// Prints one line of a listing.
    func show(_ console: Console) throws {
        var parts = [console.styled(VisibleText.of(title), .bold), VisibleText.of(account.userName.text)]
        if let name { parts.append("\"\(VisibleText.of(name))\"") }
        let handles = emails + phoneNumbers
        if !handles.isEmpty { parts.append(handles.map { VisibleText.of($0) }.joined(separator: ", ")) }
        if account.standing != .good { parts.append(console.styled("\(account.standing)", .yellow)) }
        parts.append(
            Quantities.bytes(usedByteCount) + (account.quotaByteCount.map { " of \(Quantities.bytes($0))" } ?? ""))
        try console.line(parts.joined(separator: "  "))
        try console.object([
            "account": account.id.text, "externalID": account.externalID, "user": account.userName.text,
            "emails": emails, "phoneNumbers": phoneNumbers, "name": name, "standing": "\(account.standing)",
            "discoverable": account.isDiscoverable, "quotaBytes": account.quotaByteCount, "usedBytes": usedByteCount,
            "created": Quantities.timestamp(account.created),
        ])
    }
}
