// Where the records of a picture stand: from left to right by level, from top to bottom in the order of reading, each in
// the middle of its children. Boxes never overlap: every leaf has a row of its own, and every level is as wide as its
// widest label.

struct TreeLayout {
    /// What stands in a box: a node, or what is folded away below one (nil: beside the nodes of the highest level).
    enum Content: Hashable {
        case node(Int)
        case fold(below: Int?)
    }

    struct Box: Hashable {
        var content: Content
        var text: String
        /// Of the box, with room for the badge of a share.
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
    /// Cells of a label; longer ones are cut, and whole in the title of the box.
    static let labelColumns = 34
    /// The width of a cell, in hundredths of a pixel, at the size of the letters in the boxes.
    private static let cellWidth = 790

    private(set) var boxes: [Box] = []
    private(set) var width = 0
    private(set) var height = 0

    init(_ picture: TreePicture, x: Int, y: Int) {
        place(picture)
        setColumns(from: x)
        setRows(from: y)
    }

    /// Makes the boxes, parents before children. `x` is the level until the columns are known.
    private mutating func place(_ picture: TreePicture) {
        var positions: [Int] = []
        /// Folds that stand behind the last child of their node: the innermost last.
        var open: [Int] = []
        func close(_ boxes: inout [Box], downTo level: Int) {
            while let node = open.last, picture.nodes[node].level >= level {
                open.removeLast()
                let fold = picture.nodes[node].fold
                guard !fold.isEmpty else { continue }
                let hasChildren = node + 1 < picture.nodes.count && picture.nodes[node + 1].parent == node
                boxes.append(
                    Self.box(
                        .fold(below: node), fold.text(besideOthers: hasChildren), level: picture.nodes[node].level + 1,
                        parent: positions[node]))
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
        guard !picture.fold.isEmpty else { return }
        boxes.append(
            Self.box(.fold(below: nil), picture.fold.text(besideOthers: !picture.nodes.isEmpty), level: 0, parent: nil))
    }

    private static func box(_ content: Content, _ text: String, level: Int, parent: Int?) -> Box {
        Box(content: content, text: text, x: level, y: 0, width: textWidth(text) + 2 * padding, parent: parent)
    }

    static func textWidth(_ text: String) -> Int { (DisplayText.columnCount(of: text) * cellWidth + 99) / 100 }

    /// How many cells fit into so many pixels.
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

    /// Leaves take the rows in order; who has children stands between the first and the last of them.
    private mutating func setRows(from start: Int) {
        var spans = [(first: Int, last: Int)?](repeating: nil, count: boxes.count)
        var hasChildren = [Bool](repeating: false, count: boxes.count)
        for box in boxes { if let parent = box.parent { hasChildren[parent] = true } }
        var row = 0
        for index in boxes.indices where !hasChildren[index] {
            boxes[index].y = start + row * Self.rowHeight
            row += 1
        }
        // Children stand behind their parents: from the back every box is placed before its parent asks.
        for index in boxes.indices.reversed() {
            if let span = spans[index] { boxes[index].y = (span.first + span.last) / 2 }
            guard let parent = boxes[index].parent else { continue }
            let y = boxes[index].y
            spans[parent] = spans[parent].map { (min($0.first, y), max($0.last, y)) } ?? (y, y)
        }
        height = max(0, row * Self.rowHeight)
    }
}
