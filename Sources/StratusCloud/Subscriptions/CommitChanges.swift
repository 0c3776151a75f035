// The records that a plan changes, as they are before it is carried out and after: what has to be known of them so that
// those who have subscribed can be told, and no more.

import StratusLayout
import StratusModel
import StratusRecords

/// A record before and after a commit; nil where it is not there.
struct RecordChangePair: Sendable {
    var old: StoredRecord?
    var new: StoredRecord?
}

struct CommitChanges {
    /// The types of all that changes; nil where they are too many to be told.
    private(set) var types: [RecordType]?
    /// The records of the types that queries ask for.
    private(set) var records: [RecordType: [RecordChangePair]] = [:]

    /// Types that are told of one zone or share.
    private static let typeCount = 32

    private struct Old {
        let type: RecordType
        /// The share it lies in, or that it is.
        let share: RecordName?
    }

    private let plan: MutationPlan
    private var old: [RecordName: Old] = [:]
    /// The shares among the records.
    private var contents: [RecordName: (old: ShareContent?, new: ShareContent?)] = [:]
    /// Whether anything of the zone is or becomes shared, for which others may care.
    private let holdsShares: Bool

    /// Looks at what is there. To be made before the plan is carried out. `isSharedNow` says whether others may care for
    /// the zone because it has shares before.
    init(_ plan: MutationPlan, _ interest: ZoneInterest, isShared isSharedNow: Bool, in zone: ZoneReader) throws {
        self.plan = plan
        holdsShares = interest.isSharedWanted
        let isZoneWide = try isSharedNow && zone.node(ShareContent.zoneWideName) != nil
        var found: Set<RecordType> = []
        for stored in plan.saved {
            let (name, type) = (stored.record.name, stored.record.type)
            found.insert(type)
            let isAsked = interest.queries[type] != nil
            let before = isAsked || holdsShares && type == ShareContent.recordType ? try zone.record(name) : nil
            if isAsked { records[type, default: []].append(RecordChangePair(old: before, new: stored)) }
            guard holdsShares else { continue }
            if type == ShareContent.recordType {
                contents[name] = (try before?.record.shareContent(), try stored.record.shareContent())
                if before != nil { old[name] = Old(type: type, share: name) }
            } else if try zone.node(name) != nil {
                old[name] = Old(type: type, share: try Self.share(of: name, isZoneWide, in: zone))
            }
        }
        for (name, type) in plan.deleted {
            found.insert(type)
            let isShare = isSharedNow && type == ShareContent.recordType
            if interest.queries[type] != nil || isShare, let before = try zone.record(name) {
                if interest.queries[type] != nil {
                    records[type, default: []].append(RecordChangePair(old: before, new: nil))
                }
                if isShare { contents[name] = (try before.record.shareContent(), nil) }
            }
            guard isSharedNow else { continue }
            old[name] = Old(type: type, share: isShare ? name : try Self.share(of: name, isZoneWide, in: zone))
        }
        types = found.count > Self.typeCount ? nil : found.sorted()
    }

    /// The share in which a record lies that is there: that of its nearest root, or the whole zone's.
    private static func share(of name: RecordName, _ isZoneWide: Bool, in zone: ZoneReader) throws -> RecordName? {
        let share = SharedAccess.share(decidingFor: try zone.shareMembership(of: name)?.share)
        return share == ShareContent.zoneWideName && !isZoneWide ? nil : share
    }

    /// The records of one share that changed.
    private struct Touch {
        var types: Set<RecordType> = []
        /// Whether something came into the share or left it, with all that lies below: records of any type.
        var isMoved = false
    }

    /// What is to be told of shares. To be asked when the plan has been carried out.
    ///
    /// Whoever saw a record before the commit, or sees it after, has seen it through a share of which it was one, or is.
    func sharedNews(in zone: ZoneReader) throws -> [SharedNews] {
        guard holdsShares else { return [] }
        let isZoneWide = try zone.node(ShareContent.zoneWideName) != nil
        var touches: [RecordName: Touch] = [:]
        func touch(_ share: RecordName?, _ type: RecordType, isMoved: Bool = false) {
            guard let share else { return }
            touches[share, default: Touch()].types.insert(type)
            if isMoved { touches[share]?.isMoved = true }
        }
        for stored in plan.saved {
            let (name, type) = (stored.record.name, stored.record.type)
            let share =
                type == ShareContent.recordType ? name : try Self.share(of: name, isZoneWide, in: zone)
            let before = old[name]
            let isMoved = before != nil && before?.share != share
            touch(before?.share, type, isMoved: isMoved)
            touch(share, type, isMoved: isMoved)
        }
        for (name, _) in plan.deleted { if let before = old[name] { touch(before.share, before.type) } }
        return touches.sorted { $0.key < $1.key }.flatMap { news(of: $0.key, $0.value) }
    }

    private func news(of share: RecordName, _ touch: Touch) -> [SharedNews] {
        let types = touch.isMoved || touch.types.count > Self.typeCount ? nil : touch.types.sorted()
        guard let content = contents[share] else { return [SharedNews(share: share, types: types, users: nil)] }
        let (before, after) = (content.old?.viewers ?? [], content.new?.viewers ?? [])
        // Those who begin or cease to see the share see all that lies in it otherwise than before.
        let others = before.symmetricDifference(after)
        var news: [SharedNews] = []
        if !others.isEmpty { news.append(SharedNews(share: share, types: nil, users: others.sorted())) }
        let same = before.intersection(after)
        if !same.isEmpty { news.append(SharedNews(share: share, types: types, users: same.sorted())) }
        return news
    }
}
