// stratus demo: what the engine does with a real tree, with the cost of every step.

import ArgumentParser
import StratusModel

struct Demo: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Imports a tree, shares, moves and deletes in it, and shows what each step cost.",
        discussion: """
            The demonstration works in a zone of its own, named demo, which it makes anew every time.

            --json: one line a step: {"step","records","cost":{…}}, then the line of 'stratus verify'.

            Example: stratus demo /usr/share --store ./demo-store
            """)

    @Argument(help: "The directory to import.")
    var directory: String

    @OptionGroup var store: StoreArguments

    func run() throws {
        let console = Console(usesJSON: store.json)
        let path = AbsolutePath.of(directory)
        let name = path.split(separator: "/").last.map(String.init) ?? "root"
        let options = ImportOptions(directory: Array(path.utf8), topName: FileName(Array(name.utf8)))
        _ = try TreeImporter.walker(options)
        let verification = try StoreSession.with(store, .creatingForItself) { session in
            let zone = try session.zone("demo")
            return try Demonstration(session, zone: zone, options: options, console).run()
        }
        for line in verification.lines() { try console.line(line) }
        try console.object(verification.object)
        try console.flush()
        guard verification.isClean else { throw ExitCode(ExitStatus.failure.rawValue) }
    }
}
