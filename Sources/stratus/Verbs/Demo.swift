// stratus demo: shows on a real directory tree what the store does, with the cost of every step.

import ArgumentParser
import StratusModel

struct Demo: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Imports a tree, shares, moves and deletes parts of it, and shows the cost of each step.",
        discussion: """
            The demonstration uses its own zone, container and two accounts, and removes them at the end, also when it \
            fails or is interrupted. If it is killed, two accounts with 'of-the-demonstration' in their identifiers \
            remain: remove them with 'stratus accounts delete'.

            --json: one line per step: {"step","records","cost":{…}}, then the line of 'stratus verify'.

            Example: stratus demo /usr/share --store ./demo-store
            """)

    @Argument(help: "The directory to import.", completion: .directory)
    var directory: String

    @OptionGroup var store: WholeStoreArguments

    func run() throws {
        let console = Console(usesJSON: store.json)
        let options = ImportOptions(path: directory)
        _ = try TreeImporter.walker(options)
        let cast = DemoCast()
        let choice = DatabaseChoice(container: cast.container, owner: cast.owner)
        StopSignal.stopAtSafePoints()
        let verification = try StoreSession.with(store, in: choice, .creatingForItself) { session in
            try Demonstration(session, cast, zone: session.zone("demo"), options: options, console).run()
        }
        try verification.show(console)
        guard verification.isClean else { throw ExitCode(ExitStatus.failure.rawValue) }
    }
}
