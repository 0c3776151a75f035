// stratus help addresses: how people, databases, zones and records are named.

import ArgumentParser

struct Addresses: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Says how people, databases, zones and records are named.",
        discussion: """
            Databases: the private database of a person, --owner, in a container, --container; with --public the \
            container's public one. An owner who is named by their user name needs no account any more. --zone names a \
            zone of it. A program of your own finds them by the same names.

            Records: a path of names, as in /share/doc/README, is where a record lies now; a record name, as in \
            share/doc/README, it keeps wherever it is moved. name:TEXT is always a record name.

            Whole addresses: what the options say is said by one word too, wherever a record is named, and by --in for \
            databases and zones:
              db://CONTAINER/PERSON            the private database of a person
              db://CONTAINER/public            the public database
              db://CONTAINER/PERSON/ZONE       a zone
              db://CONTAINER/PERSON/ZONE/a/b   a record by its path
              db://CONTAINER/PERSON/ZONE?NAME  a record by its record name
            In all parts but a record name '%', '/' and '?' are written as %25, %2F and %3F.

            People: the host's identifier, an e-mail address, a telephone number that begins with '+', or a user name that \
            begins with '_'. id:TEXT, email:TEXT, phone:TEXT, user:NAME and account:TEXT are each just that. --as PERSON \
            reads or writes with the rights of that person, in the shared database where another's zone is named.

            --json: the page has none.

            Example: stratus ls db://iCloud.default/alice@example.com/files/share --as bob@example.com --store ./store
            """)

    func run() throws { throw CleanExit.helpRequest(self) }
}

// stratus rule: what a rule says that a message names by its number.

struct Rule: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows the text of rules by their numbers, such as S-05.",
        discussion: """
            Messages, documents and the names of tests cite rules of behaviour by their numbers. Docs/COMPATIBILITY.md lists \
            all of them with the tests that prove them. The rulings (X) decide where CloudKit's own sources disagree or say \
            nothing; they have a short text and a full wording. Upper and lower case are the same.

            --json: one line a rule: {"rule","text","strength"}, where strength is "must", or "choice" where CloudKit leaves \
            the behaviour open; with "wording" for a ruling

            Example: stratus rule S-05 x-04
            """)

    @Argument(help: ArgumentHelp("The numbers of the rules.", valueName: "number"))
    var numbers: [String]

    @Flag(help: "Answer with JSON: one object a line.")
    var json = false

    func run() throws {
        let console = Console(usesJSON: json)
        let rules = BehaviourRule.all()
        // All numbers are looked up before the first text is printed.
        for rule in try numbers.map({ try Self.rule($0, in: rules) }) {
            let choice = rule.isChoice ? " (CloudKit leaves this open: Stratus's choice)" : ""
            try console.line("\(console.styled(rule.number, .bold))  \(rule.text)\(choice)")
            if let wording = rule.wording { try console.line("      \(wording)") }
            var object: JSONObject = [
                "rule": .string(rule.number), "text": .string(rule.text),
                "strength": rule.isChoice ? "choice" : "must",
            ]
            object.add("wording", unlessNil: rule.wording.map { .string($0) })
            try console.object(object)
        }
        try console.flush()
    }

    /// The rule that a text names. Throws `notFound` with the numbers of its family, or with the families.
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
            "No rule has this number. Write a number as messages show it, such as S-05; Docs/COMPATIBILITY.md lists all rules.",
            fields)
    }
}
