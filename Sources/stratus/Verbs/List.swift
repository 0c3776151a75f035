// stratus ls, stratus path and stratus children: the neighbours of a record in the hierarchy.

import ArgumentParser
import StratusModel
import StratusRecords

struct List: PlaceCommand {
    static let configuration = CommandConfiguration(
        commandName: "ls",
        abstract: "Lists the records directly below a record.",
        discussion: """
            '/' lists the records without a parent; this scans every record of the zone. With --as the verb lists what \
            the person sees; in another person's zone that begins at the roots of shares.

            --json: one line per record: {"record","name","type","parent","share","hasChildren","size","modified","target"}

            Example: stratus ls /share/doc --store ./store
            """)

    @Argument(help: RecordArgument.help)
    var record = RecordArgument(path: "/")

    @Flag(help: "Show record names instead of labels.")
    var names = false

    @OptionGroup var store: StoreArguments
    @OptionGroup var zone: ZoneArguments
    @OptionGroup var acting: ActingArguments

    func run() throws {
        try StoreSession.with(store.at(record.place), acting.opening) { session, console in
            try session.read(zone, acting) { try list($0, $1, console) }
        }
    }

    /// Lists the records that the person sees.
    func list(_ zone: ZoneReader, _ sight: Sight, _ console: Console) throws {
        let parent = record.isTop ? nil : try zone.resolve(record, sight, console)
        // A growing list shows progress, unless the person sees little of it.
        let looked = sight.isWhole ? nil : try LookCounter("looking", of: zone, on: console)
        try zone.visitSeen(below: parent, sight, looking: { looked?.add() }) { child in
            guard let line = try RecordLine(child, zone) else { return }
            let label = names ? VisibleText.of(child.name.text) : line.label(console)
            try console.line(line.columns(console) + label)
            try console.object(line.object)
        }
    }
}

struct ShowPath: PlaceCommand {
    static let configuration = CommandConfiguration(
        commandName: "path",
        abstract: "Shows the records above a record, and the share it is in.",
        discussion: """
            --json: {"record","path","chain":[{"record","name","shareRoot"}],"share":{"root","share"}}; the chain goes \
            from the record without a parent down to the record; share is null if the record is in none.

            Example: stratus path /share/doc/README --store ./store
            """)

    @Argument(help: RecordArgument.help)
    var record: RecordArgument

    @OptionGroup var store: StoreArguments
    @OptionGroup var zone: ZoneArguments
    @OptionGroup var acting: ActingArguments

    func run() throws {
        try StoreSession.with(store.at(record.place), acting.opening) { session, console in
            let chain = try session.read(zone, acting) { zone, sight in
                try ParentChain(of: zone.resolve(record, sight, console), zone, sight)
            }
            for line in chain.lines(console) { try console.line(line) }
            try console.object(chain.object)
        }
    }
}

struct Children: PlaceCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists the names of the records below a record.",
        discussion: """
            The verb reads no records: the names come from the index of children, in its order. --count prints only \
            their number.

            --json: one line per record: {"record","parent","hasChildren"}; with --count {"record","children"}

            Example: stratus children /share/doc --recursive --count --store ./store
            """)

    @Argument(help: RecordArgument.help)
    var record = RecordArgument(path: "/")

    @Flag(name: .shortAndLong, help: "Include all levels.")
    var recursive = false

    @Flag(help: "Print only the number of records.")
    var count = false

    @OptionGroup var store: StoreArguments
    @OptionGroup var zone: ZoneArguments
    @OptionGroup var acting: ActingArguments

    func run() throws {
        try StoreSession.with(store.at(record.place), acting.opening) { session, console in
            let found = try session.read(zone, acting) { try list($0, $1, console) }
            guard count else { return }
            try console.line(Quantities.count(found))
            try console.object(["record": record.text, "children": found])
        }
    }

    /// Lists the records that the person sees. Returns their number.
    func list(_ zone: ZoneReader, _ sight: Sight, _ console: Console) throws -> Int {
        let parent = record.isTop ? nil : try zone.resolve(record, sight, console)
        // A growing list shows progress, unless the person sees little of it.
        let looked =
            count || !sight.isWhole ? try LookCounter(count ? "counting" : "looking", of: zone, on: console) : nil
        var found = 0
        let deepest = recursive ? Int.max : 0
        try zone.visitAllSeen(below: parent, sight, deepest: deepest, looking: { looked?.add() }) { child, parent, _ in
            found += 1
            if count { return }
            try console.line(VisibleText.of(child.name.text))
            try console.object(["record": child.name.text, "parent": parent?.text, "hasChildren": child.hasChildren])
        }
        return found
    }
}
