// Stores on a PostgreSQL server, for verbs. This is the only file of the tool that names that engine.

import Foundation
import StratusCloud
import StratusKit
import StratusLayout
import StratusPostgres
import StratusRecords
import StratusStore
import Synchronization

/// Opens stores on a server.
enum StoreServer {
    /// What a server says of a store: see `ServerFigures`.
    struct Figures {
        struct Table {
            let name: String
            let rowCount: Int?
            let byteCount: Int
            let indexByteCount: Int
        }

        let tables: [Table]
        let oldestTransactionSeconds: Double?
        let hiddenConnectionCount: Int

        fileprivate init(_ figures: ServerFigures) {
            tables = figures.tables.map {
                Table(
                    name: $0.name, rowCount: $0.rowCount, byteCount: $0.byteCount, indexByteCount: $0.indexByteCount)
            }
            oldestTransactionSeconds = figures.oldestTransactionSeconds
            hiddenConnectionCount = figures.hiddenConnectionCount
        }
    }

    /// Connections of a verb, which runs on few threads.
    private static let connectionCount = 4
    /// Long enough to find that the host of a lease is dead: a killed verb, or one from before a backup was restored.
    private static let leaseWaitSeconds = 10.0
    private static let openingSeconds = 5.0

    /// Opens the store at a URL as a verb needs it. A verb that reads takes no lease. One that writes as a client does
    /// shares the store with hosts; any other one that writes has it for itself, and fails while a host is there.
    ///
    /// Throws `notAStore` if there is none and `opening` creates none, `held` with the name of a host that is there,
    /// and the server's errors.
    static func open(_ url: String, _ opening: StoreSession.Opening) throws -> OpenedStore {
        if !opening.isReading, opening.wantsFace || opening.mayCreate { return try openHost(url, opening) }
        let (store, notices) = try open(
            url, opening.isReading ? .reading : .alone, createsTables: opening.mayCreate)
        do {
            if opening.isReading { try requireStore(store, url) }
            let reading = ReadingStore(store)
            let engine = try opening.isReading ? engine(on: reading, .kept) : engine(on: store, .refused)
            reading.seal()
            let copies = MemoryDirectories.take()
            let contents = contents(over: engine, copies: copies)
            var opened = OpenedStore(
                engine: engine, files: nil,
                host: opening.isReading ? ReadHost(ReadStore(engine, assets: contents)) : nil)
            opened.contents = contents
            opened.notices = notices
            opened.serverFigures = { Figures(try store.figures()) }
            opened.onClose = {
                // A host of verbs closes the store itself.
                if !opening.isReading { store.close() }
                MemoryDirectories.giveBack(copies)
            }
            return opened
        } catch {
            store.close()
            throw error
        }
    }

    /// Opens the store with CloudKit's API, as a host does, but without upkeep and without a log.
    private static func openHost(_ url: String, _ opening: StoreSession.Opening) throws -> OpenedStore {
        guard try opening.mayCreate || !isMissing(url) else { throw noStore(url) }
        var options = Stratus.Options()
        options.upkeepIntervalSeconds = nil
        options.postgresConnectionCount = connectionCount
        options.leaseWaitSeconds = leaseWaitSeconds
        options.migratesOlderFormat = opening == .migrating
        options.excludesHosts = [.owningAsClient, .migrating, .creatingForItself].contains(opening)
        options.logger = nil
        let notices = Mutex<[String]>([])
        options.onEvent = { event in
            guard event.operation == .openStore, let notice = event.errorMessage else { return }
            notices.withLock { $0.append(notice) }
        }
        let stratus = try Stratus.open(at: url, options: options)
        do {
            let service = try stratus.service
            var opened = OpenedStore(engine: service.engine, files: nil, host: stratus)
            opened.contents = service.assets
            opened.notices = notices.withLock { $0 }.map { note($0, of: url) }
            return opened
        } catch {
            stratus.close()
            throw error
        }
    }

    /// Throws `notAStore` if the tables are empty: a reader does not write the first entries.
    private static func requireStore(_ store: PostgresStore, _ url: String) throws {
        guard try store.read({ try $0.contains(GlobalKeys.format()) }) else { throw noStore(url) }
    }

    private static func noStore(_ url: String) -> StoreError {
        StoreError(
            .notAStore, "There is no store in this database: create one with 'stratus init', or copy one into it.",
            ["server": StoreAddress.server(url: url).shown])
    }

