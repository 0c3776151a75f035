// The tool as a whole: its verbs, its help, and how every error ends the process.

import ArgumentParser
import FoundationEssentials
import StratusKit
import StratusRecords

struct StratusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stratus",
        abstract: "Looks into a Stratus store and works on it.",
        discussion: """
            Addresses: 'stratus help addresses' says how people, databases, zones and records are named.

            JSON: with --json every line of standard output is one JSON object with keys that do not change; the help of \
            a verb lists them. An error is one line {"error":{"code","message","fields","cause","refusals","exitCode"}} \
            on standard error.

            Live stores: verbs that only read work while another process has the store open. They read a copy of their own, \
            which shares the store's files, and say as of when it is: on standard error, with --json as "asOf" in every \
            object. Copies lie in \(LiveCopy.folderVariable), else in the first of TMPDIR, /tmp, /var/tmp and the user's \
            cache that is on the store's file system; where none is, tables are copied. Nothing is written into the \
            store's directory. Verbs that write go through the process that has the store, where it serves a socket \
            (Stratus.Options.servesTool), else they name it; so do import, reset, migrate, restore and demo always.

            Whose rights: --as PERSON reads or writes with the rights of that person, else it is the database's owner who \
            does. Verbs about whole stores, accounts and schemas are the host's own and have none.

            Deletions: a verb that takes something away asks on a terminal, needs --force where nobody can be asked, and \
            says with --dry-run what it would do.

            Rules: 'stratus rule S-05' shows the text of a rule that a message names by its number.

            Exit codes:
            \(ExitStatus.allCases.map { "  \($0.rawValue)  \($0.meaning)" }.joined(separator: "\n"))

            Example: stratus import-tree /usr/share --store ./store && stratus ls /share --store ./store
            """,
        // Whether a tool fits a store is decided by the store's format alone.
        version: "stratus \(Stratus.version), for stores of format \(StoreFormat.number)",
        groupedSubcommands: [
            CommandGroup(
                name: "Stores:",
                subcommands: [
                    Init.self, Stats.self, Report.self, Verify.self, Recover.self, Rebuild.self,
                    RepairLosingDamagedData.self, Migrate.self,
                    Reset.self, Compact.self, Keys.self, Backup.self, Restore.self, Export.self, Import.self,
                ]),
            CommandGroup(
                name: "People and places:",
                subcommands: [Accounts.self, Containers.self, Databases.self, Zones.self, Schema.self]),
            CommandGroup(
                name: "Records:",
                subcommands: [
                    List.self, Tree.self, Get.self, ShowPath.self, Children.self, Query.self, Put.self, Move.self,
                    Remove.self, ImportTree.self,
                ]),
            CommandGroup(
                name: "Sharing:",
                subcommands: [
                    Share.self, Participants.self, Invite.self, Accept.self, Who.self, Explain.self, Audit.self,
                ]),
            CommandGroup(name: "Changes:", subcommands: [Changes.self, Subscriptions.self, Watch.self]),
            CommandGroup(name: "More:", subcommands: [Addresses.self, ShowRule.self, Bench.self, Demo.self]),
        ])

    /// Parses the arguments, runs the verb, and ends the process with the code of what came of it.
    static func run(arguments: [String]) -> Never {
        do {
            try ArgumentBytes.check(arguments)
            try UnknownVerb.check(arguments, of: Self.self)
            var command = try parseAsRoot(arguments)
            MappedTables.keepSmall()
            try command.run()
        } catch {
            StopSignal.waitIfEnding()
            exit(after: error, usesJSON: arguments.contains("--json"))
        }
        exit(.success)
    }

    private static func exit(after error: any Error, usesJSON: Bool) -> Never {
        // A verb that ends with a code has said why in its results.
        if let code = error as? ExitCode { leave(code) }
        if let code = (error as? ToolError)?.code, code == .pipeBroken { StopSignal.endByBrokenPipe() }
        let parserCode = exitCode(for: error)
        if parserCode.isSuccess {
            // Asking for help or the version is an error to the parser.
            print(VisibleText.ofLines(fullMessage(for: error)))
            exit(.success)
        }
        let isUsage = parserCode == .validationFailure
        let report = ErrorReport(isUsage ? ToolError(.usage, message(for: error)) : error)
        if usesJSON {
            Console.note(JSONValue.object(report.object).text)
        } else if isUsage {
            let text = fullMessage(for: error)
            // Every error of the tool begins alike.
            Console.note(text.hasPrefix("Error: ") ? "error: " + text.dropFirst(7) : text)
        } else {
            for line in report.lines { Console.note(line) }
        }
        exit(report.exit)
    }

    private static func exit(_ status: ExitStatus) -> Never { leave(ExitCode(status.rawValue)) }

    private static func leave(_ code: ExitCode) -> Never { StopSignal.unlessEnding { exit(withError: code) } }
}

