// The past of a zone: the parents, share marks and children of its records at any moment since the purge horizon. A
// moment is a sequence of the zone, and means the state after the commit with that sequence.
//
// The parent entries hold the present. Ended entries are in separate keyspaces, by record. These are small in most
// zones, so after a few look-ups they are loaded whole, and a look-up then reads only the record's own entry; a feed
// that passes many changes loads them at once. If they are large, every look-up is a seek. Answers are kept as long as
// the history, for one page of a feed: those of records that may be above others, those that may be a seek, and the
// last one of the rest. Most changes are of records without children, and a table with each of them would take longer
// than all other work on a change that nobody sees.

package import StratusLayout
package import StratusModel
import StratusStore

/// A child that a record had at a moment.
package struct PastChild: Hashable, Sendable {
    package var name: RecordName
    /// The sequence since which it was the record's child.
    package var began: UInt64
    /// False if it certainly had no children at that moment.
    package var mayHaveChildren: Bool
}

/// The share that a record was in at a moment, by its nearest root.
package enum PastMembership: Hashable, Sendable {
    /// The record did not exist.
    case absent
    /// It was in no hierarchical share.
    case none
    case share(RecordName)
}

/// The past of one zone in one snapshot. A moment must not be older than the purge horizon, except 0, when the zone was
/// empty.
package final class ZoneHistory {
    package let zone: ZoneReader
    /// The zone's last change.
    package let now: UInt64
    private var nodes: [RecordName: ParentEntry?] = [:]
    /// The last record whose place is not in `nodes`, and its place.
    private var lastName: RecordName?
    private var lastNode: ParentEntry?
    /// The shares of records that have others below them, or whose look-up may be a seek, at each moment.
    private var memberships: [(moment: UInt64, ofRecords: [RecordName: PastMembership])] = []
    private var links: EndedTable
    private var marks: EndedTable
    private var children: EndedTable

    package init(_ zone: ZoneReader, now: UInt64) {
        self.zone = zone
        self.now = now
        links = EndedTable(.parents, seeksBeforeLoading: Self.seeksBeforeLoading)
        // Looked up for every record, and most never had a mark.
        marks = EndedTable(.shares, seeksBeforeLoading: 0)
        children = EndedTable(.children, seeksBeforeLoading: Self.seeksBeforeLoading)
    }

    /// Look-ups of single records before a table is loaded.
    static let seeksBeforeLoading = 16

    /// Where reads are trips, reads the present places of records and of everything above them, up to the nearest
    /// roots: level by level for all of them, so that it takes at most as many trips as there are levels.
    package func loadChains(of names: [RecordName]) throws {
        guard let reads = zone.reads else { return }
        var seen = Set(names)
        var level = names
        for _ in 0...zone.limits.hierarchyDepth where !level.isEmpty {
            reads.places(of: level)
            var above: [RecordName] = []
            for name in level {
                guard let node = try node(name), node.share == nil, let parent = node.parent else { continue }
                if seen.insert(parent).inserted { above.append(parent) }
            }
            level = above
        }
    }

    /// The present place of a record, or nil if no live record has this name.
    package func node(_ name: RecordName) throws -> ParentEntry? {
        if let lastName, lastName == name { return lastNode }
        if let known = nodes[name] { return known }
        let node = try zone.node(name)
        // Where reads are trips, chains are loaded for many records at once.
        if node?.hasChildren == true || zone.reads != nil {
            nodes[name] = .some(node)
        } else {
            (lastName, lastNode) = (name, node)
        }
        return node
    }

    /// The place of a record at a moment; nil if it did not exist.
    package func node(_ name: RecordName, at moment: UInt64) throws -> PastNode? {
        guard moment > 0 else { return nil }
        let node = try node(name)
        guard let link = try link(name, node, at: moment) else { return nil }
        return PastNode(parent: link.name, share: try mark(name, node, at: moment))
    }

    /// The share whose root the record was. `isUnmarkedNow` says that it is certainly no root now, which saves a
    /// look-up.
    package func mark(_ name: RecordName, at moment: UInt64, isUnmarkedNow: Bool = false) throws -> RecordName? {
        try mark(name, isUnmarkedNow ? nil : node(name), at: moment)
    }

    private func mark(_ name: RecordName, _ node: ParentEntry?, at moment: UInt64) throws -> RecordName? {
        if let node, let share = node.share, node.shareSince <= moment { return share }
        guard moment < now else { return nil }
        return try marks.entries(of: name, after: moment, in: zone).first { $0.began <= moment }?.name
    }

    /// The ended links that may be read for each change, so that the changes need no look-ups.
    private static let linksPerChange = 4
    /// The changes that `loadMoves` was called for.
    private var changeCount = 0

    /// Reads what has ended in the zone, so that `mayHaveMoved` needs no look-ups, unless that is much more than the
    /// changes that are looked at. Call it with the number of further changes.
    package func loadMoves(forChanges count: Int) throws {
        guard count > 0 else { return }
        changeCount += count
        try links.load(zone, ifAtMost: min(Self.linksPerChange * changeCount, EndedTable.largestCount))
        try marks.load(zone, ifAtMost: EndedTable.largestCount)
    }

    /// Whether `mayHaveMoved` needs no look-ups.
    package var knowsMoves: Bool { links.isLoaded }

    /// Whether a parent or a share mark of a record may have ended after a moment.
    ///
    /// If so many have ended that they are not loaded, this is a look-up where reads are trips, which saves that of the
    /// present place. Elsewhere it is true: a present place is mostly in memory, and often no look-up follows.
    package func mayHaveMoved(_ name: RecordName, after moment: UInt64) throws -> Bool {
        if marks.mayHaveEntries(of: name) { return true }
        guard links.isLoaded || zone.reads != nil else { return true }
        return try !links.entries(of: name, after: moment, in: zone).isEmpty
    }

    /// Whether a record got or lost a parent or a share mark after one moment and up to another. Its creation and its
    /// deletion count.
    package func hasEvents(_ name: RecordName, after start: UInt64, upTo end: UInt64) throws -> Bool {
        func isWithin(_ sequence: UInt64) -> Bool { sequence > start && sequence <= end }
        func isWithin(_ span: EndedSpan) -> Bool { isWithin(span.began) || isWithin(span.ended) }
        let node = try node(name)
        if let node, isWithin(node.parentSince) || node.share != nil && isWithin(node.shareSince) { return true }
        // If the present parent began at `start` or before, no other parent has ended since.
        let mayHaveMoved = node.map { $0.parentSince > start } ?? true
        if mayHaveMoved, try links.entries(of: name, after: start, in: zone).contains(where: isWithin) { return true }
        return try marks.entries(of: name, after: start, in: zone).contains(where: isWithin)
    }

    /// The share of a record at a moment, by the nearest root at or above it.
    ///
    /// Throws `hierarchyTooDeep` past the depth limit, `corruption` where a parent did not exist.
    package func membership(_ name: RecordName, at moment: UInt64) throws -> PastMembership {
        guard moment > 0 else { return .absent }
        let node = try node(name)
        // What the present place says is not kept. A place of the past may be a seek, and so may a mark.
        let isKept = moment < now && (marks.isLarge || node.map { $0.parentSince > moment } ?? true)
        guard isKept else { return try membership(name, node, at: moment) }
        let index = indexOfMemberships(at: moment)
        if let known = memberships[index].ofRecords[name] { return known }
        let membership = try membership(name, node, at: moment)
        memberships[index].ofRecords[name] = membership
        return membership
    }

    private func membership(
        _ name: RecordName, _ node: ParentEntry?, at moment: UInt64
    ) throws -> PastMembership {
        guard let link = try link(name, node, at: moment) else { return .absent }
        if let share = try mark(name, node, at: moment) { return .share(share) }
        guard let parent = link.name else { return .none }
        return try membership(of: parent, above: name, at: moment)
    }

    /// The same for the parent of a record. Throws `corruption` also if the parent itself did not exist.
    package func membership(
        of parent: RecordName, above name: RecordName, at moment: UInt64
    ) throws -> PastMembership {
        let index = indexOfMemberships(at: moment)
        var path: [RecordName] = []
        var current = parent
        var end = PastMembership.none
        while true {
            // A parent that did not exist is damage, even if that was known.
            if let known = memberships[index].ofRecords[current], known != .absent {
                end = known
                break
            }
            let node = try node(current)
            guard let link = try link(current, node, at: moment) else {
                throw StoreError(
                    .corruption, "A record had a parent that did not exist: verify the store.",
                    ["record": name.text, "missing": current.text, "zone": zone.id.name.text])
            }
            guard path.count < zone.limits.hierarchyDepth else { throw StoreError.tooDeep(name, in: zone) }
            path.append(current)
            if let share = try mark(current, node, at: moment) {
                end = .share(share)
                break
            }
            guard let parent = link.name else { break }
            current = parent
        }
        for step in path { memberships[index].ofRecords[step] = end }
        return end
    }

    private func indexOfMemberships(at moment: UInt64) -> Int {
        if let index = memberships.firstIndex(where: { $0.moment == moment }) { return index }
        memberships.append((moment, [:]))
        return memberships.count - 1
    }

    /// The children of a record at a moment, in the byte order of their names, at most about `limit` of them after
    /// `last`.
    ///
    /// `next` is the name to continue after; nil if there are no more.
    package func children(
        of parent: RecordName, at moment: UInt64, after last: RecordName?, limit: Int
    ) throws -> (children: [PastChild], next: RecordName?) {
        let whole = zone.keys.children(of: parent)
        let range = last.map { zone.keys.children(of: parent, after: $0) } ?? whole
        let prefixByteCount = whole.lower.count
        var found: [PastChild] = []
        var next: RecordName?
        var count = 0
        try zone.store.forEach(in: range, limit: limit) { key, value in
            let name = try ZoneKeys.readChild(key, prefixByteCount: prefixByteCount)
            let entry = try ChildEntry(decoding: value)
            count += 1
            if count == limit { next = name }
            if entry.since <= moment {
                found.append(PastChild(name: name, began: entry.since, mayHaveChildren: entry.hasChildren))
            }
        }
        guard moment < now else { return (found, next) }
        for index in found.indices where !found[index].mayHaveChildren {
            found[index].mayHaveChildren = children.mayHaveEntries(of: found[index].name)
        }
        let ended = try children.entries(of: parent, after: moment, in: zone)
        for entry in ended where entry.began <= moment {
            guard let name = entry.name, last.map({ $0 < name }) ?? true, next.map({ name < $0 }) ?? true else {
                continue
            }
            found.append(PastChild(name: name, began: entry.began, mayHaveChildren: true))
        }
        return (ended.isEmpty ? found : found.sorted { $0.name < $1.name }, next)
    }

    /// The root of a share at a moment, or nil if it had none. `root` is the share's present root, if it exists.
    package func root(of share: RecordName, at moment: UInt64, now root: RecordName?) throws -> RecordName? {
        if let root, try mark(root, at: moment) == share { return root }
        guard moment < now else { return nil }
        var found: RecordName?
        // A share that was stopped since, or got another root under its name: rare, so there is no index for it.
        try zone.store.scan(zone.keys.keyspace(.endedShares)) { key, value in
            let entry = try EndedShareEntry(decoding: value)
            guard entry.share == share, entry.began <= moment else { return .next }
            let parts = try zone.keys.readEndedShareKey(key)
            guard parts.ended > moment else { return .next }
            found = parts.name
            return .stop
        }
        return found
    }

    /// The type of the record that had this name at a moment, if it was deleted since. Nil if it was not deleted, did
    /// not exist, or was deleted before types were stored.
    package func deletedType(_ name: RecordName, at moment: UInt64) throws -> RecordType? {
        guard moment > 0, moment < now else { return nil }
        if let node = try node(name), node.parentSince <= moment { return nil }
        let spans = try links.entries(of: name, after: moment, in: zone)
        // It may have moved to other parents before it was deleted.
        guard let first = spans.first, first.began <= moment else { return nil }
        return spans.lazy.compactMap(\.deletedType).first
    }

    /// The parent of a record at a moment; nil if the record did not exist.
    func link(_ name: RecordName, at moment: UInt64) throws -> PastParent? {
        guard moment > 0 else { return nil }
        return try link(name, node(name), at: moment)
    }

    private func link(_ name: RecordName, _ node: ParentEntry?, at moment: UInt64) throws -> PastParent? {
        if let node, node.parentSince <= moment { return PastParent(name: node.parent) }
        guard moment < now else { return nil }
        return try links.entries(of: name, after: moment, in: zone).first { $0.began <= moment }
            .map { PastParent(name: $0.name) }
    }
}

