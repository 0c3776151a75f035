// Everything that lay below a record at a moment, parents before their children, siblings in the byte order of their names.
//
// The past does not change, so a walk that is left at a name goes on after it in any later snapshot and misses nothing.

package import StratusModel

/// Walks what lay below one record. The visitor says, after each record, whether to go down to its children.
package struct PastWalk {
    private let history: ZoneHistory
    private let moment: UInt64
    private var levels: [Level] = []

    private struct Level {
        let parent: RecordName
        var page: [PastChild]
        var position = 0
        /// The name after which the next page begins; nil where this is the last.
        var next: RecordName?
    }

    /// A walk from its beginning, or after the record `last` and, with `goesBelowLast`, to what lies below that first.
    ///
    /// Returns nil where `last` did not lie below `top`.
    package init?(
        below top: RecordName, after last: RecordName?, goesBelowLast: Bool, at moment: UInt64, in history: ZoneHistory
    ) throws {
        self.history = history
        self.moment = moment
        guard let last else {
            try descend(to: top, after: nil)
            return
        }
        var path = [last]
        while let step = path.last, step != top {
            guard let parent = try history.link(step, at: moment)?.name,
                path.count <= history.zone.limits.hierarchyDepth + 1
            else { return nil }
            path.append(parent)
        }
        for index in path.indices.dropFirst().reversed() { try descend(to: path[index], after: path[index - 1]) }
        if goesBelowLast { try descend(to: last, after: nil) }
    }

    /// The next record.
    package mutating func next() throws -> PastChild? {
        while var level = levels.popLast() {
            if level.position < level.page.count {
                level.position += 1
                levels.append(level)
                return level.page[level.position - 1]
            }
            guard let next = level.next else { continue }
            try descend(to: level.parent, after: next)
        }
        return nil
    }

    /// Goes down to the children of a record, which come next.
    package mutating func descend(to parent: RecordName) throws { try descend(to: parent, after: nil) }

    private mutating func descend(to parent: RecordName, after last: RecordName?) throws {
        let limit = levels.count < 32 ? 256 : 16
        let (page, next) = try history.children(of: parent, at: moment, after: last, limit: limit)
        levels.append(Level(parent: parent, page: page, next: next))
    }
}
