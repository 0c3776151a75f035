// How the command line names databases, zones and people. All verbs use the same forms.
//
//   db://CONTAINER/OWNER               the private database of a person
//   db://CONTAINER/public              the public database
//   db://CONTAINER/OWNER/ZONE          a zone
//   db://CONTAINER/OWNER/ZONE/a/b      a record by its path of names
//   db://CONTAINER/OWNER/ZONE?NAME     a record by its record name
//
// '%', '/', '?' and everything but visible ASCII characters are written as %XX, except in a record name.

import ArgumentParser
import StratusCloud
import StratusModel
import StratusRecords

/// A database, or a zone of one.
struct PlaceAddress: ExpressibleByArgument, Hashable, Sendable {
    static let prefix = "db://"
    private static let publicWord = "public"

    var container: String
    /// Nil for the public database.
    var owner: PersonArgument?
    var zone: String?

    /// Reads an address: the place, and the name of a record or the path to one. Nil if the text is not an address.
    static func read(_ text: String) -> (place: PlaceAddress, name: String?, path: [String])? {
        guard text.hasPrefix(prefix) else { return nil }
        var rest = Substring(text.dropFirst(prefix.count))
        var name: String?
        if let mark = rest.firstIndex(of: "?") {
            name = String(rest[rest.index(after: mark)...])
            rest = rest[..<mark]
        }
        var parts: [String] = []
        for part in rest.split(separator: "/") {
            guard let bytes = PercentText.bytes(of: String(part)),
                let text = String(validating: bytes, as: UTF8.self)
            else { return nil }
            parts.append(text)
        }
        guard parts.count >= 2 else { return nil }
        let place = PlaceAddress(
            container: parts[0], owner: parts[1] == publicWord ? nil : PersonArgument(parts[1]),
            zone: parts.count > 2 ? parts[2] : nil)
        if let name, parts.count != 3 || name.isEmpty { return nil }
        return (place, name, Array(parts.dropFirst(3)))
    }

    /// The address as text, which `read` accepts.
    var text: String {
        let parts = [container, owner?.text ?? Self.publicWord] + (zone.map { [$0] } ?? [])
        return Self.prefix + parts.map(Self.escaped).joined(separator: "/")
    }

    /// The address of a record in the zone.
    func text(of record: RecordName) -> String { text + "?" + record.text }

    private static func escaped(_ part: String) -> String {
        part.utf8.map { byte in
            let isPlain = (0x21..<0x7F).contains(byte) && !"%/?".utf8.contains(byte)
            return isPlain ? String(Unicode.Scalar(byte)) : PercentText.escape(byte)
        }.joined()
    }
}

extension PlaceAddress {
    /// The address of a database or zone. An owner without account is named by user name.
    init(_ database: DatabaseID, ownedBy owner: StoredAccount?, zone: ZoneName? = nil) {
        let name = owner?.externalID.map { "id:\($0)" } ?? database.owner.map { "user:\($0.text)" }
        self.init(container: database.container.text, owner: name.map { PersonArgument($0) }, zone: zone?.text)
    }

    init?(argument: String) {
        guard let read = Self.read(argument), read.name == nil, read.path.isEmpty else { return nil }
        self = read.place
    }
}

/// One person, by any of their names:
///
///     id:TEXT      the host's own identifier          user:TEXT     the name of the user record
///     email:TEXT   a verified e-mail address          account:TEXT  the store's identifier of the account
///     phone:TEXT   a verified telephone number
///     anything else: the host's identifier; if no account has it, an address, a number or a user name by its look
struct PersonArgument: ExpressibleByArgument, Hashable, Sendable {
    let text: String
    /// The names that the text may be, by its prefix or by its look; an account is looked up by each, in this order.
    private var externalID: String?
    private(set) var handle: Handle?
    private(set) var userName: UserName?
    private var accountID: AccountID?

    init?(argument: String) {
        guard !argument.isEmpty else { return nil }
        self.init(argument)
    }

    init(_ text: String) {
        self.text = text
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let rest = parts.count == 2 ? parts[1] : ""
        switch rest.isEmpty ? "" : parts[0] {
        case "id": externalID = rest
        case "email": handle = .email(rest)
        case "phone": handle = .phone(rest)
        case "user": userName = UserName(rest)
        case "account": accountID = AccountID(rest)
        default:
            externalID = text
            if text.contains("@") { handle = .email(text) } else if text.hasPrefix("+") { handle = .phone(text) }
            if text.hasPrefix("_") { userName = UserName(text) }
        }
    }

    var defaultValueDescription: String { text }

    static let help = ArgumentHelp(
        "A person: the host's identifier, or email:TEXT, phone:TEXT, user:NAME.", valueName: "person")

    /// The identifier for a new account of the person; nil if the text is, or looks like, another kind of name.
    var newExternalID: String? { handle == nil && userName == nil ? externalID : nil }

    /// The user name, if the text can be nothing else. No account needs to have it.
    var plainUserName: UserName? { externalID == nil ? userName : nil }

    /// The person's account, or nil.
    func account(in reader: RecordReader) throws -> StoredAccount? {
        let directory = AccountDirectory()
        if let externalID, let known = try directory.account(externalID: externalID, in: reader) { return known }
        if let handle, let known = try directory.account(handle: handle, in: reader) { return known }
        if let userName { return try directory.account(userName: userName, in: reader) }
        return try accountID.flatMap { try directory.account($0, in: reader) }
    }

    var notFound: ToolError {
        ToolError(
            .notFound, "The store has no such account: 'stratus accounts' lists all accounts.", ["account": text])
    }
}
