// A hierarchy as an SVG file: the records from left to right, below them the shares with those who take part.

import StratusModel

struct TreeSVG {
    private static let margin = 20
    private static let headHeight = 58
    private static let lineHeight = 22
    private static let leastWidth = 640
    private static let reasonableWidth = 900
    /// Where in a line about a person the name begins, behind the rights.
    private static let nameIndent = 112
    /// Shares that are drawn below the records.
    private static let shareCount = 24

    private let picture: TreePicture
    private let layout: TreeLayout

    private init(_ picture: TreePicture) {
        self.picture = picture
        layout = TreeLayout(picture, x: Self.margin, y: Self.headHeight + Self.margin)
    }

    /// The file, as XML.
    static func text(of picture: TreePicture) -> String { TreeSVG(picture).file.markup }

    private var file: SVG {
        let top = Self.headHeight + Self.margin + layout.height + Self.margin
        var y = top
        let shares = self.shares(&y)
        let width = self.width
        let height = y + Self.margin
        return """
            <svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="title summary" width="\(width)" \
            height="\(height)" viewBox="0 0 \(width) \(height)" font-family="\(PictureColours.font)" font-size="13">
            <title id="title">\(title)</title>
            <desc id="summary">\(summary)</desc>
            <style>
            \(PictureColours.svgStyle)</style>
            <rect class="paper" width="\(width)" height="\(height)"/>
            \(head(width: width - 2 * Self.margin))\
            \(links)\(boxes)\(shares)</svg>

            """
    }

    private func head(width: Int) -> SVG {
        // Letters of headings are a sixth larger.
        let title = DisplayText.fitting(self.title, columns: TreeLayout.columnCount(in: width) * 6 / 7)
        let summary = DisplayText.fitting(self.summary, columns: TreeLayout.columnCount(in: width))
        return Self.clipped(title, style: "head", x: Self.margin, y: 14, width: width)
            + Self.clipped(summary, style: "soft", x: Self.margin, y: 38, width: width)
    }

    private var title: String { picture.title }
    private var summary: String { picture.summary }

    /// Text that ends where its room ends, whatever the font makes of its letters.
    private static func clipped(_ text: String, style: String, x: Int, y: Int, width: Int) -> SVG {
        let style: SVG = style.isEmpty ? "" : " class=\"\(style)\""
        return """
            <svg x="\(x)" y="\(y)" width="\(max(1, width))" height="20"><text\(style) y="15">\(text)</text></svg>

            """
    }

    private var links: SVG {
        var links: SVG = ""
        for box in layout.boxes {
            guard let parent = box.parent.map({ layout.boxes[$0] }) else { continue }
            let (startX, startY) = (parent.x + parent.width, parent.y + TreeLayout.boxHeight / 2)
            let (endX, endY) = (box.x, box.y + TreeLayout.boxHeight / 2)
            let middle = endX - TreeLayout.columnGap / 2
            links += "<path class=\"link\" d=\"M\(startX) \(startY)H\(middle)V\(endY)H\(endX)\"/>\n"
        }
        return links
    }

    private var boxes: SVG {
        var drawn: SVG = ""
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
                let style: SVG = node.share.map { " class=\"\(PictureShare.style($0))\"" } ?? ""
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

    private static func rectangle(_ style: String, _ box: TreeLayout.Box) -> SVG {
        """
        <rect class="\(style)" x="\(box.x)" y="\(box.y)" width="\(box.width)" height="\(TreeLayout.boxHeight)" rx="4"/>
        """
    }

    private static func badge(_ share: Int, x: Int, y: Int) -> SVG {
        let middle = x + TreeLayout.badgeWidth / 2
        return """
            <rect class="mark" x="\(x)" y="\(y)" width="\(TreeLayout.badgeWidth)" height="\(TreeLayout.boxHeight)" rx="4"/>\
            <text class="on" x="\(middle)" y="\(y + 15)" font-size="12" text-anchor="middle">\
            \(PictureShare.badge(share))</text>
            """
    }

    // MARK: Shares

    private func shares(_ y: inout Int) -> SVG {
        guard !picture.shares.isEmpty else { return "" }
        var drawn: SVG = ""
        line("Shares", style: "head", x: Self.margin, &y, &drawn)
        for (index, share) in picture.shares.prefix(Self.shareCount).enumerated() {
            y += 6
            drawn += """
                <g class="\(PictureShare.style(index))">\(Self.badge(index, x: Self.margin, y: y))
                """
            let x = Self.margin + TreeLayout.badgeWidth + 10
            line(share.line, style: "", x: x, &y, &drawn)
            line("whoever has its URL may: \(share.publicPermission)", style: "soft", x: x, &y, &drawn)
            for person in share.people { draw(person, x: x, &y, &drawn) }
            if share.morePeopleCount > 0 {
                line(
                    "… \(Quantities.count(share.morePeopleCount, "more person", "more people"))", style: "soft", x: x,
                    &y, &drawn)
            }
            drawn += "</g>\n"
        }
        let moreCount = picture.moreShareCount + max(0, picture.shares.count - Self.shareCount)
        if moreCount > 0 {
            line("… \(Quantities.count(moreCount, "more share"))", style: "soft", x: Self.margin, &y, &drawn)
        }
        return drawn
    }

    private func line(_ text: String, style: String, x: Int, _ y: inout Int, _ drawn: inout SVG) {
        let room = width - x - Self.margin
        let fitting = DisplayText.fitting(text, columns: TreeLayout.columnCount(in: room))
        drawn += Self.clipped(fitting, style: style, x: x, y: y, width: room)
        y += Self.lineHeight
    }

    /// As wide as the records need, and the lines about shares as far as that is reasonable.
    private var width: Int {
        let lines = picture.shares.prefix(Self.shareCount).flatMap { share in
            [share.line] + share.people.map { String(repeating: " ", count: 15) + $0.line }
        }
        let longest = lines.map { TreeLayout.textWidth($0) }.max() ?? 0
        let shares = min(Self.reasonableWidth, longest + TreeLayout.badgeWidth + 10 + 2 * Self.margin)
        return max(Self.leastWidth, layout.width + 2 * Self.margin, shares)
    }

    /// What the person may do stands in a pill that is full, dashed or dotted, and in words.
    private func draw(_ person: PicturePerson, x: Int, _ y: inout Int, _ drawn: inout SVG) {
        let (pill, letters) =
            switch person.rights {
            case .readWrite: ("pill full", "on")
            case .readOnly: ("pill half", "soft")
            case .nothing: ("pill none", "soft")
            }
        drawn += """
            <rect class="\(pill)" x="\(x)" y="\(y + 2)" width="100" height="17" rx="8"/>\
            <text class="\(letters)" x="\(x + 50)" y="\(y + 15)" font-size="12" text-anchor="middle">\
            \(person.rights.text)</text>

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

    /// What a box says when it is pointed at.
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
