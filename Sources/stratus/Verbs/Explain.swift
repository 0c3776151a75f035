// stratus explain and stratus audit: why a person has access to a record, and what happened to shares.

import ArgumentParser
import StratusCloud
import StratusModel
import StratusRecords

struct Explain: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Explains what a person may do with a record, and why.",
        discussion: """
            Shows the records up to the share, the person's participant in it, and the verdict. The output may contain \
            what the person must not see.

            --json: {"user","container","owner","zone","record","exists","chain":[…],"share","root","publicPermission",\
            "relation","participant":{"id","role","permission","status"},"verdict":{"mayRead","mayChange","mayDelete",\
            "mayCreateBelow"},"reasons":[…]}

            Example: stratus explain /share/doc/README --as user-17 --store ./store
            """)

    @Argument(help: RecordArgument.help)
    var record: RecordArgument

    @Option(
        name: .customLong("as"),
        help: ArgumentHelp(
            "The person to explain; user:NAME also works without an account.", valueName: "person"))
    var person: PersonArgument

    @OptionGroup var store: StoreArguments
    @OptionGroup var zone: ZoneArguments

    func run() throws {
        try StoreSession.with(store.at(record.place), .readingAsClient) { session, console in
            let zone = try session.zone(zone)
            let name = try session.read(zone) { try $0.resolve(record, console) }
            let user = try person.plainUserName ?? session.person(person).userName
            let explanation = try session.service.explainAccess(to: name, in: zone, for: user)
            for line in explanation.reasons { try console.line(VisibleText.of(line)) }
            try console.object(explanation.object)
        }
    }
}

extension AccessAnalysis {
    var object: JSONObject {
        [
            "user": user, "container": container, "owner": owner, "zone": zone, "record": record, "exists": exists,
            "chain": chain, "share": share, "root": root, "publicPermission": publicPermission,
            "relation": relation.rawValue,
            "participant": participant.map {
                ["id": $0.id, "role": $0.role, "permission": $0.permission, "status": $0.status] as JSONObject
            },
            "verdict": [
                "mayRead": verdict.mayRead, "mayChange": verdict.mayChange, "mayDelete": verdict.mayDelete,
                "mayCreateBelow": verdict.mayCreateBelow,
            ] as JSONObject,
            "reasons": reasons,
        ]
    }
}

struct Audit: PlaceCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists the events of a zone's shares in order: who did what to whom, and when.",
        discussion: """
            Upkeep keeps the newest 10,000 events of a zone. Only the owner of the zone may see them, so --as accepts \
            only the owner.

            --json: one line per event: {"date","actor","event","share","root","participant","user","handle",\
            "oldPermission","newPermission","oldRole","newRole"}

            Example: stratus audit --zone files --store ./store
            """)

    @Option(help: ArgumentHelp("List only events of this share.", valueName: "name"))
    var share: String?

    @OptionGroup var store: StoreArguments
    @OptionGroup var zone: ZoneArguments
    @OptionGroup var acting: ActingArguments

    func run() throws {
        try StoreSession.with(store, .readingAsClient) { session, console in
            let zone = try session.existingZone(zone)
            try session.requireOwner(
                acting, of: zone, "Only the owner of the zone may see what happened to its shares.")
            var position: ShareEventPosition?
            repeat {
                let page = try session.service.shareEvents(of: zone, after: position)
                try session.engine.read { reader in
                    let people = People(reader: reader)
                    for event in page.events where share.map({ RecordName($0) == event.share }) ?? true {
                        try console.line(ShareSummary.line(of: event, people))
                        try console.object(ShareSummary.object(of: event))
                    }
                }
                position = page.next
            } while position != nil
        }
    }
}
