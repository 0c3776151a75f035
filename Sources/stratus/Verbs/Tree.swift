// stratus tree: shows everything below a record, as indented text or as a picture.

import ArgumentParser
import StratusModel
import StratusRecords
import StratusStore

struct Tree: PlaceCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows a record and everything below it, as text or as a picture with its shares.",
        discussion: """
            Parents come before their children. Memory use does not grow with the tree.

            --format svg, html and dot draw the records, their shares, the participants and their permissions, in \
            colours and in words. Large trees are folded: the paths to shared records stay, other records are counted, \
            and --nodes limits how many are drawn. An html page is one file, and you can open and close its branches \
            with the keyboard; lay out the dot format with 'dot -Tsvg'. Pictures never contain URLs of shares. With \
            --as the verb draws and counts only what the person sees.

            --json: one line per record: {"record","name","type","parent","share","hasChildren","size","modified","target",\
            "level"}; with --output {"file","format","records","drawn","shares"}.

            Example: stratus tree /share/doc --depth 2 --store ./store
            Example: stratus tree / --format html --output tree.html --store ./store
            """)

    enum Format: String, ExpressibleByArgument, CaseIterable {
        case text
        case svg
        case html
        case dot

        /// The default for --nodes.
        var nodeCount: Int { self == .html ? 2_400 : 160 }
    }

    /// Levels of a page that are open at first.
    private static let openLevelCount = 2

    @Argument(help: RecordArgument.help)
    var record = RecordArgument(path: "/")

    @Option(parsing: .unconditional, help: ArgumentHelp("Show at most this many levels.", valueName: "levels"))
    var depth: Int?

    @Option(help: "The format: text, svg, html or dot.")
    var format = Format.text

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Draw at most this many records, 1 to 20000; the default is 160, and 2400 for html.", valueName: "count"))
    var nodes: Int?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The levels of an html page that are open at first; the default is 2.", valueName: "levels"))
    var open: Int?

    @OptionGroup var target: OutputArguments
    @OptionGroup var store: StoreArguments
    @OptionGroup var zone: ZoneArguments
    @OptionGroup var acting: ActingArguments

    func validate() throws {
        if let depth, depth < 0 { throw ValidationError("--depth must not be negative.") }
        if let open, open < 0 { throw ValidationError("--open must not be negative.") }
        if let nodes, !PictureLimits.nodeCounts.contains(nodes) { throw ValidationError("--nodes must be 1 to 20000.") }
        if open != nil, format != .html { throw ValidationError("--open needs --format html.") }
        if format == .text {
            guard target.output == nil, nodes == nil else {
                throw ValidationError("--output and --nodes need --format svg, html or dot.")
            }
        } else if store.json, target.output == nil {
            throw ValidationError("--json needs --format text or --output, because a picture is not JSON.")
        }
    }

    func run() throws {
        try target.check()
        let console = Console(usesJSON: store.json)
        if format == .text { try list(console) } else { try draw(console) }
        try console.flush()
    }

    // MARK: Pictures

    private func draw(_ console: Console) throws {
        let picture = try StoreSession.with(store.at(record.place), acting.opening) { session in
            let id = try session.zone(zone)
            let sight = try session.sight(of: id, acting)
            let levels = format == .html ? min(depth ?? .max, PictureLimits.pageLevelCount) : depth
            let limits = PictureLimits(nodeCount: nodes ?? format.nodeCount, depth: levels)
            return try TreePainter(session: session, zone: id, limits: limits).picture(of: record, sight, console)
        }
        guard let file = try target.write(text(of: picture), console) else { return }
        try console.line("drew \(picture.summary) to \(VisibleText.of(file))")
        try console.object([
            "file": file, "format": format.rawValue, "records": picture.recordCount, "drawn": picture.nodes.count,
            "shares": picture.shares.count + picture.moreShareCount,
        ])
    }

    private func text(of picture: TreePicture) -> String {
        switch format {
        case .svg: return TreeSVG.text(of: picture)
        case .dot: return TreeDOT.text(of: picture)
        case .html, .text:
            return TreeHTML.text(of: picture, openLevelCount: open ?? Self.openLevelCount) { node in
                command(for: node, in: picture)
            }
        }
    }

    /// The command that draws the folded records below a record; nil if its name cannot be typed in a shell.
    private func command(for node: PictureNode?, in picture: TreePicture) -> String? {
        guard let place = PlaceAddress(argument: picture.title) else { return nil }
        let address = node.map { place.text(of: $0.name) } ?? place.text
        var words = ["stratus", "tree", node == nil ? "/" : address, "--format", "html"]
        if node == nil { words += ["--in", address, "--nodes", "\(PictureLimits.nodeCounts.upperBound)"] }
        if let person = acting.person { words += ["--as", person.text] }
        words += ["--store", StoreAddress(parsing: store.store).shown]
        guard words.allSatisfy({ DisplayText.of($0, limit: 1_000) == $0 }) else { return nil }
        return words.map(Self.quoted).joined(separator: " ")
    }

    private static func quoted(_ word: String) -> String {
        let isPlain = word.utf8.allSatisfy { byte in
            (0x61...0x7A).contains(byte) || (0x40...0x5A).contains(byte) || (0x2C...0x3A).contains(byte) || byte == 0x5F
        }
        if isPlain { return word }
        return "'" + word.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }

    // MARK: Text

    private func list(_ console: Console) throws {
        try StoreSession.with(store.at(record.place), acting.opening) { session in
            try session.read(zone, acting, .wholeStore) { zone, sight in
                // In JSON, `hasChildren` says that --depth hides records.
                guard try list(zone, sight, console), let depth, !store.json else { return }
                try console.flush()
                Console.note("note: records deeper than --depth \(depth) are not shown")
            }
        }
    }

    /// Lists the records that the person sees. Returns whether --depth hides some.
    private func list(_ zone: ZoneReader, _ sight: Sight, _ console: Console) throws -> Bool {
        let root = try record.isTop ? nil : zone.child(zone.resolve(record, sight, console))
        // A growing tree shows progress, unless the person sees little of it.
        let looked = sight.isWhole ? nil : try LookCounter("looking", of: zone, on: console)
        var hidesRecords = false
        func show(_ child: Child, level: Int) throws {
            if level == depth, child.hasChildren { hidesRecords = true }
            guard let line = try RecordLine(child, zone) else { return }
            try console.line(String(repeating: "  ", count: level) + line.label(console))
            try console.object(line.object + ["level": level])
        }
        if let root { try show(root, level: 0) }
        let top = root == nil ? 0 : 1
        let deepest = depth.map { $0 - top } ?? .max
        try zone.visitAllSeen(below: root?.name, sight, deepest: deepest, looking: { looked?.add() }) {
            try show($0, level: top + $2)
        }
        return hidesRecords
    }
}
