// stratus recover: has a host reopen its store after a failed write.

import ArgumentParser
import StratusKit

struct Recover: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Has a host open its store again after a failed write.",
        discussion: """
            On a full disk, after an input or output error, or without its volume, a host refuses writes and answers reads \
            until its store is opened again; 'stratus stats' says so. Fix the cause, then run this: the host opens the store \
            in place and goes on. Nothing that was acknowledged is lost. Where no write has failed nothing happens.

            The host must serve its store: Stratus.Options.servesTool. A store without a host needs none of this: any verb \
            opens it.

            --json: {"recovered"}; false where no write had failed.

            Example: stratus recover --store ./store
            """)

    @OptionGroup var whole: WholeStoreArguments

    private var store: StoreArguments { whole.arguments }

    func run() throws {
        let console = Console(usesJSON: store.json)
        try StorePath.require(store.store)
        guard let isReopened = try ServedStore.recover(storeAt: store.store) else {
            throw try StoreFiles.notServed(store.store, "No process has the store open: there is nothing to recover.")
        }
        try console.line(
            isReopened ? "the host has opened the store again, and takes writes" : "no write has failed: nothing to do")
        try console.object(["recovered": .boolean(isReopened)])
        try console.flush()
    }
}