/// The parent of a record in the past, or none.
struct PastParent {
    let name: RecordName?
}

/// A parent, child or share of a record that ended.
struct EndedSpan {
    let ended: UInt64
    let began: UInt64
    /// The parent, the share or the child.
    let name: RecordName?
    /// The type of the record, if it was deleted then.
    var deletedType: RecordType?
}

/// What a record no longer has.
enum EndedKind {
    case parents
    case children
    case shares

    var keyspace: ZoneKeyspace {
        switch self {
        case .parents: .endedParents
        case .children: .endedChildren
        case .shares: .endedShares
        }
    }

    /// The change that ended an entry's period. Reads only the key.
    func end(_ key: Span<UInt8>, _ keys: ZoneKeys) throws -> UInt64 {
        switch self {
        case .parents: try keys.readEndedParentKey(key).ended
        case .children: try keys.readEndedChildKey(key).ended
        case .shares: try keys.readEndedShareKey(key).ended
        }
    }

    /// The record of an entry, and what it had.
    func read(
        _ key: Span<UInt8>, _ value: Span<UInt8>, _ keys: ZoneKeys
    ) throws -> (name: RecordName, span: EndedSpan) {
        switch self {
        case .parents:
            let (name, ended) = try keys.readEndedParentKey(key)
            let entry = try EndedParentEntry(decoding: value)
            let span = EndedSpan(
                ended: ended, began: entry.began, name: entry.parent, deletedType: entry.deletedType)
            return (name, span)
        case .children:
            let (parent, ended, child) = try keys.readEndedChildKey(key)
            return (parent, EndedSpan(ended: ended, began: try EndedPeriodEntry(decoding: value).began, name: child))
        case .shares:
            let (name, ended) = try keys.readEndedShareKey(key)
            let entry = try EndedShareEntry(decoding: value)
            return (name, EndedSpan(ended: ended, began: entry.began, name: entry.share))
        }
    }
}

