// A hierarchy as an SVG file: the records from left to right, and below them the shares with their participants. Also
// the layout, and the reading of the picture from a store.

import StratusModel
import StratusRecords
import StratusStore

struct TreeSVG {
    private static let margin = 20
    private static let headHeight = 58
    private static let lineHeight = 22
    private static let leastWidth = 640
    private static let reasonableWidth = 900
    /// The position of the name in a line about a person, after the rights.
    private static let nameIndent = 112

    private let picture: TreePicture
    private let layout: TreeLayout

    private init(_ picture: TreePicture) {
        self.picture = picture
        layout = TreeLayout(picture, x: Self.margin, y: Self.headHeight + Self.margin)
    }

    /// The file, as XML.
    static func text(of picture: TreePicture) -> String { TreeSVG(picture).file.markup }

    private var file: Markup {
        let top = Self.headHeight + Self.margin + layout.height + Self.margin
        var y = top
        let shares = self.shares(&y)
        let width = self.width
        let height = y + Self.margin
        return """
            <svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="title summary" width="\(width)" \
            height="\(height)" viewBox="0 0 \(width) \(height)" font-family="\(PictureColours.font)" font-size="13">
            <title id="title">\(picture.title)</title>
            <desc id="summary">\(picture.summary)</desc>
            <style>
            \(PictureColours.svgStyle)</style>
            <rect class="paper" width="\(width)" height="\(height)"/>
            \(head(width: width - 2 * Self.margin))\
            \(links)\(boxes)\(shares)</svg>

            """
    }

    private func head(width: Int) -> Markup {
        // Headings are a sixth larger.
        let title = DisplayText.fitting(picture.title, columns: TreeLayout.columnCount(in: width) * 6 / 7)
        let summary = DisplayText.fitting(picture.summary, columns: TreeLayout.columnCount(in: width))
        return Self.clipped(title, style: "head", x: Self.margin, y: 14, width: width)
            + Self.clipped(summary, style: "soft", x: Self.margin, y: 38, width: width)
    }

    /// Text that is clipped to its room in any font.
    private static func clipped(_ text: String, style: String, x: Int, y: Int, width: Int) -> Markup {
        let style: Markup = style.isEmpty ? "" : " class=\"\(style)\""
        return """
            <svg x="\(x)" y="\(y)" width="\(max(1, width))" height="20"><text\(style) y="15">\(text)</text></svg>

            """
    }

    private var links: Markup {
        var links: Markup = ""
        for box in layout.boxes {
            guard let parent = box.parent.map({ layout.boxes[$0] }) else { continue }
            let (startX, startY) = (parent.x + parent.width, parent.y + TreeLayout.boxHeight / 2)
            let (endX, endY) = (box.x, box.y + TreeLayout.boxHeight / 2)
            let middle = endX - TreeLayout.columnGap / 2
            links += "<path class=\"link\" d=\"M\(startX) \(startY)H\(middle)V\(endY)H\(endX)\"/>\n"
        }
        return links
    }

    private var boxes: Markup {
        var drawn: Markup = ""
        for box in layout.boxes {
            let room = box.width - 2 * TreeLayout.padding
            switch box.content {
            case .fold:
                drawn += """
                    <g>\(Self.rectangle("fold", box))
                    \(Self.clipped(box.text, style: "soft", x: box.x + TreeLayout.padding, y: box.y, width: room))</g>

                    """
            case .node(let index):
                let node = picture.nodes[index]
                let badge = node.share.map { Self.badge($0, x: box.x + box.width - TreeLayout.badgeWidth, y: box.y) }
                let style: Markup = node.share.map { " class=\"\(PictureShare.style($0))\"" } ?? ""
                let textRoom = room - (node.share == nil ? 0 : TreeLayout.badgeWidth)
                drawn += """
                    <g\(style)><title>\(picture.title(of: node))</title>\
                    \(Self.rectangle(node.isRoot ? "box root" : "box", box))
                    \(Self.clipped(box.text, style: "", x: box.x + TreeLayout.padding, y: box.y, width: textRoom))\
                    \(badge ?? "")</g>

                    """
            }
        }
        return drawn
    }

