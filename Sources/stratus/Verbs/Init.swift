// stratus init: an empty store.

import ArgumentParser
import Foundation
import StratusKit
import StratusModel

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

    @OptionGroup var whole: WholeStoreArguments

    private var store: StoreArguments { whole.arguments }

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
