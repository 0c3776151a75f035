// A hierarchy as a page: lists in lists that open and close by themselves, with the keyboard too.

struct TreeHTML {
    private let picture: TreePicture
    /// Levels that are open at first.
    private let openLevelCount: Int
    /// How to look into a record that is folded; nil where its name cannot be typed.
    private let command: (PictureNode?) -> String?

    private init(_ picture: TreePicture, openLevelCount: Int, command: @escaping (PictureNode?) -> String?) {
        (self.picture, self.openLevelCount, self.command) = (picture, openLevelCount, command)
    }

    static func text(
        of picture: TreePicture, openLevelCount: Int, command: @escaping (PictureNode?) -> String?
    ) -> String {
        let tree = TreeHTML(picture, openLevelCount: openLevelCount, command: command)
        return PageFrame.text(heading: picture.title, body: tree.body)
    }

    private var body: HTML {
        """
        <p>\(picture.summary).</p>
        <h2 id="shares">Shares</h2>
        \(PageFrame.shareTable(picture.shares, moreCount: picture.moreShareCount))\
        <h2 id="records">Records</h2>
        <p class="soft">Records with others below them open and close: with the Tab and Enter keys too.</p>
        \(list)
        """
    }

    /// The records, nested by their levels.
    private var list: HTML {
        var list: HTML = "<ul class=\"tree\">\n"
        /// Nodes whose lists are open, the innermost last.
        var open: [Int] = []
        func close(downTo level: Int) {
            while let node = open.last, picture.nodes[node].level >= level {
                open.removeLast()
                list += "\(more(of: node))</ul></details></li>\n"
            }
        }
        for (index, node) in picture.nodes.enumerated() {
            close(downTo: node.level)
            let hasChildren = index + 1 < picture.nodes.count && picture.nodes[index + 1].parent == index
            guard hasChildren || !node.fold.isEmpty else {
                list += "<li><span class=\"leaf\">\(label(of: node))</span></li>\n"
                continue
            }
            let isOpen: HTML = node.level < openLevelCount ? " open" : ""
            list += "<li><details\(isOpen)><summary>\(label(of: node))</summary><ul>\n"
            open.append(index)
        }
        close(downTo: 0)
        if !picture.fold.isEmpty {
            let text = picture.fold.text(besideOthers: !picture.nodes.isEmpty)
            list += "<li><span class=\"more\">\(text)\(hint(for: nil))</span></li>\n"
        }
        return list + "</ul>\n"
    }

    private func label(of node: PictureNode) -> HTML {
        var label: HTML = node.isRoot ? "<bdi class=\"root\">\(node.label)</bdi>" : PageFrame.name(node.label)
        label += " <span class=\"soft\">\(node.type)</span>"
        guard let share = node.share else { return label }
        label += " \(PageFrame.badge(share))"
        return node.isRoot ? "\(label) <span class=\"soft\">root of the share</span>" : label
    }

    /// What is not in the list of a node, and how to see it.
    private func more(of index: Int) -> HTML {
        let node = picture.nodes[index]
        guard !node.fold.isEmpty else { return "" }
        let hasChildren = index + 1 < picture.nodes.count && picture.nodes[index + 1].parent == index
        let text = node.fold.text(besideOthers: hasChildren)
        return "<li><span class=\"more\">\(text)\(hint(for: node))</span></li>\n"
    }

    private func hint(for node: PictureNode?) -> HTML {
        guard let command = command(node) else { return "" }
        return ": <code>\(command)</code>"
    }
}