/// One keyspace of ended entries: loaded whole if it is small, read by record if it is large.
struct EndedTable {
    private enum State {
        case asking(seeksLeft: Int)
        case loaded([RecordName: [EndedSpan]])
        case large
    }

    /// The most entries that are loaded.
    static let largestCount = 2_000

    private let kind: EndedKind
    private var state: State
    /// The table has more entries than this.
    private var knownCount = -1

    init(_ kind: EndedKind, seeksBeforeLoading: Int) {
        self.kind = kind
        state = .asking(seeksLeft: seeksBeforeLoading)
    }

    /// The entries of a record that ended after a moment, in the order of their ends.
    mutating func entries(of name: RecordName, after moment: UInt64, in zone: ZoneReader) throws -> [EndedSpan] {
        if case .asking(let left) = state {
            state = .asking(seeksLeft: left - 1)
            if left <= 0 { try load(zone, ifAtMost: Self.largestCount) }
        }
        if case .loaded(let entries) = state {
            guard let own = entries[name] else { return [] }
            return own.filter { $0.ended > moment }
        }
        let range = zone.keys.ended(kind.keyspace, of: name, after: moment)
        return try zone.store.collect(range) { key, value in try kind.read(key, value, zone.keys).span }
    }

    /// Whether no look-up is a seek.
    var isLoaded: Bool {
        if case .loaded = state { true } else { false }
    }