    private static func rectangle(_ style: String, _ box: TreeLayout.Box) -> Markup {
        """
        <rect class="\(style)" x="\(box.x)" y="\(box.y)" width="\(box.width)" height="\(TreeLayout.boxHeight)" rx="4"/>
        """
    }

    private static func badge(_ share: Int, x: Int, y: Int) -> Markup {
        let middle = x + TreeLayout.badgeWidth / 2
        return """
            <rect class="mark" x="\(x)" y="\(y)" width="\(TreeLayout.badgeWidth)" height="\(TreeLayout.boxHeight)" rx="4"/>\
            <text class="on" x="\(middle)" y="\(y + 15)" font-size="12" text-anchor="middle">\
            \(PictureShare.badge(share))</text>
            """
    }

    // MARK: Shares

    private func shares(_ y: inout Int) -> Markup {
        guard !picture.shares.isEmpty else { return "" }
        var drawn: Markup = ""
        line("Shares", style: "head", x: Self.margin, &y, &drawn)
        for (index, share) in picture.drawnShares.enumerated() {
            y += 6
            drawn += """
                <g class="\(PictureShare.style(index))">\(Self.badge(index, x: Self.margin, y: y))
                """
            let x = Self.margin + TreeLayout.badgeWidth + 10
            line(share.line, style: "", x: x, &y, &drawn)
            line("anyone with its URL may: \(share.publicPermission)", style: "soft", x: x, &y, &drawn)
            for person in share.people { draw(person, x: x, &y, &drawn) }
            if share.morePeopleCount > 0 { line(share.morePeopleText, style: "soft", x: x, &y, &drawn) }
            drawn += "</g>\n"
        }
        if let more = picture.moreSharesText {
            line(more, style: "soft", x: Self.margin, &y, &drawn)
        }
        return drawn
    }

    private func line(_ text: String, style: String, x: Int, _ y: inout Int, _ drawn: inout Markup) {
        let room = width - x - Self.margin
        let fitting = DisplayText.fitting(text, columns: TreeLayout.columnCount(in: room))
        drawn += Self.clipped(fitting, style: style, x: x, y: y, width: room)
        y += Self.lineHeight
    }

    /// The width of the records, and of the lines about shares up to a limit.
    private var width: Int {
        let lines = picture.drawnShares.flatMap { share in
            [share.line] + share.people.map { String(repeating: " ", count: 15) + $0.line }
        }
        let longest = lines.map { TreeLayout.textWidth($0) }.max() ?? 0
        let shares = min(Self.reasonableWidth, longest + TreeLayout.badgeWidth + 10 + 2 * Self.margin)
        return max(Self.leastWidth, layout.width + 2 * Self.margin, shares)
    }

    /// Draws the person's rights as a full, dashed or dotted pill with words in it.
    private func draw(_ person: PicturePerson, x: Int, _ y: inout Int, _ drawn: inout Markup) {
        let letters = person.rights == .readWrite ? "on" : "soft"
        drawn += """
            <rect class="pill \(person.rights.style)" x="\(x)" y="\(y + 2)" width="100" height="17" rx="8"/>\
            <text class="\(letters)" x="\(x + 50)" y="\(y + 15)" font-size="12" text-anchor="middle">\
            \(person.rights.words)</text>

            """
        line(person.line, style: "", x: x + Self.nameIndent, &y, &drawn)
    }
}

extension TreePicture {
    /// "1,234 records, 56 of them drawn, as of …".
    var summary: String {
        var summary = Quantities.count(recordCount, "record")
        if nodes.count < recordCount { summary += ", \(Quantities.count(nodes.count)) of them drawn" }
        let count = shares.count + moreShareCount
        summary += count == 0 ? ", no share" : ", \(Quantities.count(count, "share"))"
        return summary + (copyDate.map { ", as of \($0)" } ?? "")
    }

