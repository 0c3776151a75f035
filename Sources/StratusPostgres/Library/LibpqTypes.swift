// What libpq's header would say: its numbers, and the address of a server, parsed by libpq and shown without secrets.
//
// Invariants: a password is in `ConnectionInfo.libpqText` and nowhere else. Every text that libpq or the server returns
// passes `redacting` before it becomes a cause, because libpq's messages may quote the address.
//
// Unsafe: the list that libpq returns is read up to its end, an entry without a keyword, and freed once.

internal import Glibc
internal import StratusStore

/// Returned by `PQconnectPoll`.
enum PollingStatus: UInt32 {
    case failed = 0
    case reading = 1
    case writing = 2
    case ok = 3
}

/// Returned by `PQresultStatus`, without what cannot occur here: copies and single rows.
enum ResultStatus: UInt32 {
    case command = 1
    case rows = 2
    case failure = 7
    case sync = 10
    case aborted = 11
}

/// Returned by `PQtransactionStatus`.
enum TransactionStatus: UInt32 {
    case idle = 0
    case active = 1
    case inTransaction = 2
    case inFailedTransaction = 3
    case unknown = 4
}

/// Parts of an error or a notice, by their codes in the protocol.
enum ErrorField: UInt8 {
    /// In English, whatever the server's language is.
    case severity = 0x56  // V
    case sqlState = 0x43  // C
    case message = 0x4D  // M
    case detail = 0x44  // D
    case table = 0x74  // t
    case constraint = 0x6E  // n
}

/// Formats of parameters and results.
enum ValueFormat {
    static let binary: Int32 = 1
}

/// How much libpq writes into the message of a failed connection. The verbose form contains the SQLSTATE.
enum ErrorVerbosity {
    static let verbose: UInt32 = 2
}

