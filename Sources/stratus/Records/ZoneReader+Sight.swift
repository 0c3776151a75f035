// Records by their addresses, as somebody sees them.

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

extension ZoneReader {
    /// The record that an address leads to, where it is seen.
    ///
    /// Throws as `resolve`, and `notFound` where it is not seen.
    func resolve(_ address: RecordAddress, _ sight: Sight, _ console: Console) throws -> RecordName {
        let name = try resolve(address, console)
        try sight.require(name)
        return name
    }

    /// Visits what is seen directly below a record. Without one that is what lies under nothing that is seen: records
    /// without parent, and the roots of what others share. `looking` is called for each record there, seen or not, once.
    func visitSeen(
        below parent: RecordName?, _ sight: Sight, looking: () -> Void = {}, _ visit: (Child) throws -> ScanStep
    ) throws {
        try visitChildrenOrTops(of: parent) {
            looking()
            return try sight.sees($0.name) ? try visit($0) : .next
        }
        guard parent == nil, !sight.isWhole else { return }
        try store.scan(keys.shareRoots.keyRange) { key, _ in
            let root = try keys.readShareRootKey(key)
            guard let node = try node(root), let above = node.parent else { return .next }
            let isSeen = try sight.sees(root)
            // Who goes down to what lies below something that is seen looks at it there.
            if isSeen, try sight.sees(above) { return .next }
            looking()
            guard isSeen else { return .next }
            return try visit(Child(name: root, hasChildren: node.hasChildren))
        }
    }

    /// The same at any depth, parents before their children: each with the record that it was found below, nil at the top.
    func visitAllSeen(
        below parent: RecordName?, _ sight: Sight, looking: () -> Void = {},
        _ visit: (_ child: Child, _ parent: RecordName?) throws -> Void
    ) throws {
        try visitSeen(below: parent, sight, looking: looking) { top in
            try visit(top, parent)
            var path = [top.name]
            try visitSubtree(below: top.name) { child, level in
                looking()
                guard try sight.sees(child.name) else { return .skipChildren }
                path.removeLast(path.count - level)
                try visit(child, path.last)
                path.append(child.name)
                return .next
            }
            return .next
        }
    }
}
