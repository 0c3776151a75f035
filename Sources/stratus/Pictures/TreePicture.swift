// A picture of a hierarchy as plain values (some of the records, counts of folded ones, and the shares), and the choice
// of the records to draw.
//
// Invariants: nodes are in reading order, parents before their children, so that drawing needs no recursion at any
// depth; the children of a node follow it, one level deeper.

import StratusModel
import StratusRecords

/// A record of the picture.
struct PictureNode: Hashable {
    var name: RecordName
    var label: String
    var type: String
    var level: Int
    /// The node above, by its position.
    var parent: Int?
    /// The share that the record is in, by its position in the picture's shares; nil for none.
    var share: Int?
    /// Whether the record is that share's root.
    var isRoot = false
    var isFolder = false
    /// Records below it that are not shown.
    var fold = PictureFold()
}

/// How many records are not shown.
struct PictureFold: Hashable {
    /// Directly below.
    var childCount = 0
    /// At any depth.
    var recordCount = 0
    /// Roots of shares among them, if that is known.
    var rootCount = 0

    var isEmpty: Bool { recordCount == 0 }

    /// "… 1,234 more" if some children are shown, "… 1,234 below" if none is.
    func text(besideOthers: Bool) -> String {
        var text = "… \(Quantities.count(recordCount)) \(besideOthers ? "more" : "below")"
        if rootCount > 0 { text += ", \(Quantities.count(rootCount, "share root"))" }
        return text
    }
}

/// A share of the picture.
struct PictureShare: Hashable {
    var name: String
    /// Nil for a share of the whole zone.
    var rootLabel: String?
    var publicPermission: String
    var people: [PicturePerson]
    /// The number of people that are not shown.
    var morePeopleCount = 0

    /// Identifies a share in the picture together with its colour, for people who do not see colours.
    static func badge(_ position: Int) -> String { "S\(position + 1)" }

    /// The text about the people that are not shown.
    var morePeopleText: String { "… \(Quantities.count(morePeopleCount, "more person", "more people"))" }

    static let colourCount = 6
    /// The class of style that colours what belongs to the share.
    static func style(_ position: Int) -> String { "c\(position % colourCount)" }
}

/// A participant of a share.
struct PicturePerson: Hashable {
    var title: String
    var role: String
    var rights: ParticipantPermission
    var hasAccepted: Bool

    var status: String { hasAccepted ? "accepted" : "invited" }
}

extension ParticipantPermission {
    /// What the permission allows, in words.
    var words: String {
        switch self {
        case .readWrite: "read, write"
        case .readOnly: "read only"
        case .none: "nothing"
        }
    }

    /// The class of style of what has the permission: full, dashed or dotted.
    var style: String {
        switch self {
        case .readWrite: "full"
        case .readOnly: "half"
        case .none: "none"
        }
    }
}

struct TreePicture: Hashable {
    /// The address of the drawn place.
    var title: String
    /// The date of the copy that was read; nil if the store itself was read.
    var copyDate: String?
    var nodes: [PictureNode]
    /// Records of the highest level that are not shown.
    var fold: PictureFold
    var shares: [PictureShare]
    /// Shares of the zone that are not in the picture.
    var moreShareCount = 0

    /// The number of records, drawn and folded.
    var recordCount: Int { nodes.reduce(nodes.count + fold.recordCount) { $0 + $1.fold.recordCount } }

    /// Whether records below a node are shown.
    func hasChildren(_ index: Int) -> Bool { index + 1 < nodes.count && nodes[index + 1].parent == index }

    /// The text about the records that are not shown below a node, or on the highest level; nil if there are none.
    func foldText(below index: Int?) -> String? {
        let fold = index.map { nodes[$0].fold } ?? fold
        guard !fold.isEmpty else { return nil }
        return fold.text(besideOthers: index.map(hasChildren) ?? !nodes.isEmpty)
    }

    /// The limit of shares that are drawn with their people.
    private static let drawnShareCount = 24

    var drawnShares: ArraySlice<PictureShare> { shares.prefix(Self.drawnShareCount) }

    /// The text about the other shares; nil if there are none.
    var moreSharesText: String? {
        let count = moreShareCount + shares.count - drawnShares.count
        return count > 0 ? "… \(Quantities.count(count, "more share"))" : nil
    }
}

// MARK: - Choosing records
//
// A picture stays small for any size of the store. Records are opened level by level until the picture is full. Some
// children of each are shown, sorted by name; the others are counted. Paths to roots of shares come first, because
// people look for them. Memory holds only the drawn records. Every other record is counted once, in a scan.

/// The source of a picture's records: a zone as a person sees it. Tests use another one.
protocol PictureSource {
    /// Visits the records directly below one, or those without a parent, in the byte order of their names. Calls
    /// `didLook` for each examined record, visible or not.
    func visitChildren(of parent: RecordName?, didLook: () -> Void, _ visit: (Child) throws -> Void) throws
    /// The numbers of records directly below one, and at any depth. `didLook` as above.
    func recordCount(below name: RecordName, didLook: () -> Void) throws -> (children: Int, all: Int)
    /// Records directly below one that are roots of shares or have some below them, at most `limit`. Each comes with
    /// the number of roots at or below it.
    func ways(toRootsBelow parent: RecordName?, limit: Int) throws -> [RecordName: Int]
    /// The number of roots of shares below.
    func rootCount(below parent: RecordName?) throws -> Int
    /// The facts to draw about a record; nil if it no longer exists.
    func facts(of name: RecordName) throws -> PictureFacts?
}

