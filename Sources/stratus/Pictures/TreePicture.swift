// What a picture of a hierarchy shows, as plain values: some of the records, what was folded away, and the shares.
//
// Invariants: nodes stand in the order in which they are read, parents before their children, so that nothing that draws
// them recurses, however deep they lie; a node's children stand behind it with its level and one.

import StratusModel

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