    /// The tooltip of a box.
    func title(of node: PictureNode) -> String {
        var title = "\(node.label) (\(node.type)), record \(DisplayText.of(node.name.text))"
        if let share = node.share {
            title += node.isRoot ? ", root of share \(shares[share].name)" : ", in share \(shares[share].name)"
        }
        return title
    }
}

extension PicturePerson {
    fileprivate var line: String { "\(title)  \(role), \(status)" }
}

extension PictureShare {
    fileprivate var line: String {
        rootLabel.map { "\($0) and all below: share \(name)" } ?? "the whole zone: share \(name)"
    }
}

/// The positions of a picture's records: levels from left to right, reading order from top to bottom, each record in
/// the middle of its children. Boxes never overlap: every leaf has its own row, and every level is as wide as its
/// widest label.
struct TreeLayout {
    /// The content of a box: a node, or the records folded below one (nil: those of the highest level).
    enum Content: Hashable {
        case node(Int)
        case fold(below: Int?)
    }

    struct Box: Hashable {
        var content: Content
        var text: String
        /// The position and width include the badge of a share.
        var x: Int
        var y: Int
        var width: Int
        /// The box above, by its position.
        var parent: Int?
    }

    static let rowHeight = 30
    static let boxHeight = 22
    static let columnGap = 34
    static let padding = 8
    static let badgeWidth = 28
    /// The limit of a label, in cells. The tooltip has the whole label.
    static let labelColumns = 34
    /// The width of a cell in the boxes, in hundredths of a pixel.
    private static let cellWidth = 790

    private(set) var boxes: [Box] = []
    private(set) var width = 0
    private(set) var height = 0

    init(_ picture: TreePicture, x: Int, y: Int) {
        place(picture)
        setColumns(from: x)
        setRows(from: y)
    }

    /// Creates the boxes, parents before children. `x` is the level until the columns are known.
    private mutating func place(_ picture: TreePicture) {
        var positions: [Int] = []
        /// Nodes whose fold follows their last child: the innermost last.
        var open: [Int] = []
        func close(_ boxes: inout [Box], downTo level: Int) {
            while let node = open.last, picture.nodes[node].level >= level {
                open.removeLast()
                guard let text = picture.foldText(below: node) else { continue }
                let level = picture.nodes[node].level + 1
                boxes.append(Self.box(.fold(below: node), text, level: level, parent: positions[node]))
            }
        }
        for (index, node) in picture.nodes.enumerated() {
            close(&boxes, downTo: node.level)
            positions.append(boxes.count)
            let text = DisplayText.fitting(node.label, columns: Self.labelColumns)
            var box = Self.box(.node(index), text, level: node.level, parent: node.parent.map { positions[$0] })
            if node.share != nil { box.width += Self.badgeWidth }
            boxes.append(box)
            open.append(index)
        }
        close(&boxes, downTo: 0)
        guard let text = picture.foldText(below: nil) else { return }
        boxes.append(Self.box(.fold(below: nil), text, level: 0, parent: nil))
    }

    private static func box(_ content: Content, _ text: String, level: Int, parent: Int?) -> Box {
        Box(content: content, text: text, x: level, y: 0, width: textWidth(text) + 2 * padding, parent: parent)
    }

    static func textWidth(_ text: String) -> Int { (DisplayText.columnCount(of: text) * cellWidth + 99) / 100 }

    /// The number of cells in a width in pixels.
    static func columnCount(in width: Int) -> Int { max(1, width * 100 / cellWidth) }

    private mutating func setColumns(from start: Int) {
        var widths: [Int] = []
        for box in boxes {
            while widths.count <= box.x { widths.append(0) }
            widths[box.x] = max(widths[box.x], box.width)
        }
        var starts: [Int] = []
        var x = start
        for width in widths {
            starts.append(x)
            x += width + Self.columnGap
        }
        for index in boxes.indices { boxes[index].x = starts[boxes[index].x] }
        width = max(0, x - Self.columnGap - start)
    }

