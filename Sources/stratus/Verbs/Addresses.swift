// The two verbs that only explain: stratus help addresses, and stratus rule.

import ArgumentParser

struct Addresses: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Explains how to name people, databases, zones and records.",
        discussion: """
            Databases: --owner names the person and --container the container of a private database; --public selects \
            the container's public database. An owner named by user name does not need an account. --zone names the \
            zone. Your own programs use the same names.

            Records: a path of names such as /share/doc/README says where a record is now. A record name such as \
            share/doc/README stays the same when the record moves. name:TEXT is always a record name.

            Whole addresses: one word replaces these options, as the argument for a record, and after --in for a \
            database or a zone:
              db://CONTAINER/PERSON            the private database of a person
              db://CONTAINER/public            the public database
              db://CONTAINER/PERSON/ZONE       a zone
              db://CONTAINER/PERSON/ZONE/a/b   a record by its path
              db://CONTAINER/PERSON/ZONE?NAME  a record by its record name
            Write '%', '/' and '?' as %25, %2F and %3F, except in a record name.

            People: the host's identifier, an e-mail address, a telephone number that begins with '+', or a user name \
            that begins with '_'. Prefix the name with id:, email:, phone:, user: or account: to select one kind. --as \
            PERSON reads or writes with the rights of that person; for another person's zone it uses the shared \
            database.

            --json: this page has no JSON.

            Example: stratus ls db://iCloud.default/alice@example.com/files/share --as bob@example.com --store ./store
            """)

    func run() throws { throw CleanExit.helpRequest(self) }
}

struct ShowRule: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rule",
        abstract: "Shows the text of rules by their numbers, such as S-05.",
        discussion: """
            Messages, documents and test names cite rules of behaviour by number. Docs/COMPATIBILITY.md lists all \
            rules with the tests that prove them. The rulings (X) decide where CloudKit's own sources disagree or are \
            silent; they have a short text and a full wording. Upper and lower case are the same.

            --json: one line per rule: {"rule","text","strength"}, where strength is "must", or "choice" if CloudKit \
            leaves the behaviour open; with "wording" for a ruling

            Example: stratus rule S-05 x-04
            """)

    @Argument(help: ArgumentHelp("The numbers of the rules.", valueName: "number"))
    var numbers: [String]

    @Flag(help: "Print JSON: one object per line.")
    var json = false

    func run() throws {
        let console = Console(usesJSON: json)
        let rules = BehaviourRule.all()
        // Look up all numbers before printing the first text.
        for rule in try numbers.map({ try Self.rule($0, in: rules) }) {
            let choice = rule.isChoice ? " (CloudKit leaves this open: Stratus's choice)" : ""
            try console.line("\(console.styled(rule.number, .bold))  \(rule.text)\(choice)")
            if let wording = rule.wording { try console.line("      \(wording)") }
            try console.object(
                ["rule": rule.number, "text": rule.text, "strength": rule.isChoice ? "choice" : "must"]
                    + JSONObject(unlessNil: ["wording": rule.wording]))
        }
        try console.flush()
    }

    /// The rule with the number in `text`. Throws `notFound` with the numbers of its family, or with all families.
    private static func rule(_ text: String, in rules: [BehaviourRule]) throws -> BehaviourRule {
        let number = BehaviourRule.number(in: text)
        if let rule = rules.first(where: { $0.number == number }) { return rule }
        var fields = ["rule": text]
        let family = rules.filter { $0.family == number.prefix { $0.isLetter } }
        if let first = family.first, let last = family.last {
            fields["numbers"] = "\(first.number) to \(last.number)"
        } else {
            var families: [Substring] = []
            for rule in rules where families.last != rule.family { families.append(rule.family) }
            fields["families"] = families.joined(separator: ", ")
        }
        throw ToolError(
            .notFound,
            "There is no rule with this number. Write it as messages do, for example S-05. Docs/COMPATIBILITY.md lists "
                + "all rules.",
            fields)
    }
}
