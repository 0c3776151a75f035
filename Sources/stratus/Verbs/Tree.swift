// stratus tree: everything below a record, indented.

import ArgumentParser
import StratusModel
import StratusRecords
import StratusStore

struct Tree: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows a record and everything below it.",
        discussion: """
            Parents come before their children. Memory does not grow with the tree.

            --json: one line a record: {"record","name","type","parent","share","hasChildren","size","modified","target",\
            "level"}

            Example: stratus tree /share/doc --depth 2 --store ./store
            """)

    @Argument(help: RecordAddress.help)
    var record = RecordAddress(path: "/")

    @Option(help: ArgumentHelp("Go down so many levels.", valueName: "levels"))
    var depth: Int?

    @OptionGroup var store: StoreArguments
    @OptionGroup var zone: ZoneArguments

    func validate() throws {
        if let depth, depth < 0 { throw ValidationError("--depth is below zero.") }
    }

    func run() throws {
        let console = Console(usesJSON: store.json)
        try StoreSession.with(store, .reading) { session in
            try session.read(session.zone(zone)) { zone in
                if record.isTop {
                    try zone.visitChildrenOrTops(of: nil) { top in
                        try show(top.name, hasChildren: top.hasChildren, zone, console)
                        return .next
                    }
                } else {
                    let name = try zone.resolve(record)
                    try show(name, hasChildren: zone.node(name)?.hasChildren ?? false, zone, console)
                }
            }
        }
        try console.flush()
    }

    private func show(_ root: RecordName, hasChildren: Bool, _ zone: ZoneReader, _ console: Console) throws {
        try show(Child(name: root, hasChildren: hasChildren), level: 0, zone, console)
        if depth == 0 { return }
        try zone.visitSubtree(below: root) { child, level in
            try show(child, level: level, zone, console)
            return depth.map { level >= $0 } == true ? .skipChildren : .next
        }
    }

    private func show(_ child: Child, level: Int, _ zone: ZoneReader, _ console: Console) throws {
        guard let line = try RecordLine(child, zone) else { return }
        try console.line(String(repeating: "  ", count: level) + line.label(console))
        var object = line.object
        object.add("level", JSONValue(level))
        try console.object(object)
    }
}