/// The facts to draw about a record.
struct PictureFacts: Hashable {
    var label: String
    var type: String
    /// The share, if the record is its root.
    var share: RecordName?
}

/// The limits of a picture.
struct PictureLimits: Hashable {
    static let nodeCounts = 1...20_000
    /// HTML parsers limit nesting to some hundred elements, and a level needs three.
    static let pageLevelCount = 120

    var nodeCount: Int
    /// Levels below the first; nil for all.
    var depth: Int?

    /// The limit of children per record, so that a wide folder leaves room for others.
    var childCount: Int { max(4, nodeCount / 12) }
}

struct TreeFolder {
    /// A chosen record.
    private struct Draft {
        var child: Child
        var facts: PictureFacts
        var level: Int
        var children: [Int] = []
        var fold = PictureFold()
        var isOpened = false
        /// Roots of shares at or below.
        var rootCount = 0
    }

    private let source: any PictureSource
    private let limits: PictureLimits
    private let looked: LookCounter
    private var drafts: [Draft] = []
    private var tops: [Int] = []
    private var topFold = PictureFold()

    /// `progress` gets the number of examined records, drawn or not, visible or not. Each counts once.
    init(
        _ source: any PictureSource, _ limits: PictureLimits,
        progress: @escaping (_ lookedCount: Int) -> Void = { _ in }
    ) {
        (self.source, self.limits) = (source, limits)
        looked = LookCounter(progress)
    }

    /// The nodes of a record and those below it, or of the whole zone, and the shares of the roots among them, in the
    /// order of the picture.
    mutating func fold(
        from root: Child?
    ) throws -> (nodes: [PictureNode], fold: PictureFold, shares: [RecordName]) {
        if let root {
            guard let facts = try source.facts(of: root.name) else { return ([], PictureFold(), []) }
            drafts.append(Draft(child: root, facts: facts, level: 0))
            tops = [0]
            drafts[0].rootCount = try source.rootCount(below: root.name)
        } else {
            (tops, topFold) = try choose(below: nil, level: 0)
        }
        try open()
        for index in drafts.indices where !drafts[index].isOpened && drafts[index].child.hasChildren {
            let below = try source.recordCount(below: drafts[index].child.name, didLook: looked.add)
            drafts[index].fold = PictureFold(
                childCount: below.children, recordCount: below.all,
                rootCount: drafts[index].facts.share == nil ? drafts[index].rootCount : 0)
        }
        return finish()
    }

    /// Opens records until all are open or the picture is full.
    private mutating func open() throws {
        var (ways, others) = (tops.filter(isWay)[...], tops.filter { !isWay($0) }[...])
        while drafts.count < limits.nodeCount, let index = ways.popFirst() ?? others.popFirst() {
            let draft = drafts[index]
            guard draft.child.hasChildren, limits.depth.map({ draft.level < $0 }) ?? true else { continue }
            let chosen = try choose(below: draft.child.name, level: draft.level + 1)
            drafts[index].children = chosen.children
            drafts[index].fold = chosen.fold
            drafts[index].isOpened = true
            ways += chosen.children.filter(isWay)
            others += chosen.children.filter { !isWay($0) }
        }
    }

    /// Whether there are roots of shares below. No root is below another.
    private func isWay(_ index: Int) -> Bool { drafts[index].rootCount > 0 && drafts[index].facts.share == nil }

    /// Chooses children, and counts the others.
    private mutating func choose(
        below parent: RecordName?, level: Int
    ) throws -> (children: [Int], fold: PictureFold) {
        let room = min(limits.childCount, limits.nodeCount - drafts.count)
        let roots = try source.ways(toRootsBelow: parent, limit: room)
        var freeCount = room - roots.count
        var children: [Int] = []
        var fold = PictureFold()
        try source.visitChildren(of: parent, didLook: looked.add) { child in
            let isChosen = roots[child.name] != nil || freeCount > 0
            guard isChosen, let facts = try source.facts(of: child.name) else {
                fold.childCount += 1
                fold.recordCount += 1
                guard child.hasChildren else { return }
                fold.recordCount += try source.recordCount(below: child.name, didLook: looked.add).all
                return
            }
            if roots[child.name] == nil { freeCount -= 1 }
            children.append(drafts.count)
            drafts.append(Draft(child: child, facts: facts, level: level, rootCount: roots[child.name] ?? 0))
        }
        if fold.recordCount > 0 {
            let all = try source.rootCount(below: parent)
            fold.rootCount = max(0, all - roots.values.reduce(0, +))
        }
        return (children, fold)
    }

    /// Puts the drafts into reading order.
    private func finish() -> (nodes: [PictureNode], fold: PictureFold, shares: [RecordName]) {
        var nodes: [PictureNode] = []
        var shares: [RecordName] = []
        var waiting = tops.reversed().map { (draft: $0, parent: Int?.none) }
        while let (index, parent) = waiting.popLast() {
            let draft = drafts[index]
            var node = PictureNode(
                name: draft.child.name, label: draft.facts.label, type: draft.facts.type, level: draft.level,
                parent: parent, share: parent.flatMap { nodes[$0].share }, isFolder: draft.child.hasChildren,
                fold: draft.fold)
            if let share = draft.facts.share {
                node.share = shares.count
                node.isRoot = true
                shares.append(share)
            }
            let position = nodes.count
            nodes.append(node)
            waiting += draft.children.reversed().map { ($0, position) }
        }
        return (nodes, topFold, shares)
    }
}