    /// Leaves get the rows in order; a parent is between its first and its last child.
    private mutating func setRows(from start: Int) {
        var spans = [(first: Int, last: Int)?](repeating: nil, count: boxes.count)
        let leafCount = boxes.count - Set(boxes.compactMap(\.parent)).count
        height = leafCount * Self.rowHeight
        var bottom = start + height
        // Children follow their parents, so in reverse order every child is placed before its parent.
        for index in boxes.indices.reversed() {
            if spans[index] == nil { bottom -= Self.rowHeight }
            let y = spans[index].map { ($0.first + $0.last) / 2 } ?? bottom
            boxes[index].y = y
            guard let parent = boxes[index].parent else { continue }
            spans[parent] = spans[parent].map { (min($0.first, y), max($0.last, y)) } ?? (y, y)
        }
    }
}

/// Reads a picture of a zone, or of a record and everything below it, as a person sees it.
struct TreePainter {
    /// The limit of shares whose roots are not drawn.
    private static let otherShareCount = 20

    let session: StoreSession
    let zone: ZoneID
    let limits: PictureLimits

    /// The progress shows the examined records and the zone's total: the number of records below a record is unknown.
    ///
    /// Throws `unknownZone`, and `notFound` if the record does not exist or is not visible.
    func picture(of address: RecordArgument, _ sight: Sight, _ console: Console) throws -> TreePicture {
        try session.engine.read(.wholeStore) { reader in
            let found = try reader.knownZone(zone)
            let source = ZonePictures(zone: found, sight: sight)
            let shares = SharePictures(zone: found, sight: sight, reader: reader)
            let root = try address.isTop ? nil : found.child(found.resolve(address, sight, console))
            let bound = try found.recordBound()
            let progress = ProgressLine("counting", on: console)
            var folder = TreeFolder(source, limits) { progress.update("records", $0, ofAtMost: bound) }
            let folded = try folder.fold(from: root)
            let owner = try session.owner(of: zone.database, in: reader)
            var picture = TreePicture(
                title: PlaceAddress(zone.database, ownedBy: sight.isWhole ? owner : nil, zone: zone.name).text,
                copyDate: session.copyDate.map { Quantities.date($0) + " UTC" }, nodes: folded.nodes,
                fold: folded.fold, shares: [])
            // First find the drawn shares, then count all.
            func lookingAtShares() -> LookCounter { LookCounter { progress.update("shares", $0, ofAtMost: bound) } }
            try addShares(
                named: folded.shares, above: root?.name, to: &picture, shares, sight, looking: lookingAtShares().add)
            if address.isTop {
                let shareCount = try source.shareCount(looking: lookingAtShares().add)
                picture.moreShareCount = max(0, shareCount - picture.shares.count)
            }
            return picture
        }
    }

    /// Adds the shares of the nodes first, so that their numbers stay; then the share that covers everything drawn, or
    /// the zone.
    private func addShares(
        named names: [RecordName], above root: RecordName?, to picture: inout TreePicture, _ shares: SharePictures,
        _ sight: Sight, looking: () -> Void
    ) throws {
        for name in names {
            // A root may name a share that has no record: draw it without participants.
            let unknown = PictureShare(
                name: DisplayText.of(name.text), rootLabel: nil, publicPermission: "unknown", people: [])
            picture.shares.append(try shares.share(name) ?? unknown)
        }
        var covering = try root.flatMap { try shares.zone.shareMembership(of: $0)?.share }
        if let known = covering, names.contains(known) { covering = nil }
        for name in [covering, ShareContent.zoneWideName].compactMap({ $0 }) {
            guard try sight.sees(name), let share = try shares.share(name) else { continue }
            for index in picture.nodes.indices where picture.nodes[index].share == nil {
                picture.nodes[index].share = picture.shares.count
            }
            picture.shares.append(share)
        }
        guard root == nil, picture.shares.count < Self.otherShareCount else { return }
        var known = Set(names)
        known.insert(ShareContent.zoneWideName)
        try shares.zone.visitShareNames(looking: looking) { name in
            guard picture.shares.count < Self.otherShareCount else { return .stop }
            if try !known.contains(name) && sight.sees(name), let share = try shares.share(name) {
                picture.shares.append(share)
            }
            return .next
        }
    }
}
