// What a picture of a hierarchy shows, as plain values: some of the records, what was folded away, and the shares.
//
// Invariants: nodes stand in the order in which they are read, parents before their children, so that nothing that draws
// them recurses, however deep they lie; a node's children stand behind it with its level and one.

import StratusModel
import StratusRecords
import StratusStore

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
    /// What lies below and is not shown.
    var fold = PictureFold()
}

/// How many records are not shown.
struct PictureFold: Hashable {
    /// Directly below.
    var childCount = 0
    /// With everything below those.
    var recordCount = 0
    /// Roots of shares among them, where that is known.
    var rootCount = 0

    var isEmpty: Bool { recordCount == 0 }

    /// "… 1,234 more" beside children that are shown, "… 1,234 below" where none is.
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
    /// Those beyond the ones that are shown.
    var morePeopleCount = 0

    /// Shares of a picture are told apart by this, and by a colour: not everybody sees colours.
    static func badge(_ position: Int) -> String { "S\(position + 1)" }

    static let colourCount = 6
    /// The class of style that colours what belongs to the share.
    static func style(_ position: Int) -> String { "c\(position % colourCount)" }
}

/// Somebody who takes part in a share.
struct PicturePerson: Hashable {
    enum Rights: Hashable {
        case readWrite
        case readOnly
        case nothing

        var text: String {
            switch self {
            case .readWrite: "read, write"
            case .readOnly: "read only"
            case .nothing: "nothing"
            }
        }
    }

    var title: String
    var role: String
    var rights: Rights
    var hasAccepted: Bool

    var status: String { hasAccepted ? "accepted" : "invited" }
}

struct TreePicture: Hashable {
    /// The place that is drawn, for people.
    var title: String
    /// As of when a store was read that another process holds; nil where the store itself was read.
    var copyDate: String?
    var nodes: [PictureNode]
    /// What lies beside the nodes of the highest level.
    var fold: PictureFold
    var shares: [PictureShare]
    /// Shares that are not in the picture, where the whole zone is drawn.
    var moreShareCount = 0

    /// How many records there are in all.
    var recordCount: Int { nodes.reduce(nodes.count + fold.recordCount) { $0 + $1.fold.recordCount } }
}

// Chooses what of a hierarchy is drawn, so that a picture stays small however large the store is.
//
// Records are opened level by level until the picture is full; of each some children are shown, in the order of their
// names, and the rest is counted. Ways to roots of shares go before everything else, because they are what one looks for.
// Memory holds what is drawn. Every record that is not drawn is counted once, as it streams by.

/// Where the records of a picture come from: a zone, as somebody sees it.
protocol PictureSource {
    /// Visits the records directly below one, or those without parent, in the byte order of their names. `didLook` is called
    /// for each that was looked at for it, seen or not.
    func visitChildren(of parent: RecordName?, didLook: () -> Void, _ visit: (Child) throws -> ScanStep) throws
    /// How many records lie directly below one, and how many at any depth. `didLook` as above.
    func recordCount(below name: RecordName, didLook: () -> Void) throws -> (children: Int, all: Int)
    /// Records directly below one that are roots of shares or have some below, at most `limit` of them.
    func ways(toRootsBelow parent: RecordName?, limit: Int) throws -> [PictureWay]
    /// How many roots of shares lie below.
    func rootCount(below parent: RecordName?) throws -> Int
    /// What is drawn of a record; nil where it is gone.
    func facts(of name: RecordName) throws -> PictureFacts?
}

/// A record with roots of shares at or below it.
struct PictureWay: Hashable {
    var name: RecordName
    var rootCount: Int
}

/// What is drawn of a record.
struct PictureFacts: Hashable {
    var label: String
    var type: String
    /// The share of which it is the root.
    var share: RecordName?
}

/// How much is drawn.
struct PictureLimits: Hashable {
    static let nodeCounts = 1...20_000
    /// Parsers of HTML stop nesting at some hundred elements, and three stand for a level.
    static let pageLevelCount = 120

    var nodeCount: Int
    /// Levels below the first; nil for all.
    var depth: Int?

    /// Children of one record: a wide folder leaves room for others.
    var childCount: Int { max(4, nodeCount / 12) }
}

struct TreeFolder {
    /// A record that was chosen.
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

    /// `progress` is told now and then how many records were looked at, drawn or not, seen or not: each of them once.
    init(
        _ source: any PictureSource, _ limits: PictureLimits,
        progress: @escaping (_ lookedCount: Int) -> Void = { _ in }
    ) {
        (self.source, self.limits) = (source, limits)
        looked = LookCounter(progress)
    }

    /// The nodes below one record, itself among them, or of everything; and for each root among them its share. Shares
    /// are numbered in the order of the picture.
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

    /// Opens records until nothing is left to open or the picture is full.
    private mutating func open() throws {
        var (ways, others) = (tops.filter(isWay), tops.filter { !isWay($0) })
        var (wayPosition, otherPosition) = (0, 0)
        while drafts.count < limits.nodeCount {
            let index: Int
            if wayPosition < ways.count {
                index = ways[wayPosition]
                wayPosition += 1
            } else if otherPosition < others.count {
                index = others[otherPosition]
                otherPosition += 1
            } else {
                return
            }
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

    /// Whether roots of shares lie below: no root lies below another.
    private func isWay(_ index: Int) -> Bool { drafts[index].rootCount > 0 && drafts[index].facts.share == nil }

    /// Chooses children, and counts those that are not chosen.
    private mutating func choose(
        below parent: RecordName?, level: Int
    ) throws -> (children: [Int], fold: PictureFold) {
        let room = min(limits.childCount, limits.nodeCount - drafts.count)
        let ways = try source.ways(toRootsBelow: parent, limit: room)
        let roots = Dictionary(ways.map { ($0.name, $0.rootCount) }) { first, _ in first }
        var freeCount = room - ways.count
        var children: [Int] = []
        var fold = PictureFold()
        try source.visitChildren(of: parent, didLook: looked.add) { child in
            let isChosen = roots[child.name] != nil || freeCount > 0
            guard isChosen, let facts = try source.facts(of: child.name) else {
                fold.childCount += 1
                fold.recordCount += 1
                guard child.hasChildren else { return .next }
                fold.recordCount += try source.recordCount(below: child.name, didLook: looked.add).all
                return .next
            }
            if roots[child.name] == nil { freeCount -= 1 }
            children.append(drafts.count)
            drafts.append(Draft(child: child, facts: facts, level: level, rootCount: roots[child.name] ?? 0))
            return .next
        }
        if fold.recordCount > 0 {
            let all = try source.rootCount(below: parent)
            fold.rootCount = max(0, all - roots.values.reduce(0, +))
        }
        return (children, fold)
    }

    /// Puts the drafts into the order of reading.
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
