// stratus init and stratus reset: create an empty store, and empty one.

import ArgumentParser
import StratusKit
import StratusLayout
import StratusRecords
import Synchronization

struct Init: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Creates an empty store, and optionally an account.",
        discussion: """
            An existing store stays unchanged. On PostgreSQL, --host-role lets hosts use another role than the one that owns \
            the tables: it gets the privileges that a host needs, also if the store exists.

            --json: {"path","created","account"}; account is null if you named none.

            Example: stratus init --create-account user-17 --store ./store
            Example: stratus init --host-role notes_host --store postgresql://owner@db.example.com/notes
            """)

    @Option(help: ArgumentHelp("Create an account with this host identifier.", valueName: "identifier"))
    var createAccount: String?

    @Option(help: ArgumentHelp("On PostgreSQL: grant this role what a host needs.", valueName: "name"))
    var hostRole: String?

    @OptionGroup var store: WholeStoreArguments

    func run() throws {
        let console = Console(usesJSON: store.json)
        if let hostRole {
            guard case .server(let url) = StoreAddress(parsing: store.store) else {
                throw ToolError(
                    .refused, "A directory has no roles: leave out --host-role, or name a URL.", ["store": store.store])
            }
            _ = try StoreServer.create(url, grantingTo: hostRole)
        }
        let (isNew, account) = try StoreSession.make(
            at: store.store, account: createAccount, mayBeServed: true, showsNotes: !store.json)
        let shown = StoreAddress(parsing: store.store).shown
        try console.line("store \(VisibleText.of(shown)) \(isNew ? "created" : "exists")")
        if let account {
            try console.line("account \(VisibleText.of(createAccount ?? "")), user \(account.userRecordName)")
        }
        try console.object(["path": shown, "created": isNew, "account": account?.id])
        try console.flush()
    }
}

extension StoreSession {
    /// Creates a store if there is none, and an account if none has the identifier. Returns whether the store is new.
    /// With `mayBeServed`, a process that has the store open creates the account.
    static func make(
        at place: String, account externalID: String?, mayBeServed: Bool, showsNotes: Bool = false
    ) throws -> (isNew: Bool, Stratus.Account?) {
        let address = StoreAddress(parsing: place)
        let isNew =
            switch address {
            case .directory(let path): !OpenedStore.holdsStore(path)
            case .server(let url): try StoreServer.isMissing(url)
            }
        let opened = try OpenedStore.open(address, mayBeServed ? .creatingAsClient : .creatingForItself)
        do {
            defer { opened.close() }
            opened.showNotes(usesJSON: !showsNotes)
            return (
                isNew, try externalID.flatMap { try opened.host?.account(externalID: $0, createIfMissing: .init()) }
            )
        } catch {
            // A refused account leaves no store behind.
            if isNew, case .directory(let path) = address { _ = StoreFiles.removeMade(path) }
            throw error
        }
    }
}

struct Reset: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Deletes everything in a store: accounts, records and assets.",
        discussion: """
            The emptied store refuses change tokens and records that clients have from before. The verb empties the \
            store in place, completely or not at all: if it is interrupted, the next verb that opens the store \
            finishes it.

            --json: {"path","accounts","zones","records"}; with --dry-run {"dryRun","would",…}

            Example: stratus reset --dry-run --store ./store
            """)

    @OptionGroup var deed: DeedArguments
    @OptionGroup var store: WholeStoreArguments

    /// Whether the removal of the old store's files has begun.
    private static let isRemoving = Mutex(false)

    func run() throws {
        try StoreSession.with(store, .owningAsClient) { session, console in
            let accounts = try session.engine.read { try $0.entryCount(in: GlobalKeys.keyspace(.accounts)) }
            let (_, zones, records) = try session.placeAndRecordCount
            let object: JSONObject = ["path": session.path, "accounts": accounts, "zones": zones, "records": records]
            let what =
                "\(Quantities.count(accounts, "account")), \(Quantities.count(zones, "zone")), "
                + Quantities.count(records, "record")
            guard try deed.mayDo("empty the store \(session.path): \(what)", object, console) else { return }
            try Self.reset(session, console)
            try console.line("emptied \(VisibleText.of(session.path)): \(what)")
            try console.object(object)
        }
    }

    /// Empties the store. If a signal ends the removal of files, a note says that the next verb finishes it.
    private static func reset(_ session: StoreSession, _ console: Console) throws {
        // Lazy: its clock starts when the first file is removed.
        lazy var progress = ProgressLine("removing files", on: console)
        StopSignal.beforeEnd {
            guard isRemoving.withLock({ $0 }) else { return }
            Console.noteOfSignal("interrupted: the next verb that opens the store finishes emptying it")
        }
        defer { isRemoving.withLock { $0 = false } }
        try session.ownHost.reset {
            isRemoving.withLock { $0 = true }
            progress.update($0, of: $1)
        }
    }
}