    /// Creates the store at a URL, and gives a role of hosts what it needs. Returns whether the store is new.
    static func create(_ url: String, grantingTo role: String) throws -> Bool {
        try PostgresStore.create(url: url, grantingTo: role)
    }

    /// Whether there is no store at a URL.
    static func isMissing(_ url: String) throws -> Bool { try format(of: url) == nil }

    /// Opens the store at a URL for the copier: what is there may be no store yet, or an unfinished copy. Also
    /// returns the notices for the operator.
    static func openTarget(_ url: String) throws -> (store: any OrderedStore, notices: [String]) {
        try open(url, .alone, createsTables: true)
    }

    /// What an operator should know of the server at a URL.
    private static func note(_ text: String, of url: String) -> String {
        "note: \(VisibleText.of(StoreAddress.server(url: url).shown)): \(VisibleText.of(text))"
    }

    private static func open(
        _ url: String, _ use: StoreUse, createsTables: Bool
    ) throws -> (store: PostgresStore, notices: [String]) {
        let identifiers = RandomIdentifiers()
        var options = PostgresOptions(random: {
            identifiers.makeSecret(byteCount: 8).reduce(0) { $0 << 8 | UInt64($1) }
        })
        options.use = use
        options.pool.connectionCount = connectionCount
        options.createsTables = createsTables
        options.leaseWaitSeconds = leaseWaitSeconds
        options.openingSeconds = openingSeconds
        options.hostName = ProcessInfo.processInfo.hostName
        options.onEvent = { Console.note(note($0.message, of: url)) }
        // A program of a newer version may migrate the store meanwhile.
        let check = FormatCheck(key: GlobalKeys.format()) { value in
            if let value { _ = try FormatEntry(decoding: value.span) }
        }
        let (store, notices) = try PostgresStore.open(url: url, options: options, check: check)
        return (store, notices.map { note($0.message, of: url) })
    }

    /// The contents of assets, which are in the store. Copies for clients are in a temporary directory; without one
    /// there can be none.
    static func contents(over engine: RecordEngine, copies: String = "/proc/none") -> AssetStore {
        AssetStore(directory: copies, session: UUID.drawn(), clock: SystemClock(), engine: engine)
    }

    /// The format of the store at a URL; nil if the database has no store.
    static func format(of url: String) throws -> Int? {
        do {
            let store = try open(url, .reading, createsTables: false).store
            defer { store.close() }
            return try store.read { reader in
                try reader.withValue(forKey: GlobalKeys.format()) { Int(try FormatEntry(decoding: $0).version) }
            }
        } catch let error as StoreError where error.code == .notAStore && error.fields["sqlstate"] == nil {
            // With a code of the server there is no such database.
            return nil
        }
    }

    private static func engine(on store: any OrderedStore, _ olderFormat: OlderFormat) throws -> RecordEngine {
        var options = RecordEngineOptions()
        options.olderFormat = olderFormat
        options.ancestorCacheByteCount = 0
        return try RecordEngine(store: store, options: options, incarnation: UUID.drawn())
    }
}

/// A store on a server that is only read, as the host of verbs.
struct ReadHost: StoreHost {
    private let store: ReadStore

    init(_ store: ReadStore) { self.store = store }

    var service: CloudService { store.service }

    func account(id: String) throws -> Stratus.Account? { try store.account(id: id) }

    func container(_ identifier: String, signedInAs account: Stratus.Account) -> CKContainer {
        store.container(identifier, signedInAs: account)
    }

    func close() { store.close() }

    // MARK: Changes

    private static var refusal: StoreError {
        StoreError(.notPermitted, "The store was opened for reading, and the verb tried to write.")
    }

    func account(externalID: String, createIfMissing account: Stratus.NewAccount) throws -> Stratus.Account {
        throw Self.refusal
    }

    func createAccount(_ account: Stratus.NewAccount, externalID: String?) throws -> Stratus.Account {
        throw Self.refusal
    }

    func setHandles(
        emails: Set<String>, phoneNumbers: Set<String>, of account: Stratus.Account
    ) throws -> Stratus.Account { throw Self.refusal }

    func setStanding(_ standing: Stratus.Standing, of account: Stratus.Account) throws -> Stratus.Account {
        throw Self.refusal
    }

    func deleteAccountWithAllData(_ account: Stratus.Account, progress: FreeingProgress.Listener?) throws {
        throw Self.refusal
    }

    func open(_ url: URL, as account: Stratus.Account) throws -> CKShare.Metadata { throw Self.refusal }

    func importSchema(_ text: String, intoContainer identifier: String) throws { throw Self.refusal }
}
