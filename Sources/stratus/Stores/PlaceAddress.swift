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
        var text = ""
        for byte in part.utf8 {
            let isPlain = (0x21..<0x7F).contains(byte) && !"%/?".utf8.contains(byte)
            if isPlain {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                text += PercentText.escape(byte)
            }
        }
        return text
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
    enum Form: Hashable, Sendable {
        case externalID(String)
        case handle(Handle)
        case userName(UserName)
        case account(AccountID)
        case plain(String)
    }

    let text: String
    let form: Form

    init?(argument: String) {
        guard !argument.isEmpty else { return nil }
        self.init(argument)
    }

    init(_ text: String) {
        self.text = text
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let rest = parts.count == 2 ? parts[1] : ""
        switch rest.isEmpty ? "" : parts[0] {
        case "id": form = .externalID(rest)
        case "email": form = .handle(.email(rest))
        case "phone": form = .handle(.phone(rest))
        case "user": form = .userName(UserName(rest))
        case "account": form = .account(AccountID(rest))
        default: form = .plain(text)
        }
    }

    var defaultValueDescription: String { text }

    static let help = ArgumentHelp(
        "A person: the host's identifier, or email:TEXT, phone:TEXT, user:NAME.", valueName: "person")

    /// The identifier for a new account of the person; nil if the text is, or looks like, another kind of name.
    var newExternalID: String? {
        switch form {
        case .externalID(let text): text
        case .plain(let text): userName == nil && handle == nil ? text : nil
        case .handle, .userName, .account: nil
        }
    }

    /// The user name, if the text is one. No account needs to have it.
    var userName: UserName? {
        switch form {
        case .userName(let name): name
        case .plain(let text): text.hasPrefix("_") ? UserName(text) : nil
        case .externalID, .handle, .account: nil
        }
    }

    /// The address, if the text is one. No account needs to have it.
    var handle: Handle? {
        switch form {
        case .handle(let handle): handle
        case .plain(let text):
            if text.contains("@") { .email(text) } else if text.hasPrefix("+") { .phone(text) } else { nil }
        case .externalID, .userName, .account: nil
        }
    }

    /// The person's account, or nil.
    func account(in reader: RecordReader) throws -> StoredAccount? {
        let directory = AccountDirectory()
        switch form {
        case .externalID(let text): return try directory.account(externalID: text, in: reader)
        case .handle(let handle): return try directory.account(handle: handle, in: reader)
        case .userName(let name): return try directory.account(userName: name, in: reader)
        case .account(let id): return try directory.account(id, in: reader)
        case .plain(let text):
            if let known = try directory.account(externalID: text, in: reader) { return known }
            if let handle, let known = try directory.account(handle: handle, in: reader) { return known }
            return try userName.flatMap { try directory.account(userName: $0, in: reader) }
        }
    }

    var notFound: ToolError {
        ToolError(
            .notFound, "The store has no such account: 'stratus accounts' lists all accounts.", ["account": text])
    }
}
