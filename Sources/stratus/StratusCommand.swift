// The tool: its verbs, its help, the checks before the parser, and how every error ends the process.

import ArgumentParser
import FoundationEssentials
import StratusKit
import StratusRecords

struct StratusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stratus",
        abstract: "Inspects and changes a Stratus store.",
        discussion: """
            Addresses: 'stratus help addresses' explains how to name people, databases, zones and records.

            JSON: with --json every line of standard output is one JSON object with stable keys; the help of each verb \
            lists them. An error is one line {"error":{"code","message","fields","cause","refusals","exitCode"}} on \
            standard error.

            Live stores: reading verbs work while another process has the store open. They read a private copy that \
            shares the store's files, and print its date on standard error, or with --json as "asOf" in every object. \
            A store whose snapshots end early is read over several moments: "asOf" and "asOfEnd" are the first and the \
            last of them. \
            Copies are in the directory \(LiveCopy.folderVariable), or else in the first of TMPDIR, /tmp, /var/tmp and \
            the user's cache that is on the store's file system; if none is, tables are copied. The store's directory \
            is never written. Writing verbs go through the process that has the store if it serves a socket \
            (Stratus.Options.servesTool); otherwise, and always for import, reset, migrate, restore and demo, they \
            fail and name that process.

            Rights: --as PERSON reads or writes with the rights of that person; without it, the database's owner acts. \
            Verbs about whole stores, accounts and schemas act for the host, without access rules.

            Deletions: a verb that removes something asks on a terminal, needs --force without one, and prints with \
            --dry-run what it would do.

            Rules: 'stratus rule S-05' shows the text of a rule whose number a message cites.

            Exit codes:
            \(ExitStatus.allCases.map { "  \($0.rawValue)  \($0.meaning)" }.joined(separator: "\n"))

            Example: stratus import-tree /usr/share --store ./store && stratus ls /share --store ./store
            """,
        // Only the store's format decides whether the tool can open it.
        version: "stratus \(Stratus.version), for stores of format \(StoreFormat.number)",
        groupedSubcommands: [
            CommandGroup(
                name: "Stores:",
                subcommands: [
                    Init.self, Stats.self, Report.self, Verify.self, Recover.self, Rebuild.self,
                    RepairLosingDamagedData.self, Migrate.self,
                    Reset.self, Compact.self, Keys.self, Backup.self, Restore.self, CopyStore.self,
                    RenewIncarnations.self, Export.self, Import.self,
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

    /// Parses the arguments, runs the verb, and ends the process with its exit code.
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
        // A verb that throws an exit code has printed the reason.
        if let code = error as? ExitCode { leave(code) }
        if let code = (error as? ToolError)?.code, code == .pipeBroken { StopSignal.endByBrokenPipe() }
        let parserCode = exitCode(for: error)
        if parserCode.isSuccess {
            // The parser throws the help and the version as errors.
            let text = VisibleText.ofLines(fullMessage(for: error)) + "\n"
            do { try Console.write(Array(text.utf8)) } catch { exit(after: error, usesJSON: usesJSON) }
            exit(.success)
        }
        let isUsage = parserCode == .validationFailure
        let report = ErrorReport(isUsage ? ToolError(.usage, message(for: error)) : error)
        if usesJSON {
            Console.note(report.object.jsonText)
        } else if isUsage {
            let text = fullMessage(for: error)
            // Every error of the tool begins in the same way.
            Console.note(text.hasPrefix("Error: ") ? "error: " + text.dropFirst(7) : text)
        } else {
            for line in report.lines { Console.note(line) }
        }
        exit(report.exit)
    }

    private static func exit(_ status: ExitStatus) -> Never { leave(ExitCode(status.rawValue)) }

    private static func leave(_ code: ExitCode) -> Never { StopSignal.unlessEnding { exit(withError: code) } }
}

/// Checks that arguments are UTF-8. Swift replaces other bytes in them, so a path would name another file or store.
private enum ArgumentBytes {
    /// Throws `usage` for arguments that are not UTF-8. `arguments` does not include the program's name.
    static func check(_ arguments: [String]) throws(ToolError) {
        guard let suspect = arguments.first(where: { $0.contains("\u{FFFD}") }) else { return }
        // The first one in the kernel's command line, with its invalid bytes escaped.
        var damaged: String? = suspect
        if let line = try? Disk.contents(of: Array("/proc/self/cmdline".utf8)) {
            damaged = line.split(separator: 0).map(Array.init)
                .first { String(validating: $0, as: UTF8.self) == nil }
                .map { FileName($0).displayText }
        }
        guard let damaged else { return }
        throw ToolError(
            .usage,
            "An argument is not UTF-8: rename the file or directory. To import such a directory, import its parent.",
            ["argument": damaged])
    }
}

/// Reports unknown verbs before the parser takes them for unexpected arguments.
private enum UnknownVerb {
    /// Throws `usage`, with the nearest verb, if the first argument or the one after a group of verbs is not a verb.
    static func check(_ arguments: [String], of root: any ParsableCommand.Type) throws(ToolError) {
        var command = root
        var path: [String] = []
        for argument in arguments.prefix(8) {
            // `help` takes the names of verbs.
            if path.isEmpty, argument == "help" { continue }
            guard !argument.hasPrefix("-") else { return }
            let verbs = command.configuration.subcommands
            guard !verbs.isEmpty else { return }
            let named = verbs.first { ([$0._commandName] + $0.configuration.aliases).contains(argument) }
            guard let verb = named else {
                // The argument may belong to the default verb.
                if takesArguments(command.configuration.defaultSubcommand) { return }
                throw error(argument, after: path, verbs.map { $0._commandName })
            }
            path.append(verb._commandName)
            command = verb
        }
    }

    /// Whether a verb takes arguments other than options.
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
        return ToolError(.usage, "There is no such verb: '\(group) --help' lists all verbs.", fields)
    }
}