/// The address of a database, as its URL says it.
package struct ConnectionInfo: Sendable, CustomStringConvertible {
    /// What makes two addresses the same store. User and password do not.
    package struct Identity: Hashable, Sendable {
        package let hosts: [String]
        package let ports: [String]
        package let service: String
        package let database: String
        package let schema: String
    }

    /// One of the servers that the address names. Nil where libpq's defaults or a service file decide.
    struct Endpoint: Hashable, Sendable {
        var host: String?
        var address: String?
        var port: String?
    }

    package let identity: Identity
    /// The address without secrets.
    package let description: String
    /// What libpq gets: the given address without the part that is ours. Never show it.
    let libpqText: String
    /// The schema with the tables; nil for the first one of the role's search path.
    let schema: String?
    /// Where to connect, in order.
    let endpoints: [Endpoint]
    /// What the connections to it have found out.
    let route = Locked(ServerRoute())
    /// How long one server may take to answer.
    let connectSeconds: Double
    private let secrets: Secrets

    /// Whether a text is an address and no path.
    package static func isAddress(_ text: String) -> Bool {
        schemes.contains { text.utf8.starts(with: $0.utf8) }
    }

    /// Parses an address, which loads libpq.
    ///
    /// Throws `.invalidRequest` if it is no address of PostgreSQL, and `.unavailable` without libpq.
    package init(parsing text: String) throws {
        try self.init(parsing: text, library: Libpq.shared())
    }

    static let schemes = ["postgresql://", "postgres://"]
    static let schemaKey = "stratus_schema"
    private static let defaultConnectSeconds = 5.0

    init(parsing text: String, library: Libpq) throws {
        guard Self.isAddress(text) else {
            throw StoreError(.invalidRequest, "An address of PostgreSQL begins with postgresql:// and the host.")
        }
        let parts = AddressParts(text)
        let values = try Self.values(of: parts, library)
        func value(_ key: String) -> String? { values[key]?.given ?? values[key]?.assumed }
        func list(_ key: String) -> [String] {
            (values[key]?.given ?? "").split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        try Self.check(list("port"), parts)
        if let schema = parts.schema, !Self.isSchemaName(schema) {
            throw StoreError(
                .invalidRequest,
                "The schema's name must be small letters, digits and _ only, and not begin with a digit or with pg_.",
                ["schema": schema])
        }
        schema = parts.schema
        libpqText = parts.libpqText
        let secretValues = values.values.filter(\.isSecret).compactMap(\.given).map { [UInt8]($0.utf8) }
        secrets = Secrets(secretValues + parts.rawSecrets)
        let (hosts, addresses, ports) = (list("host"), list("hostaddr"), list("port"))
        endpoints = (0..<max(hosts.count, addresses.count, 1)).map { index in
            func item(_ list: [String]) -> String? {
                let item = list.indices.contains(index) ? list[index] : list.count == 1 ? list[0] : ""
                return item.isEmpty ? nil : item
            }
            return Endpoint(host: item(hosts), address: item(addresses), port: item(ports))
        }
        // Zero means no limit, which is that of the caller.
        let seconds = value("connect_timeout").flatMap { Double($0) } ?? Self.defaultConnectSeconds
        connectSeconds = seconds > 0 ? max(seconds, 2) : .greatestFiniteMagnitude
        let user = value("user") ?? ""
        let places = hosts == [""] ? value("host").map { [$0] } ?? addresses : hosts
        identity = Identity(
            hosts: places, ports: ports == [""] ? [value("port") ?? ""] : ports, service: value("service") ?? "",
            database: value("dbname") ?? user, schema: parts.schema ?? "")
        description = Self.shown(values, endpoints, parts.schema)
    }

    /// A text without the secrets of this address.
    func redacting(_ text: String) -> String { secrets.redacting([UInt8](text.utf8)) }

    private static func isSchemaName(_ name: String) -> Bool {
        guard (1...63).contains(name.utf8.count), let first = name.utf8.first, first == 0x5F || isLetter(first),
            !name.hasPrefix("pg_")  // names of the system
        else { return false }
        return name.utf8.allSatisfy { isLetter($0) || (0x30...0x39).contains($0) || $0 == 0x5F }
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte) }

    /// Refuses what libpq takes for a host or a port because a password was written without percent-encoding.
    private static func check(_ ports: [String], _ parts: AddressParts) throws {
        let areNumbers = ports.allSatisfy { $0.isEmpty || UInt16($0) != nil }
        guard areNumbers, !parts.hasStrayUser else {
            throw StoreError(
                .invalidRequest,
                "The address has a port that is no number, or an @ after the host: percent-encode user and password.")
        }
    }

    private static func shown(
        _ values: [String: ConnectionValue], _ endpoints: [Endpoint], _ schema: String?
    ) -> String {
        var text = schemes[0]
        if let user = values["user"]?.given { text += percentEncoded(user) + "@" }
        text += endpoints.map { endpoint in
            let host = endpoint.host ?? endpoint.address ?? ""
            return (host.contains(":") ? "[\(host)]" : percentEncoded(host)) + (endpoint.port.map { ":\($0)" } ?? "")
        }.joined(separator: ",")
        if let database = values["dbname"]?.given { text += "/" + percentEncoded(database) }
        let placed: Set = ["user", "host", "hostaddr", "port", "dbname"]
        var options = values.filter { !placed.contains($0.key) && !$0.value.isSecret }.compactMap { key, value in
            value.given.map { "\(key)=\(percentEncoded($0))" }
        }.sorted()
        if let schema { options.append("\(schemaKey)=\(schema)") }
        return options.isEmpty ? text : text + "?" + options.joined(separator: "&")
    }

    private static func percentEncoded(_ text: String) -> String {
        var result = ""
        for byte in text.utf8 {
            let character = Character(Unicode.Scalar(byte))
            if byte < 0x80, character.isLetter || character.isNumber || "-._~".contains(character) {
                result.append(character)
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                result += "%" + (digits.count == 1 ? "0" + digits : digits)
            }
        }
        return result
    }
}

/// A value of an address, and the one that holds where the address has none.
private struct ConnectionValue {
    var given: String?
    var assumed: String?
    var isSecret: Bool
}

extension ConnectionInfo {
    /// `PQconninfoOption` is six pointers (keyword, variable, compiled default, value, label, kind) and a number.
    private enum OptionLayout {
        static let stride = 56
        static let keyword = 0
        static let variable = 8
        static let compiled = 16
        static let value = 24
        static let kind = 40
    }

    /// The kind of a value that is not shown.
    private static let secretKind: UInt8 = 0x2A  // *

    private static func values(of parts: AddressParts, _ library: Libpq) throws -> [String: ConnectionValue] {
        let symbols = library.symbols
        var message: UnsafeMutablePointer<CChar>?
        guard let list = unsafe symbols.conninfoParse(parts.libpqText, &message) else {
            let text = unsafe message.map { unsafe [UInt8](String(cString: $0).utf8) } ?? []
            unsafe symbols.freeMemory(message)
            throw StoreError(
                .invalidRequest,
                "The address of PostgreSQL cannot be read: see the cause, and percent-encode special characters.",
                cause: Secrets(parts.possibleSecrets).redacting(text))
        }
        defer { unsafe symbols.conninfoFree(list) }
        func text(_ entry: Int, _ offset: Int) -> String? {
            let address = entry * OptionLayout.stride + offset
            return unsafe list.load(fromByteOffset: address, as: CString?.self).map { unsafe String(cString: $0) }
        }
        var values: [String: ConnectionValue] = [:]
        var entry = 0
        while let key = text(entry, OptionLayout.keyword) {
            let variable = text(entry, OptionLayout.variable)
            let environment = unsafe variable.flatMap { unsafe getenv($0) }.map { unsafe String(cString: $0) }
            values[key] = ConnectionValue(
                given: text(entry, OptionLayout.value), assumed: environment ?? text(entry, OptionLayout.compiled),
                isSecret: text(entry, OptionLayout.kind)?.utf8.first == secretKind)
            entry += 1
        }
        return values
    }
}