    /// Whether every look-up is a seek.
    var isLarge: Bool {
        if case .large = state { true } else { false }
    }

    /// False if nothing of a record has ended, as far as is known without a read.
    func mayHaveEntries(of name: RecordName) -> Bool {
        if case .loaded(let entries) = state { !entries.isEmpty && entries[name] != nil } else { true }
    }

    /// Loads the table if it has at most `limit` entries. After a table had too many, it is read again only where
    /// twice as many are allowed, or as many as are ever loaded.
    mutating func load(_ zone: ZoneReader, ifAtMost limit: Int) throws {
        guard case .asking = state, limit >= 2 * knownCount || limit == Self.largestCount else { return }
        if let entries = try entries(zone, ifAtMost: limit) {
            state = .loaded(entries)
        } else if limit == Self.largestCount {
            state = .large
        } else {
            knownCount = limit
        }
    }

    private func entries(_ zone: ZoneReader, ifAtMost limit: Int) throws -> [RecordName: [EndedSpan]]? {
        let range = zone.keys.keyspace(kind.keyspace)
        var entries: [RecordName: [EndedSpan]] = [:]
        var count = 0
        try zone.store.forEach(in: range, limit: limit + 1) { key, value in
            let (name, span) = try kind.read(key, value, zone.keys)
            entries[name, default: []].append(span)
            count += 1
        }
        return count > limit ? nil : entries
    }
}

