// stratus audit: what has happened to the shares of a zone, in order.

import ArgumentParser
import StratusCloud
import StratusModel
import StratusRecords

struct Audit: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists what has happened to the shares of a zone, in order: who did what to whom, and when.",
        discussion: """
            Upkeep keeps the newest 10,000 events of a zone. They are the owner's to see, and nobody else's, so \
            that --as takes the owner alone.

            --json: one line an event: {"date","actor","event","share","root","participant","user","handle",\
            "oldPermission","newPermission","oldRole","newRole"}

            Example: stratus audit --zone files --store ./store
            """)

    @Option(help: ArgumentHelp("Only what happened to this share.", valueName: "name"))
    var share: String?

    @OptionGroup var store: StoreArguments
    @OptionGroup var zone: ZoneArguments
    @OptionGroup var acting: ActingArguments

    func run() throws {
        let console = Console(usesJSON: store.json)
        try StoreSession.with(store, .readingAsClient) { session in
            let zone = try session.existingZone(zone)
            try session.requireOwner(
                acting, of: zone, "What happened to shares is told to the owner of the zone alone.")
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
        try console.flush()
    }
}
