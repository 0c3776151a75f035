// A hierarchy in Graphviz's language, and as an HTML page.

import StratusModel

/// A hierarchy in Graphviz's language.
struct TreeDOT {
    /// The file: `dot -Tsvg` draws it.
    static func text(of picture: TreePicture) -> String {
        var dot: DOT = """
            digraph stratus {
              graph [rankdir=LR, labelloc=t, fontname="monospace", label=\("\(picture.title): \(picture.summary)")];
              node [shape=box, style=filled, fontname="monospace", fontsize=11, fillcolor="#f6f7f9", color="#5b6675"];
              edge [color="#8b95a5", arrowhead=none];

            """
        for (index, node) in picture.nodes.enumerated() {
            dot += Self.node(node, index, picture)
            if let parent = node.parent { dot += "  n\(parent) -> n\(index);\n" }
        }
        for index in picture.nodes.indices {
            guard let text = picture.foldText(below: index) else { continue }
            dot += Self.fold("f\(index)", text)
            dot += "  n\(index) -> f\(index);\n"
        }
        if let text = picture.foldText(below: nil) { dot += Self.fold("f", text) }
        for (index, share) in picture.drawnShares.enumerated() {
            dot += Self.share(share, index, root: picture.nodes.firstIndex { $0.isRoot && $0.share == index })
        }
        if let more = picture.moreSharesText { dot += Self.fold("s", more) }
        return dot.source + "}\n"
    }

    private static func node(_ node: PictureNode, _ index: Int, _ picture: TreePicture) -> DOT {
        let label = DisplayText.fitting(node.label, columns: TreeLayout.labelColumns)
        let title = picture.title(of: node)
        guard let share = node.share else { return "  n\(index) [label=\(label), tooltip=\(title)];\n" }
        let colour = share % PictureShare.colourCount
        let badge = PictureShare.badge(share)
        return """
              n\(index) [label=\("\(label)  \(badge)"), tooltip=\(title), color=\(PictureColours.light[colour]), \
            fillcolor=\(PictureColours.lightTints[colour]), penwidth=\(node.isRoot ? 3 : 1)];

            """
    }

    private static func fold(_ id: DOT, _ text: String) -> DOT {
        "  \(id) [label=\(text), style=dashed, fontcolor=\"#566173\"];\n"
    }

    private static func share(_ share: PictureShare, _ index: Int, root: Int?) -> DOT {
        let colour = PictureColours.light[index % PictureShare.colourCount]
        let subject = share.rootLabel.map { "of \($0)" } ?? "of the whole zone"
        let lines = [
            "\(PictureShare.badge(index))  \(share.name)", subject, "anyone with its URL: \(share.publicPermission)",
        ]
        var dot: DOT = """
              s\(index) [shape=note, label=\(lines: lines), color=\(colour), fontcolor=\(colour), style=bold];

            """
        if let root { dot += "  n\(root) -> s\(index) [style=bold, color=\(colour)];\n" }
        for (number, person) in share.people.enumerated() {
            let lines = [person.title, "\(person.role), \(person.status)"]
            dot += """
                  p\(index)_\(number) [shape=ellipse, style=solid, label=\(lines: lines)];
                  s\(index) -> p\(index)_\(number) [label=\(person.rights.words), fontname="monospace", fontsize=10, \
                style=\(person.rights.line), color=\(colour)];

                """
        }
        if share.morePeopleCount > 0 {
            dot += Self.fold("p\(index)", share.morePeopleText)
            dot += "  s\(index) -> p\(index);\n"
        }
        return dot
    }
}

extension ParticipantPermission {
    /// The style of the line from a share to a person with the permission.
    fileprivate var line: DOT {
        switch self {
        case .readWrite: "bold"
        case .readOnly: "dashed"
        case .none: "dotted"
        }
    }
}

/// A hierarchy as a page: nested lists that open and close without scripts, also with the keyboard.
struct TreeHTML {
    private let picture: TreePicture
    /// The levels that are open at first.
    private let openLevelCount: Int
    /// The command that shows a folded record; nil if its name cannot be typed.
    private let command: (PictureNode?) -> String?

    static func text(
        of picture: TreePicture, openLevelCount: Int, command: @escaping (PictureNode?) -> String?
    ) -> String {
        let tree = TreeHTML(picture: picture, openLevelCount: openLevelCount, command: command)
        return PageFrame.text(heading: picture.title, body: tree.body)
    }

    private var body: Markup {
        """
        <p>\(picture.summary).</p>
        <h2 id="shares">Shares</h2>
        \(PageFrame.shareTable(picture.shares, moreCount: picture.moreShareCount))\
        <h2 id="records">Records</h2>
        <p class="soft">Open and close records with a click, or with the Tab and Enter keys.</p>
        \(list)
        """
    }

    /// The records, nested by their levels.
    private var list: Markup {
        var list: Markup = "<ul class=\"tree\">\n"
        /// Nodes whose lists are open, the innermost last.
        var open: [Int] = []
        func close(downTo level: Int) {
            while let node = open.last, picture.nodes[node].level >= level {
                open.removeLast()
                list += "\(more(below: node))</ul></details></li>\n"
            }
        }
        for (index, node) in picture.nodes.enumerated() {
            close(downTo: node.level)
            guard picture.hasChildren(index) || !node.fold.isEmpty else {
                list += "<li><span class=\"leaf\">\(label(of: node))</span></li>\n"
                continue
            }
            let isOpen: Markup = node.level < openLevelCount ? " open" : ""
            list += "<li><details\(isOpen)><summary>\(label(of: node))</summary><ul>\n"
            open.append(index)
        }
        close(downTo: 0)
        return "\(list)\(more(below: nil))</ul>\n"
    }

    private func label(of node: PictureNode) -> Markup {
        var label: Markup = node.isRoot ? "<bdi class=\"root\">\(node.label)</bdi>" : PageFrame.name(node.label)
        label += " <span class=\"soft\">\(node.type)</span>"
        guard let share = node.share else { return label }
        label += " \(PageFrame.badge(share))"
        return node.isRoot ? "\(label) <span class=\"soft\">root of the share</span>" : label
    }

    /// The records below a node, or on the highest level, that are not in the list, and the command that shows them.
    private func more(below index: Int?) -> Markup {
        guard let text = picture.foldText(below: index) else { return "" }
        let hint = command(index.map { picture.nodes[$0] }).map { command -> Markup in ": <code>\(command)</code>" }
        return "<li><span class=\"more\">\(text)\(hint ?? "")</span></li>\n"
    }
}
