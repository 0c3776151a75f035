// stratus children: the names of the records below a record.

import ArgumentParser
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

struct Children: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists the record names of what lies below a record.",
        discussion: """
            No record is read: names come from the index of children, in their order. --count tells only how many there are.

            --json: one line a record: {"record","parent","hasChildren"}; with --count {"record","children"}

            Example: stratus children /share/doc --recursive --count --store ./store
            """)

    @Argument(help: RecordAddress.help)
    var record = RecordAddress(path: "/")

    @Flag(name: .shortAndLong, help: "Go down to the leaves.")
    var recursive = false

    @Flag(help: "Tell only how many there are.")
    var count = false

    @OptionGroup var store: StoreArguments
    @OptionGroup var zone: ZoneArguments
    @OptionGroup var acting: ActingArguments

    func run() throws {
        let console = Console(usesJSON: store.json)
        let found = try StoreSession.with(store.at(record.place), acting.opening) { session in
            let id = try session.zone(zone)
            let sight = try session.sight(of: id, acting)
            return try session.read(id) { try list($0, sight, console) }
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
        let progress = Progress(count ? "counting" : "looking", total: nil, on: console)
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
