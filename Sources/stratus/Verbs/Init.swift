// stratus init: an empty store.

import ArgumentParser
import Foundation
import StratusCloud
import StratusKit
import StratusLayout
import StratusModel
import StratusRecords
import Synchronization

struct Init: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Makes an empty store, with an account if one is named.",
        discussion: """
            A store that is there is left as it is.

            --json: {"path","created","account"}; account is null where none was named.

            Example: stratus init --create-account user-17 --store ./store
            """)

    @Option(help: ArgumentHelp("Make an account with this identifier of the host's.", valueName: "identifier"))
    var createAccount: String?

    @OptionGroup var store: WholeStoreArguments

    func run() throws {
        let console = Console(usesJSON: store.json)
        let (isNew, account) = try StoreSession.make(
            at: store.store, account: createAccount, mayBeServed: true)
        try console.line("store \(VisibleText.of(store.store)) \(isNew ? "made" : "exists")")
        if let account {
            try console.line("account \(VisibleText.of(createAccount ?? "")), user \(account.userRecordName)")
        }
        try console.object([
            "path": .string(store.store), "created": .boolean(isNew), "account": JSONValue(account?.id),
        ])
        try console.flush()
    }
}

extension StoreSession {
    /// Makes a store where there is none, and an account where none has the identifier. Returns whether it was made.
    /// One that another process has is asked for the account where `mayBeServed` says so.
    static func make(
        at path: String, account externalID: String?, mayBeServed: Bool
    ) throws -> (isNew: Bool, Stratus.Account?) {
        let isNew = !OpenedStore.holdsStore(path)
        let opened = try OpenedStore.open(path, mayBeServed ? .creatingAsClient : .creatingForItself)
        defer { opened.close() }
        return (isNew, try externalID.flatMap { try opened.host?.account(externalID: $0, createIfMissing: .init()) })
    }
}

// stratus reset: everything in a store is deleted.

struct Reset: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Empties a store: accounts, records and assets are gone.",
        discussion: """
            Change tokens and records of clients from before are refused afterwards. The store is emptied in its own \
            directory, whole or not at all: if that is interrupted, the next verb that opens the store finishes it.

            --json: {"path","accounts","zones","records"}; with --dry-run {"dryRun","would",…}

            Example: stratus reset --dry-run --store ./store
            """)

    @OptionGroup var deed: DeedArguments
    @OptionGroup var store: WholeStoreArguments

    /// Whether files of what the store was are being removed.
    private static let isRemoving = Mutex(false)

    func run() throws {
        try StoreSession.with(store, .owningAsClient) { session, console in
            let accounts = try Self.accountCount(session)
            let (_, zones, records) = try session.placeAndRecordCount
            let object: JSONObject = [
                "path": .string(session.path), "accounts": JSONValue(accounts), "zones": JSONValue(zones),
                "records": JSONValue(records),
            ]
            let what =
                "\(Quantities.count(accounts, "account")), \(Quantities.count(zones, "zone")), "
                + Quantities.count(records, "record")
            guard try deed.mayDo("empty the store \(session.path): \(what)", object, console) else { return }
            try Self.reset(session, console)
            try console.line("emptied \(VisibleText.of(session.path)): \(what)")
            try console.object(object)
        }
    }

    /// Says where a signal ends the removal of files that the next verb finishes it.
    private static func reset(_ session: StoreSession, _ console: Console) throws {
        // Its clock begins when there are files to remove.
        lazy var progress = ProgressLine("removing files", total: nil, on: console)
        defer { progress.finish() }
        StopSignal.beforeEnd {
            guard isRemoving.withLock({ $0 }) else { return }
            Console.noteOfSignal("interrupted: the next verb that opens the store finishes its emptying")
        }
        defer { isRemoving.withLock { $0 = false } }
        try session.ownHost.reset {
            isRemoving.withLock { $0 = true }
            progress.update($0, of: $1)
        }
    }

    private static func accountCount(_ session: StoreSession) throws -> Int {
        var count = 0
        var last: AccountID?
        repeat {
            let page = try session.service.accounts(after: last)
            count += page.accounts.count
            last = page.next
        } while last != nil
        return count
    }
}
