// stratus changes: lists what has changed in a zone or a database since a token, as an account's devices would fetch
// it.

import ArgumentParser
import FoundationEssentials
import StratusCloud
import StratusModel

struct Changes: PlaceCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists what has changed in a zone, or which zones have changed, since a token.",
        discussion: """
            Lists what the person's apps would fetch; without --as, the owner's apps. Pass the token of the last line \
            to --since next time. If the store refuses a token, it has expired: start without it. Some old stores, \
            while another process has them open, give no token until that process opens them again. --zones lists \
            zones instead of records. --follow repeats until you interrupt it, and closes the store in between.

            --json: one line per change: \
            {"change","record","zone","owner","type","parent","share","changeTag","modified"}, where change is saved \
            or deleted, or with --zones {"change","zone","owner","reason"}; then {"token","changes"}, where token is \
            null if there is none.

            Example: stratus changes --zone files --as bob@example.com --store ./store
            """)

    @Option(help: ArgumentHelp("List only what has changed since this token.", valueName: "token"))
    var since: String?

    @Flag(help: "List the zones of the database that have changed.")
    var zones = false

    @Flag(help: "Keep listing new changes.")
    var follow = false

    @Option(parsing: .unconditional, help: ArgumentHelp("The time between two fetches.", valueName: "seconds"))
    var interval = 1.0

    @OptionGroup var store: StoreArguments
    @OptionGroup var zone: ZoneArguments
    @OptionGroup var acting: ActingArguments

    func validate() throws {
        guard since.map({ Data(base64Encoded: $0) != nil }) ?? true else {
            throw ValidationError("--since takes a token that 'stratus changes' has printed.")
        }
        guard (0.05...3_600).contains(interval) else {
            throw ValidationError("--interval must be 0.05 to 3600 seconds.")
        }
    }

    func run() throws {
        let console = Console(usesJSON: store.json)
        var token = since.flatMap { Data(base64Encoded: $0) }.map { [UInt8]($0) }
        while true {
            let (count, next) = try StoreSession.with(store, .readingAsClient) { session in
                let (count, next) = try pages(since: token, session, console)
                // A copy of a store without a secret for tokens has a temporary one: its tokens are valid only now.
                let isLasting = try session.copyDate == nil || !session.service.tokenKeeper.hasMadeSecret
                return (count, isLasting ? next : nil)
            }
            if !follow || count > 0 || token == nil {
                let text = next.map { Data($0).base64EncodedString() }
                let shown =
                    text.map { "token \($0)" } ?? "no token: the process that has the store must open it again first"
                try console.line(console.styled("\(Quantities.count(count, "change")), \(shown)", .dim))
                try console.object(["token": text, "changes": count])
            }
            try console.flush()
            token = next
            if !follow { return }
            guard token != nil else {
                throw ToolError(
                    .refused,
                    "The store has no secret for tokens. Only the process that has the store open can create one: let it "
                        + "open the store again.")
            }
            Blocking.sleep(seconds: interval)
        }
    }

    private static let pageCount = 200

    /// Lists everything up to now. Returns the number of changes, and the token for the next time.
    private func pages(
        since token: [UInt8]?, _ session: StoreSession, _ console: Console
    ) throws -> (count: Int, token: [UInt8]) {
        let id = try zones ? session.zone(zone) : session.existingZone(zone)
        let (service, actor) = (try session.service, try session.actor(acting))
        let caller = Caller(container: id.database.container, account: actor.id)
        let (database, address) = id.place(for: actor.userName)
        // A long feed may list little: it skips what the person does not see, and lists a record once however often it
        // was saved. With --follow, waiting is expected.
        let progress = follow || zones ? nil : ProgressLine("looking", on: console)
        var (count, lookCount, token, isMoreComing) = (0, 0, token, true)
        while isMoreComing {
            if zones {
                let request = FetchDatabaseChangesRequest(token: token, limit: Self.pageCount)
                let page = try service.fetchDatabaseChanges(request, as: caller, in: database)
                for zone in page.changed { try show(zone, reason: nil, console) }
                for gone in page.deleted { try show(gone.zone, reason: "\(gone.reason)", console) }
                count += page.changed.count + page.deleted.count
                (token, isMoreComing) = (page.token, page.isMoreComing)
            } else {
                let request = FetchZoneChangesRequest(
                    zone: address, token: token, limit: Self.pageCount, desiredKeys: [])
                let page = try service.fetchZoneChanges(request, as: caller, in: database)
                lookCount += page.lookCount
                for record in page.changed { try show(record, console) }
                for gone in page.deleted { try show(gone, console) }
                count += page.changed.count + page.deleted.count
                (token, isMoreComing) = (page.token, page.isMoreComing)
            }
            try console.flush()
            // After the output, which replaces the progress line.
            progress?.update(lookCount)
        }
        return (count, token ?? [])
    }

    private func show(_ zone: ZoneAddress, reason: String?, _ console: Console) throws {
        let change = reason == nil ? "saved" : "deleted"
        try console.line("\(change)  \(VisibleText.of(zone.zoneName))\(reason.map { "  \($0)" } ?? "")")
        try console.object(["change": change, "zone": zone.zoneName, "owner": zone.ownerName, "reason": reason])
    }

    private func show(_ record: ClientRecord, _ console: Console) throws {
        let name = VisibleText.of(record.address.recordName)
        let date = Quantities.date(record.modificationDate)
        try console.line("saved    \(date)  \(VisibleText.of(record.type))  \(name)")
        try console.object([
            "change": "saved", "record": record.address.recordName, "zone": record.address.zone.zoneName,
            "owner": record.address.zone.ownerName, "type": record.type, "parent": record.parent?.target.recordName,
            "share": record.share?.target.recordName, "changeTag": record.changeTag,
            "modified": Quantities.timestamp(record.modificationDate),
        ])
    }

    private func show(_ gone: RecordDeletion, _ console: Console) throws {
        try console.line(
            console.styled("deleted", .red)
                + "                       \(VisibleText.of(gone.type))  \(VisibleText.of(gone.address.recordName))")
        try console.object([
            "change": "deleted", "record": gone.address.recordName, "zone": gone.address.zone.zoneName,
            "owner": gone.address.zone.ownerName, "type": gone.type,
        ])
    }
}
