// Where a store is, as the command line names it: a directory, or a database on a PostgreSQL server by its URL.
//
// Invariant: a URL may hold a password. Only the file that opens servers gets it; everything that is shown, printed or
// thrown gets `shown`.

import StratusStore

/// Where a store is.
enum StoreAddress: Hashable, Sendable {
    case directory(String)
    /// The URL, with its secrets.
    case server(url: String)

    private static let schemes = ["postgresql:", "postgres:"]
    private static let hidden = "…"

    /// A text with PostgreSQL's scheme is a URL; any other one is a path. A directory with such a name is `./name`.
    init(parsing text: String) {
        self = Self.schemes.contains { text.hasPrefix($0) } ? .server(url: text) : .directory(text)
    }

    /// What to use instead of backup and restore.
    static let backupInstead =
        "Use pg_basebackup or pg_dump for a store on PostgreSQL; after a restore run 'stratus renew-incarnations'."

    var isServer: Bool {
        if case .server = self { true } else { false }
    }

    /// The address without passwords.
    var shown: String {
        switch self {
        case .directory(let path): path
        case .server(let url): Self.redacted(url)
        }
    }

    /// The store's directory, for a verb that makes no sense on a server.
    ///
    /// Throws `refused` with `instead`, which says what to use there, if the text is a URL.
    static func directory(of text: String, instead: String) throws(ToolError) -> String {
        let address = StoreAddress(parsing: text)
        guard case .directory(let path) = address else {
            throw ToolError(.refused, instead, ["store": address.shown])
        }
        return path
    }

    /// Hides what may be a password: from the first colon of the user's part to the last @, because a password that was
    /// not percent-encoded may have any character; and the value of every option with a password or a key's passphrase.
    private static func redacted(_ url: String) -> String {
        guard let scheme = url.firstRange(of: "://") else { return String(url.prefix { $0 != ":" }) + ":" + hidden }
        var rest = url[scheme.upperBound...]
        var text = String(url[..<scheme.upperBound])
        if let end = rest.lastIndex(of: "@") {
            let user = rest[..<end].prefix { $0 != ":" }
            text += user.endIndex < end ? "\(user):\(hidden)@" : "\(user)@"
            rest = rest[rest.index(after: end)...]
        }
        guard let mark = rest.firstIndex(of: "?") else { return text + rest }
        let options = rest[rest.index(after: mark)...].split(separator: "&", omittingEmptySubsequences: false)
        let shown = options.map { option -> String in
            let key = option.prefix { $0 != "=" }
            return key.lowercased().contains("pass") ? "\(key)=\(hidden)" : String(option)
        }
        return text + rest[...mark] + shown.joined(separator: "&")
    }
}
