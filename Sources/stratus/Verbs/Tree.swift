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
    @OptionGroup var acting: ActingArguments

    func validate() throws {
        if let depth, depth < 0 { throw ValidationError("--depth is below zero.") }
    }

    func run() throws {
        let console = Console(usesJSON: store.json)
        try StoreSession.with(store.at(record.place), acting.opening) { session in
            let id = try session.zone(zone)
            let sight = try session.sight(of: id, acting)
            try session.read(id) { zone in
                if record.isTop {
                    try zone.visitSeen(below: record, sight) { top in
                        try show(top, zone, sight, console)
                        return .next
                    }
                } else {
                    let name = try zone.resolve(record, sight)
                    let hasChildren = try zone.node(name)?.hasChildren ?? false
                    try show(Child(name: name, hasChildren: hasChildren), zone, sight, console)
                }
            }
        }
        try console.flush()
    }

    private func show(_ root: Child, _ zone: ZoneReader, _ sight: Sight, _ console: Console) throws {
        try show(root, level: 0, zone, console)
        if depth == 0 { return }
        try zone.visitSubtree(below: root.name) { child, level in
            guard try sight.sees(child.name) else { return .skipChildren }
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
