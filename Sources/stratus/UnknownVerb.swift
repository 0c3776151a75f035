// A verb that there is not: told before the parser takes it for a surplus argument of something else.

import ArgumentParser

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
