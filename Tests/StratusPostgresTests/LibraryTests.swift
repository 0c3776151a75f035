// Loading libpq, and addresses: what is missing is named, and passwords are not shown.

import Foundation
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusPostgres

/// How far a login is, for a handler of `exit`, which captures nothing.
private enum LoginProbe {
    static let hasBegun = Locked(false)
    static let hasEnded = Locked(false)
}

@Suite struct LibraryTests {
    @Test("a missing library is an error that names the package")
    func missing() {
        let error = #expect(throws: StoreError.self) { try Libpq(loading: ["libpq-that-is-missing.so.5"]) }
        #expect(error?.code == .unavailable)
        #expect(error?.fields["package"] == "libpq5")
        #expect(error?.cause?.contains("libpq-that-is-missing.so.5") == true)
    }

    @Test("a library without a function of libpq is too old")
    func withoutFunctions() {
        let error = #expect(throws: StoreError.self) { try Libpq(loading: ["libm.so.6"]) }
        #expect(error?.code == .unavailable)
        #expect(error?.fields["function"] == "PQlibVersion")
    }

    @Test("the first library that can be loaded is taken", .enabled(if: TestServer.hasLibrary))
    func order() throws {
        let library = try Libpq(loading: ["libpq-that-is-missing.so.5"] + Libpq.names)
        #expect(library.version >= Libpq.oldestVersion)
    }

    @Test("an old library is refused with its version", .enabled(if: TestServer.hasLibrary))
    func old() throws {
        var symbols = try Libpq.shared().symbols
        symbols.libVersion = { 130_012 }
        let error = #expect(throws: StoreError.self) { try Libpq(symbols) }
        #expect(error?.code == .unavailable)
        #expect(error?.fields == ["package": "libpq5", "version": "13.12"])
    }

    @Test("a process ends well while its threads connect to the server", .enabled(if: TestServer.isThere))
    func exitWhileConnecting() async {
        for _ in 0..<2 {
            await #expect(processExitsWith: .success) {
                let info = try TestServer.info()
                let (count, failures) = (Locked(0), Locked(0))
                for _ in 0..<4 {
                    Thread.detachNewThread {
                        while true {
                            let connection = try? TestServer.open(info)
                            connection?.close()
                            (connection == nil ? failures : count).withLock { $0 += 1 }
                        }
                    }
                }
                while count.value < 16, failures.value < 16 { MonotonicTime.pause(seconds: 0.001) }
                exit(failures.value < 16 ? EXIT_SUCCESS : EXIT_FAILURE)
            }
        }
    }

    @Test("while a process ends, logins that run are waited for, and no other one begins")
    func gate() async {
        await #expect(processExitsWith: .success) {
            // It was registered before the gate, so it runs after the gate has closed.
            atexit {
                let isOpen = LoginGate.pass { true } ?? false
                if isOpen || !LoginProbe.hasEnded.value { _exit(EXIT_FAILURE) }
            }
            LoginGate.closeAtExit()
            Thread.detachNewThread {
                _ = LoginGate.pass {
                    LoginProbe.hasBegun.withLock { $0 = true }
                    MonotonicTime.pause(seconds: 0.3)
                    LoginProbe.hasEnded.withLock { $0 = true }
                }
            }
            while !LoginProbe.hasBegun.value { MonotonicTime.pause(seconds: 0.001) }
            exit(EXIT_SUCCESS)
        }
    }

    @Test("libpq 13 has no pipelines, libpq 14 has them")
    func versions() throws {
        let error = #expect(throws: StoreError.self) { try Libpq.check(version: 130_012) }
        #expect(error?.fields["version"] == "13.12")
        try Libpq.check(version: 140_000)
    }
}

