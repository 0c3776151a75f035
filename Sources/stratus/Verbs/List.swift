// stratus ls: what lies directly below a record.

import ArgumentParser
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

struct List: PlaceCommand {
    static let configuration = CommandConfiguration(
        commandName: "ls",
        abstract: "Lists the records directly below a record.",
        discussion: """
            '/' lists the records that have no parent; finding them looks at every record of the zone. With --as it lists \
            what the person sees: of another's zone the roots of what is shared.

            --json: one line a record: {"record","name","type","parent","share","hasChildren","size","modified","target"}

            Example: stratus ls /share/doc --store ./store
            """)

    @Argument(help: RecordArgument.help)
    var record = RecordArgument(path: "/")

    @Flag(help: "Show record names instead of labels.")
    var names = false

    @OptionGroup var place: PlaceArguments

    func run() throws {
        try StoreSession.with(store.at(record.place), acting.opening) { session, console in
            try session.read(zone, acting) { try list($0, $1, console) }
        }
    }

    /// Shows what is seen.
    func list(_ zone: ZoneReader, _ sight: Sight, _ console: Console) throws {
        let parent = record.isTop ? nil : try zone.resolve(record, sight, console)
        let progress = ProgressLine("looking", total: nil, on: console)
        defer { progress.finish() }
        // A list tells by itself that something is going on, unless little of it is seen.
        let looked = sight.isWhole ? nil : try LookCounter(progress, of: zone)
        try zone.visitSeen(below: parent, sight, looking: { looked?.add() }) { child in
            guard let line = try RecordLine(child, zone) else { return .next }
            let label = names ? VisibleText.of(child.name.text) : line.label(console)
            try console.line(line.columns(console) + label)
            try console.object(line.object)
            return .next
        }
    }
}

// stratus path: the records above a record, and the share it is in.

struct Path: PlaceCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows the records above a record, and the share it is in.",
        discussion: """
            --json: {"record","path","chain":[{"record","name","shareRoot"}],"share":{"root","share"}}; the chain goes \
            from the record without parent down to the record, and share is null where it is in none.

            Example: stratus path /share/doc/README --store ./store
            """)

    @Argument(help: RecordArgument.help)
    var record: RecordArgument

    @OptionGroup var place: PlaceArguments

    func run() throws {
        let console = Console(usesJSON: store.json)
        let chain = try StoreSession.with(store.at(record.place), acting.opening) { session in
            return try session.read(zone, acting) { zone, sight in
                try ParentChain(of: zone.resolve(record, sight, console), zone, sight)
            }
        }
        for line in chain.lines(console) { try console.line(line) }
        try console.object(chain.object)
        try console.flush()
    }
}

// stratus children: the names of the records below a record.

struct Children: PlaceCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists the record names of what lies below a record.",
        discussion: """
            No record is read: names come from the index of children, in their order. --count tells only how many there are.

            --json: one line a record: {"record","parent","hasChildren"}; with --count {"record","children"}

            Example: stratus children /share/doc --recursive --count --store ./store
            """)

    @Argument(help: RecordArgument.help)
    var record = RecordArgument(path: "/")

    @Flag(name: .shortAndLong, help: "Go down to the leaves.")
    var recursive = false

    @Flag(help: "Tell only how many there are.")
    var count = false

    @OptionGroup var place: PlaceArguments

    func run() throws {
        let console = Console(usesJSON: store.json)
        let found = try StoreSession.with(store.at(record.place), acting.opening) { session in
            return try session.read(zone, acting) { try list($0, $1, console) }
        }
        if count {
            try console.line(Quantities.count(found))
            try console.object(["record": .string(record.text), "children": JSONValue(found)])
        }
        try console.flush()
    }

    /// Shows what is seen. Returns how many records that are.
    func list(_ zone: ZoneReader, _ sight: Sight, _ console: Console) throws -> Int {
        let parent = record.isTop ? nil : try zone.resolve(record, sight, console)
        let progress = ProgressLine(count ? "counting" : "looking", total: nil, on: console)
        defer { progress.finish() }
        // A list tells by itself that something is going on, unless little of it is seen.
        let looked = count || !sight.isWhole ? try LookCounter(progress, of: zone) : nil
        var found = 0
        if recursive {
            try zone.visitAllSeen(below: parent, sight, looking: { looked?.add() }) { child, parent in
                found += 1
                try show(child, below: parent, console)
            }
            return found
        }
        try zone.visitSeen(below: parent, sight, looking: { looked?.add() }) { child in
            found += 1
            try show(child, below: parent, console)
            return .next
        }
        return found
    }

    private func show(_ child: Child, below parent: RecordName?, _ console: Console) throws {
        if count { return }
        try console.line(VisibleText.of(child.name.text))
        try console.object([
            "record": .string(child.name.text), "parent": JSONValue(parent?.text),
            "hasChildren": .boolean(child.hasChildren),
        ])
    }
}