// The arguments as the shell gave them. Swift hands them out as text, in which bytes that are not UTF-8 are replaced: a
// path then names something else than was meant, and a store would be made there.

enum ArgumentBytes {
    /// Throws `usage` for arguments that are not UTF-8. `arguments` are those behind the program's name.
    static func check(_ arguments: [String]) throws(ToolError) {
        guard let suspect = arguments.first(where: { $0.contains("\u{FFFD}") }) else { return }
        var damaged: String? = suspect
        if let line = try? Disk.contents(of: Array("/proc/self/cmdline".utf8)) {
            damaged = firstDamaged(in: line)
        }
        guard let damaged else { return }
        throw ToolError(
            .usage,
            "An argument is not UTF-8: rename what it names; a directory is imported with the one that holds it, too.",
            ["argument": damaged])
    }

    /// The first argument of a command line, as the kernel lays it out, that is not UTF-8: its bad bytes are escaped.
    private static func firstDamaged(in line: [UInt8]) -> String? {
        line.split(separator: 0).map(Array.init)
            .first { String(validating: $0, as: UTF8.self) == nil }
            .map { FileName($0).displayText }
    }
}

// A verb that there is not: told before the parser takes it for a surplus argument of something else.

enum UnknownVerb {
    /// Throws `usage`, with the nearest verb, where the first argument, or the one behind a verb that only groups others,
    /// should be a verb and is none.
    static func check(_ arguments: [String], of root: any ParsableCommand.Type) throws(ToolError) {
        var command = root
        var path: [String] = []
        for argument in arguments.prefix(8) {
            // `help` takes the names of verbs.
            if path.isEmpty, argument == "help" { continue }
            guard !argument.hasPrefix("-") else { return }
            let verbs = command.configuration.subcommands
            guard !verbs.isEmpty else { return }
            guard let verb = verbs.first(where: { names(of: $0).contains(argument) }) else {
                // The argument may be one of the verb that is meant where none is named.
                if takesArguments(command.configuration.defaultSubcommand) { return }
                throw error(argument, after: path, verbs.map { $0._commandName })
            }
            path.append(verb._commandName)
            command = verb
        }
    }

    private static func names(of verb: any ParsableCommand.Type) -> [String] {
        [verb._commandName] + verb.configuration.aliases
    }

    /// Whether a verb may be followed by anything but options.
    private static func takesArguments(_ verb: (any ParsableCommand.Type)?) -> Bool {
        guard let verb else { return false }
        return Mirror(reflecting: verb.init()).children.contains { child in
            String(describing: type(of: child.value)).hasPrefix("Argument<")
        }
    }

    private static func error(_ name: String, after path: [String], _ verbs: [String]) -> ToolError {
        var fields = ["verb": name]
        let group = (["stratus"] + path).joined(separator: " ")
        if let nearest = NearestName.of(name, among: verbs) { fields["nearest"] = "\(group) \(nearest)" }
        return ToolError(.usage, "No such verb: '\(group) --help' lists those there are.", fields)
    }
}