@Suite(.enabled(if: TestServer.hasLibrary)) struct ConnectionInfoTests {
    /// Passwords as they are, and as they are written in a URL.
    static let passwords = [
        ("secret", "secret"), ("100%", "100%25"), ("a:b'c@d/e", "a%3Ab'c%40d%2Fe"),
        ("ä\u{301}\"\\", "%C3%A4%CC%81%22%5C"), ("p?q", "p?q"), ("%41", "%2541"),
    ]

    @Test("a password is in no text, neither as it is nor as it was written", arguments: passwords)
    func redaction(password: String, written: String) throws {
        for address in [
            "postgresql://anna:\(written)@db.example:6000/shop",
            "postgresql://anna@db.example:6000/shop?password=\(written)",
        ] {
            let info = try ConnectionInfo(parsing: address)
            #expect(info.description == "postgresql://anna@db.example:6000/shop")
            let redacted = info.redacting("could not use \"\(address)\" with \(password), or \(written)!")
            #expect(!redacted.contains(password))
            #expect(!redacted.contains(written))
            #expect(redacted.hasSuffix("with …, or …!"))
        }
    }

    @Test("a password is in no error about an address that cannot be read", arguments: passwords)
    func unreadable(password: String, written: String) {
        let error = #expect(throws: StoreError.self) {
            try ConnectionInfo(
                parsing: "postgresql://anna:\(written)@db.example:6000/shop?nothing=%zz&unknown=\(written)")
        }
        #expect(error?.code == .invalidRequest)
        #expect(error?.description.contains(written) == false)
    }

    @Test(
        "a password that is not percent-encoded is refused and not shown",
        arguments: ["pa/ss", "12/ss", "x/y@z", "a b/c", "%/1"])
    func notEncoded(password: String) {
        let error = #expect(throws: StoreError.self) {
            try ConnectionInfo(parsing: "postgresql://anna:\(password)@db.example/shop")
        }
        #expect(error?.code == .invalidRequest)
        #expect(error?.description.contains(password) == false)
        #expect(error?.description.contains("ss@") == false)
    }

    @Test("our own option is taken out of what libpq gets")
    func schema() throws {
        let info = try ConnectionInfo(
            parsing: "postgresql://db.example/shop?sslmode=require&stratus_schema=a_1&connect_timeout=9")
        #expect(info.schema == "a_1")
        #expect(info.libpqText == "postgresql://db.example/shop?sslmode=require&connect_timeout=9")
        #expect(info.connectSeconds == 9)
        #expect(try ConnectionInfo(parsing: "postgres://h/d?stratus_schema=a").libpqText == "postgres://h/d")
    }

    @Test(
        "a schema's name that could be more than a name is refused",
        arguments: ["", "A", "a-b", "1a", "a\"", "a%22", "pg_a"])
    func schemaNames(name: String) {
        #expect(throws: StoreError.self) { try ConnectionInfo(parsing: "postgresql://h/d?stratus_schema=\(name)") }
    }

    @Test("several servers are tried in their order, each with its port")
    func servers() throws {
        let info = try ConnectionInfo(parsing: "postgresql://a:1,b:2,[::1]:3/d")
        #expect(info.endpoints.map(\.host) == ["a", "b", "::1"])
        #expect(info.endpoints.map(\.port) == ["1", "2", "3"])
        #expect(info.description == "postgresql://a:1,b:2,[::1]:3/d")
        #expect(try ConnectionInfo(parsing: "postgresql:///d?host=a,b&port=7").endpoints.map(\.port) == ["7", "7"])
        #expect(try ConnectionInfo(parsing: "postgresql:///d").endpoints == [.init()])
    }

    @Test("two addresses are one store if host, port, database and schema are the same")
    func identity() throws {
        func identity(_ text: String) throws -> ConnectionInfo.Identity { try ConnectionInfo(parsing: text).identity }
        let first = try identity("postgresql://anna:1@h:1/d?stratus_schema=s")
        #expect(try identity("postgres://ben:2@h:1/d?stratus_schema=s&sslmode=disable") == first)
        #expect(try identity("postgresql:///d?host=h&port=1&stratus_schema=s") == first)
        for other in ["i:1/d?stratus_schema=s", "h:2/d?stratus_schema=s", "h:1/e?stratus_schema=s", "h:1/d"] {
            #expect(try identity("postgresql://anna:1@\(other)") != first)
        }
        #expect(try identity("postgresql://h/d") == identity("postgresql://h:5432/d"))
    }

    @Test(
        "what does not begin with a scheme of PostgreSQL is no address", arguments: ["/a/b", "postgresql:", "http://h"])
    func paths(text: String) {
        #expect(!ConnectionInfo.isAddress(text))
        #expect(throws: StoreError.self) { try ConnectionInfo(parsing: text) }
    }
}
