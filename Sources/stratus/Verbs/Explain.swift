// stratus explain: why somebody may do with a record what they may.

import ArgumentParser
import StratusCloud
import StratusModel

struct Explain: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Explains what somebody may do with a record, and why.",
        discussion: """
            The walk up to the share, the participant that the person is, and the verdict. It tells what the person may \
            not know.

            --json: {"user","container","owner","zone","record","exists","chain":[…],"share","root","publicPermission",\
            "relation","participant":{"id","role","permission","status"},"verdict":{"mayRead","mayChange","mayDelete",\
            "mayCreateBelow"},"reasons":[…]}

            Example: stratus explain /share/doc/README --as user-17 --store ./store
            """)

    @Argument(help: RecordAddress.help)
    var record: RecordAddress

    @Option(
        name: .customLong("as"),
        help: ArgumentHelp("The person who is asked about; user:NAME also for nobody's name.", valueName: "person"))
    var person: PersonAddress

    @OptionGroup var store: StoreArguments
    @OptionGroup var zone: ZoneArguments

    func run() throws {
        let console = Console(usesJSON: store.json)
        let explanation = try StoreSession.with(store.at(record.place), .readingAsClient) { session in
            let zone = try session.zone(zone)
            let name = try session.read(zone) { try $0.resolve(record, console) }
            return try session.service.explainAccess(to: name, in: zone, for: user(in: session))
        }
        for line in explanation.reasons { try console.line(VisibleText.of(line)) }
        try console.object(explanation.object)
        try console.flush()
    }

    private func user(in session: StoreSession) throws -> UserName {
        // Also somebody who has no account may be asked about.
        if case .userName(let name) = person.form { return name }
        return try session.person(person).userName
    }
}

extension AccessExplanation {
    var object: JSONObject {
        [
            "user": .string(user), "container": .string(container), "owner": JSONValue(owner), "zone": .string(zone),
            "record": .string(record), "exists": .boolean(exists), "chain": .array(chain.map { .string($0) }),
            "share": JSONValue(share), "root": JSONValue(root), "publicPermission": JSONValue(publicPermission),
            "relation": .string(relation.rawValue),
            "participant": participant.map {
                .object([
                    "id": .string($0.id), "role": .string($0.role), "permission": .string($0.permission),
                    "status": .string($0.status),
                ])
            } ?? .null,
            "verdict": .object([
                "mayRead": .boolean(verdict.mayRead), "mayChange": .boolean(verdict.mayChange),
                "mayDelete": .boolean(verdict.mayDelete), "mayCreateBelow": .boolean(verdict.mayCreateBelow),
            ]),
            "reasons": .array(reasons.map { .string($0) }),
        ]
    }
}
