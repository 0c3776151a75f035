// stratus reset: everything in a store is deleted.

import ArgumentParser
import StratusCloud
import StratusKit
import StratusLayout
import StratusModel
import StratusRecords

struct Reset: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Empties a store: accounts, records and assets are gone.",
        discussion: """
            Change tokens and records of clients from before are refused afterwards.

            --json: {"path","accounts","zones","records"}; with --dry-run {"dryRun","would",…}

            Example: stratus reset --dry-run --store ./store
            """)

    @OptionGroup var deed: DeedArguments
    @OptionGroup var whole: WholeStoreArguments

    private var store: StoreArguments { whole.arguments }

    func run() throws {
        let console = Console(usesJSON: store.json)
        try StoreSession.with(store, .owningAsClient) { session in
            let accounts = try Self.accountCount(session)
            let (zones, records) = try session.zoneAndRecordCount
            let object: JSONObject = [
                "path": .string(session.path), "accounts": JSONValue(accounts), "zones": JSONValue(zones),
                "records": JSONValue(records),
            ]
            let what =
                "\(Quantities.count(accounts, "account")), \(Quantities.count(zones, "zone")), "
                + Quantities.count(records, "record")
            guard try deed.mayDo("empty the store \(session.path): \(what)", object, console) else { return }
            try session.ownHost.reset()
            try console.line("emptied \(VisibleText.of(session.path)): \(what)")
            try console.object(object)
        }
        try console.flush()
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