// A walk over everything that was below a record at a moment: parents before their children, siblings in the byte order
// of their names.
//
// The past does not change, so a walk that stopped at a name can continue after it in any later snapshot and misses
// nothing.

/// Walks everything that was below one record. After each record, call `descend(to:)` to visit its children next.
package struct PastWalk {
    private let history: ZoneHistory
    private let moment: UInt64
    private var levels: [Level] = []
    /// First pages of children that were read before their turn, because reads are trips.
    private var ahead: [RecordName: (children: [PastChild], next: RecordName?)] = [:]

    private struct Level {
        let parent: RecordName
        var page: [PastChild]
        var position = 0
        /// The name after which the next page begins; nil if this is the last page.
        var next: RecordName?
    }

    /// Starts a walk at its beginning or after the record `last`, with `goesBelowLast` at the children of `last`.
    ///
    /// Returns nil if `last` was not below `top`.
    package init?(
        below top: RecordName, after last: RecordName?, goesBelowLast: Bool, at moment: UInt64, in history: ZoneHistory
    ) throws {
        self.history = history
        self.moment = moment
        guard let last else {
            try descend(to: top, after: nil)
            return
        }
        let reads = history.zone.reads
        reads?.walk(after: last, below: top)
        var path = [last]
        while let step = path.last, step != top {
            guard let parent = try history.link(step, at: moment)?.name,
                path.count <= history.zone.limits.hierarchyDepth + 1
            else { return nil }
            path.append(parent)
        }
        for (last, parent) in zip(path, path.dropFirst()) {
            reads?.announce(history.zone.keys.children(of: parent, after: last), limit: Self.pageCount(at: path.count))
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

    /// Visits the children of a record next.
    package mutating func descend(to parent: RecordName) throws { try descend(to: parent, after: nil) }

    private mutating func descend(to parent: RecordName, after last: RecordName?) throws {
        let limit = Self.pageCount(at: levels.count)
        if last == nil, let reads = history.zone.reads {
            if ahead[parent] == nil { try lookAhead(from: [parent] + pending, limit: limit, reads) }
            if let (page, next) = ahead.removeValue(forKey: parent) {
                return levels.append(Level(parent: parent, page: page, next: next))
            }
        }
        let (page, next) = try history.children(of: parent, at: moment, after: last, limit: limit)
        levels.append(Level(parent: parent, page: page, next: next))
        history.zone.reads?.records(page.lazy.map(\.name))
    }

    /// The most children that are read at once: the deeper, the fewer.
    private static func pageCount(at depth: Int) -> Int { depth < 32 ? ZoneReads.pageCount : 16 }

    /// Records that are looked at ahead of the walk.
    private static let aheadCount = 512

    /// The records whose children are visited later, in that order, as far as they are known.
    private var pending: [RecordName] {
        levels.reversed().flatMap { level in
            level.page[level.position...].lazy.filter { $0.mayHaveChildren && ahead[$0.name] == nil }.map(\.name)
        }
    }

    /// Reads the children of records and of what is below them, level by level, and announces the records: a trip a
    /// level, and not one for each record that has children.
    private mutating func lookAhead(from parents: [RecordName], limit: Int, _ reads: ZoneReads) throws {
        var level = Array(parents.prefix(Self.aheadCount))
        var count = 0
        while !level.isEmpty, count < Self.aheadCount {
            reads.children(of: level, limit: limit)
            var below: [RecordName] = []
            for name in level {
                let page = try history.children(of: name, at: moment, after: nil, limit: limit)
                ahead[name] = page
                count += page.children.count
                reads.records(page.children.lazy.map(\.name))
                below += page.children.lazy.filter(\.mayHaveChildren).map(\.name)
            }
            level = Array(below.prefix(max(0, Self.aheadCount - count)))
        }
    }
}