/// The parts of an address that we must find ourselves: our own option, and secrets as they are written.
private struct AddressParts {
    let libpqText: String
    private(set) var schema: String?
    /// User and password as libpq splits them: up to an @ before the first slash.
    private let user: ArraySlice<UInt8>?
    private let rest: ArraySlice<UInt8>
    private let options: [ArraySlice<UInt8>]

    init(_ text: String) {
        let bytes = [UInt8](text.utf8)
        let scheme = ConnectionInfo.schemes.first { text.utf8.starts(with: $0.utf8) } ?? ""
        let body = bytes[scheme.utf8.count...]
        let end = body.firstIndex { $0 == UInt8(ascii: "@") || $0 == UInt8(ascii: "/") }
        if let end, body[end] == UInt8(ascii: "@") {
            user = body[..<end]
            rest = body[(end + 1)...]
        } else {
            user = nil
            rest = body
        }
        let mark = rest.firstIndex(of: UInt8(ascii: "?")) ?? rest.endIndex
        let key = [UInt8](ConnectionInfo.schemaKey.utf8) + [UInt8(ascii: "=")]
        let all = rest[mark...].dropFirst().split(separator: UInt8(ascii: "&"))
        options = all.filter { !$0.starts(with: key) }
        schema = all.last { $0.starts(with: key) }.map { String(decoding: $0.dropFirst(key.count), as: UTF8.self) }
        if all.isEmpty {
            libpqText = text
        } else {
            let kept = options.joined(separator: [UInt8(ascii: "&")])
            let query = options.isEmpty ? [] : [UInt8(ascii: "?")] + kept
            libpqText = String(decoding: bytes[..<mark] + query, as: UTF8.self)
        }
    }

    /// An @ between the user and the options: the password had a slash.
    var hasStrayUser: Bool { rest.prefix { $0 != UInt8(ascii: "?") }.contains(UInt8(ascii: "@")) }

    /// Secrets as they are written in an address that libpq has read.
    var rawSecrets: [[UInt8]] {
        let password = user?.drop { $0 != UInt8(ascii: ":") }.dropFirst()
        return [password.map { [UInt8]($0) } ?? []] + optionSecrets
    }

    private var optionSecrets: [[UInt8]] {
        options.filter { String(decoding: $0, as: UTF8.self).contains("password") }.map {
            [UInt8]($0.drop { $0 != UInt8(ascii: "=") }.dropFirst())
        }
    }

    /// What may be a secret, or a part of one, in an address that libpq cannot read.
    var possibleSecrets: [[UInt8]] {
        let all = (user ?? []) + [UInt8(ascii: "@")] + rest
        let whole = all[..<(all.lastIndex(of: UInt8(ascii: "@")) ?? all.startIndex)]
        let password = whole.drop { $0 != UInt8(ascii: ":") }.dropFirst()
        let pieces = password.split { "/?#@:,&=".utf8.contains($0) }
        return ([password] + pieces).map { [UInt8]($0) } + optionSecrets
    }
}

/// Byte strings that no text may contain.
private struct Secrets: Sendable {
    private static let replacement = [UInt8]("…".utf8)
    private let secrets: [[UInt8]]

    /// Each is looked for as it is and percent-decoded.
    init(_ secrets: [[UInt8]]) {
        let all = Set(secrets + secrets.map(Self.percentDecoded)).filter { !$0.isEmpty }
        self.secrets = all.sorted { $0.count > $1.count }
    }

    func redacting(_ text: [UInt8]) -> String {
        var result: [UInt8] = []
        var position = 0
        while position < text.count {
            if let secret = secrets.first(where: { text[position...].starts(with: $0) }) {
                result += Self.replacement
                position += secret.count
            } else {
                result.append(text[position])
                position += 1
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static func percentDecoded(_ text: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var position = 0
        while position < text.count {
            let digits = text[(position + 1)...].prefix(2)
            if text[position] == UInt8(ascii: "%"), digits.count == 2,
                let byte = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
            {
                result.append(byte)
                position += 3
            } else {
                result.append(text[position])
                position += 1
            }
        }
        return result
    }
}
