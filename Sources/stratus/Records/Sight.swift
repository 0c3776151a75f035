// What a person sees of shares and records.

import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

// What `SharePortion` hides from a person is missing; the host sees the whole share.
extension Sight {
    private func portion(of content: ShareContent) -> SharePortion? { viewer.map { SharePortion(content, viewer: $0) } }

    func manages(_ content: ShareContent) -> Bool { portion(of: content)?.managesShare ?? true }

    /// The visible participants, in the order of the share.
    func participants(of content: ShareContent) -> [ShareParticipant] {
        portion(of: content)?.participants ?? content.participants
    }

    /// The share without its hidden parts.
    func seen(_ content: ShareContent) -> ShareContent {
        guard let portion = portion(of: content), !portion.managesShare else { return content }
        var seen = content
        // Only people who manage the share see how others were invited.
        seen.participants = portion.participants.map { one in
            guard one.id != portion.own else { return one }
            var other = one
            other.invitation = nil
            return other
        }
        seen.requesters = portion.requesters
        seen.blocked = portion.blocked
        return seen
    }

    /// The audience of a record in the share, without its hidden parts.
    func seen(_ audience: RecordAudience, _ content: ShareContent) -> RecordAudience {
        let shown = Dictionary(seen(content).participants.map { ($0.id, $0) }) { first, _ in first }
        var seen = audience
        seen.viewers = audience.viewers.compactMap { viewer in
            guard let participant = viewer.participant else { return viewer }
            var known = viewer
            known.participant = shown[participant.id]
            return known.participant == nil ? nil : known
        }
        seen.excluded = audience.excluded.compactMap { shown[$0.id] }
        seen.invited = audience.invited.compactMap { shown[$0.id] }
        return seen
    }
}

extension ZoneReader {
    /// The record that an address leads to.
    ///
    /// Throws as `resolve`. A person gets the same `notFound` for a record that is hidden from them and for one that
    /// does not exist, and learns of several records of one name only if they see them.
    func resolve(_ address: RecordArgument, _ sight: Sight, _ console: Console) throws -> RecordName {
        guard !sight.isWhole else { return try resolve(address, console) }
        do {
            let name = try resolve(address, console, among: sight)
            if try sight.sees(name) { return name }
        } catch let error as ToolError where error.code == .notFound {}
        throw sight.unseen(address.text)
    }

    /// Visits the visible records directly below a record. Without one, visits the visible records that have no visible
    /// parent: records without a parent, and roots of shares. Calls `looking` once for each examined record, visible or
    /// not.
    func visitSeen(
        below parent: RecordName?, _ sight: Sight, looking: () -> Void = {}, _ visit: (Child) throws -> Void
    ) throws {
        try visitChildrenOrTops(of: parent) {
            looking()
            if try sight.sees($0.name) { try visit($0) }
            return .next
        }
        guard parent == nil, !sight.isWhole else { return }
        try store.forEach(in: keys.keyspace(.shareRoots)) { key, _ in
            let root = try keys.readShareRootKey(key)
            guard let node = try node(root), let above = node.parent else { return }
            let isSeen = try sight.sees(root)
            // If its parent is visible too, the walk below that parent visits it.
            if isSeen, try sight.sees(above) { return }
            looking()
            if isSeen { try visit(Child(name: root, hasChildren: node.hasChildren)) }
        }
    }

    /// Does the same down to the level `deepest`, parents before children. Each record comes with its visible parent,
    /// nil at the top, and with its level; the first level is 0.
    func visitAllSeen(
        below parent: RecordName?, _ sight: Sight, deepest: Int = .max, looking: () -> Void = {},
        _ visit: (_ child: Child, _ parent: RecordName?, _ level: Int) throws -> Void
    ) throws {
        guard deepest >= 0 else { return }
        try visitSeen(below: parent, sight, looking: looking) { top in
            try visit(top, parent, 0)
            guard top.hasChildren, deepest > 0 else { return }
            var path = [top.name]
            try visitSubtree(below: top.name) { child, level in
                looking()
                guard try sight.sees(child.name) else { return .skipChildren }
                path.removeLast(path.count - level)
                try visit(child, path.last, level)
                path.append(child.name)
                return level < deepest ? .next : .skipChildren
            }
        }
    }

    // MARK: Shares

    /// Visits the names of the zone's shares in byte order. Calls `looking` for each.
    func visitShareNames(looking: () -> Void = {}, _ visit: (RecordName) throws -> ScanStep) throws {
        try store.scan(keys.types(of: ShareContent.recordType)) { key, _ in
            looking()
            return try visit(keys.readTypeKey(key).name)
        }
    }

    /// Whether a record is a share.
    func isShare(_ name: RecordName) throws -> Bool {
        try store.contains(keys.type(ShareContent.recordType, name: name))
    }

    /// The content of a share; nil if the record is not a share.
    func shareContent(_ name: RecordName) throws -> ShareContent? { try record(name)?.record.shareContent() }

    /// The share that a record is, or that it is in.
    ///
    /// Throws `notFound` if it is in none, and if a root names a share that has no record.
    func share(of name: RecordName) throws -> (name: RecordName, content: ShareContent) {
        if let content = try shareContent(name) { return (name, content) }
        let membership = try shareMembership(of: name)
        let share = membership?.share ?? ShareContent.zoneWideName
        if let content = try shareContent(share) { return (share, content) }
        guard let membership else { throw ToolError(.notFound, "The record is not shared.", ["record": name.text]) }
        throw ToolError(
            .notFound,
            "The root of the record names a share that has no record, so it was not shared through CloudKit. Remove the "
                + "share name with the program that set it, or delete the root, and share it again.",
            ["record": name.text, "root": membership.root.text, "share": membership.share.text])
    }
}
