// The arguments that every verb shares, so that they are spelled and mean the same everywhere.

import ArgumentParser
import StratusModel

/// Which store, and how to answer.
struct StoreArguments: ParsableArguments {
    @Option(name: .long, help: ArgumentHelp("The store's directory.", valueName: "path"))
    var store: String

    @Option(name: .long, help: ArgumentHelp("The container that the database belongs to.", valueName: "name"))
    var container = "iCloud.default"

    @Option(name: .long, help: ArgumentHelp("The account whose private database it is.", valueName: "external id"))
    var account = "local"

    @Option(name: .long, help: ArgumentHelp("The same by the owner's user name.", valueName: "name"))
    var owner: String?

    @Flag(name: .long, help: "Answer with JSON: one object a line, errors as {\"error\":…} on standard error.")
    var json = false

    /// The database that the verb works in.
    var database: DatabaseChoice { DatabaseChoice(container: container, account: account, owner: owner) }
}

/// Which zone of the database.
struct ZoneArguments: ParsableArguments {
    @Option(name: .long, help: ArgumentHelp("The zone.", valueName: "name"))
    var zone = "files"

    func validate() throws {
        // L-08: only the system's zones begin with an underscore.
        let isWellFormed = (1...255).contains(zone.utf8.count) && zone.utf8.allSatisfy { (0x21..<0x7F).contains($0) }
        guard isWellFormed, !zone.hasPrefix("_") else {
            throw ValidationError(
                "'\(VisibleText.of(zone))' is no zone name: use 1 to 255 visible ASCII characters, the first not '_'.")
        }
    }
}
