// Everything below a record, parents before their children, streamed.
//
// Memory is bounded by the depth, not by the size: each level keeps one page of names, and a page is small where the
// hierarchy is deep. A record that is known to have no children costs no look-up.

package import StratusModel
import StratusStore

/// What a visitor of a subtree wants next.
package enum SubtreeStep: Sendable {
    case next
    case skipChildren
    case stop
}

extension ZoneReader {
    /// Visits every record below `root`, parents before children, siblings in the byte order of their names.
    /// The root itself is not visited; its children are at level 1.
    ///
    /// Throws `hierarchyTooDeep` past `depthLimit`, which is that of the engine unless another is given.
    package func visitSubtree(
        below root: RecordName, depthLimit: Int? = nil, _ visit: (_ child: Child, _ level: Int) throws -> SubtreeStep
    ) throws {
        var stack = [try SubtreeLevel(parent: root, reader: self, level: 1)]
        while var level = stack.popLast() {
            guard let child = try level.next(self) else { continue }
            let depth = stack.count + 1
            stack.append(level)
            switch try visit(child, depth) {
            case .stop: return
            case .skipChildren: continue
            case .next: break
            }
            guard child.hasChildren else { continue }
            guard depth < depthLimit ?? limits.hierarchyDepth else { throw RecordsError.tooDeep(child.name, in: self) }
            stack.append(try SubtreeLevel(parent: child.name, reader: self, level: depth + 1))
        }
    }
}

/// The children of one record that are still to be visited.
private struct SubtreeLevel {
    let parent: RecordName
    let pageCount: Int
    var page: [Child]
    var position = 0
    var hasMore: Bool

    init(parent: RecordName, reader: ZoneReader, level: Int) throws {
        self.parent = parent
        self.pageCount = level < 32 ? 512 : 16
        self.page = try reader.children(of: parent, limit: pageCount)
        self.hasMore = page.count == pageCount
    }

    mutating func next(_ reader: ZoneReader) throws -> Child? {
        if position == page.count {
            guard hasMore, let last = page.last else { return nil }
            page = try reader.children(of: parent, after: last.name, limit: pageCount)
            hasMore = page.count == pageCount
            position = 0
            if page.isEmpty { return nil }
        }
        defer { position += 1 }
        return page[position]
    }
}
