// An account in words and as JSON.

import FoundationEssentials
import StratusCloud
import StratusModel

struct AccountSummary {
    static let keys = """
        {"account","externalID","user","emails","phoneNumbers","name","standing","discoverable","quotaBytes","usedBytes",\
        "created"}
        """

    let account: StratusModel.Account
    /// What the person's private databases hold, in bytes.
    let usedByteCount: Int64

    init(_ account: StratusModel.Account, _ service: CloudService) throws {
        self.account = account
        usedByteCount = try service.usage(of: account.userName)
    }

    /// By what the person is called on the command line.
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

    /// One line of a listing.
    func line(_ console: Console) -> String {
        var parts = [console.styled(VisibleText.of(title), .bold), VisibleText.of(account.userName.text)]
        if let name { parts.append("\"\(VisibleText.of(name))\"") }
        let handles = emails + phoneNumbers
        if !handles.isEmpty { parts.append(handles.map { VisibleText.of($0) }.joined(separator: ", ")) }
        if account.standing != .good { parts.append(console.styled("\(account.standing)", .yellow)) }
        parts.append(
            Quantities.bytes(usedByteCount) + (account.quotaByteCount.map { " of \(Quantities.bytes($0))" } ?? ""))
        return parts.joined(separator: "  ")
    }

    var object: JSONObject {
        [
            "account": .string(account.id.text), "externalID": JSONValue(account.externalID),
            "user": .string(account.userName.text), "emails": .array(emails.map { .string($0) }),
            "phoneNumbers": .array(phoneNumbers.map { .string($0) }), "name": JSONValue(name),
            "standing": .string("\(account.standing)"), "discoverable": .boolean(account.isDiscoverable),
            "quotaBytes": account.quotaByteCount.map { .integer($0) } ?? .null, "usedBytes": .integer(usedByteCount),
            "created": Quantities.timestamp(account.created),
        ]
    }

    func show(_ console: Console) throws {
        try console.line(line(console))
        try console.object(object)
    }
}
