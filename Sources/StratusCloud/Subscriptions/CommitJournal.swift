// The outbox: what each commit notes for subscribers.
//
// All changes of records and zones go through `CommitJournal`. If no subscription may be interested, it reads and
// writes nothing in addition. Otherwise it writes the news into the outbox in the same transaction, under keys of this
// commit, so that commits of different zones do not conflict. `CloudService.deliverNotifications` later creates
// notifications from the entries. So no notification is sent for a change that did not happen, and no change is
// forgotten.
//
// An entry is computed from the records before and after the commit: which queries they matched, and which shares they
// were in. Delivery reads no records, which may be gone by then.

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import Synchronization

/// Applies changes of records and zones, and notes them in the outbox.
package struct CommitJournal: Sendable {
    /// The counted bytes that a note, if there is one, has at least: its entries, and the records read for them.
    private static let reservedByteCount = 512 << 10
    /// The maximum number of counted bytes of query matches, or of ended subscriptions, in one commit. The rest is
    /// dropped (N-05).
    private static let matchesByteCount = 4 << 20

    let directory: SubscriptionDirectory
    let schemas: SchemaKeeper
    let mode: SchemaEnvironment
    let metresPerUnit: Double
    let bell: DeliveryBell
    /// Who sends the commit; nil for the host's own work. The device gets no notifications of its own changes (N-05).
    let origin: Caller?

    /// The counted bytes that applying a plan in this zone needs at least in addition.
    func byteCount(in zone: ZoneID, _ transaction: RecordTransaction) throws -> Int {
        try directory.interest(in: zone, transaction) == nil ? 0 : Self.reservedByteCount
    }

    /// Applies a plan, like `RecordTransaction.apply`, and notes its changes. `learnt` are the types that this
    /// transaction adds or extends. Leaves `byteCount` counted bytes of the transaction for later writes.
    @discardableResult
    func apply(
        _ plan: MutationPlan, in id: ZoneID, _ transaction: RecordTransaction,
        learnt: [RecordType: RecordTypeSchema] = [:], keeping byteCount: Int = 1 << 20
    ) throws -> MutationPlan {
        directory.noteShares(of: plan, in: transaction)
        guard !plan.isEmpty, var interest = try directory.interest(in: id, transaction) else {
            return try transaction.apply(plan, in: id)
        }
        let zone = try transaction.existingZone(id)
        let isShared = try interest.isSharedWanted && directory.isShared(zone, plan.header, transaction)
        interest.isSharedWanted = isShared || interest.isSharedWanted && plan.savesShare
        guard interest.concerns(plan) else { return try transaction.apply(plan, in: id) }
        let changes = try CommitChanges(plan, interest, isShared: isShared, in: zone)
        let done = try transaction.apply(plan, in: id)
        var note = note(of: zone, done.header)
        if interest.isOwnerInterested { note.add(.records(changes.types)) }
        let news = try directory.heard(of: changes.sharedNews(in: zone), in: zone, transaction)
        for shares in OutboxNote.parts(of: news) { note.add(.shares(shares)) }
        let judge = QueryJudge(zone: id, journal: self, learnt: learnt, reader: transaction)
        let left = StoreLimits.maximumTransactionByteCount - transaction.countedByteCount - note.countedByteCount
        note.add(
            matches: try judge.matches(changes.records, interest.queries),
            limit: min(Self.matchesByteCount, left - byteCount))
        try write(note, in: transaction)
        return done
    }

    /// Notes that a zone was created.
    func noteCreation(of id: ZoneID, in transaction: RecordTransaction) throws {
        guard try directory.interest(in: id, transaction)?.isOwnerInterested == true else { return }
        let zone = try transaction.existingZone(id)
        var note = try note(of: zone, zone.header())
        // The zone has no records.
        note.add(.records([]))
        try write(note, in: transaction)
    }

    /// Deletes a zone, like `RecordTransaction.deleteZone`, ends its owner's subscriptions to it, and notes the
    /// deletion. Subscriptions to the zone itself fire a last time.
    func deleteZone(
        _ id: ZoneID, holdsShares: Bool, releasingAssetsOf owner: UserName?, in transaction: RecordTransaction
    ) throws -> Bool {
        let interest = try directory.interest(in: id, transaction)
        let zone = try transaction.existingZone(id)
        var note: OutboxNote?
        if let interest, interest.isOwnerInterested || interest.isSharedWanted && holdsShares {
            note = try self.note(of: zone, zone.header())
        }
        let ended = try endSubscriptions(to: id, in: transaction)
        let isDeleted = try transaction.deleteZone(id, releasingAssetsOf: owner)
        guard isDeleted, var note else { return isDeleted }
        let header = try transaction.store.withValue(forKey: DatabaseKeys(zone.keys.database).header()) {
            try DatabaseHeader(decoding: $0)
        }
        guard let header else { return isDeleted }
        note.counter = header.changeCounter
        note.add(.zoneDeleted)
        for (parts, template) in ended where note.countedByteCount < Self.matchesByteCount {
            note.add(.subscriptionEnded(parts.id, template))
        }
        try write(note, in: transaction)
        return isDeleted
    }

    /// Deletes the subscriptions to a zone and to queries in it. One seek. Returns those to the zone, with their
    /// templates.
    private func endSubscriptions(
        to id: ZoneID, in transaction: RecordTransaction
    ) throws -> [(parts: SubscriptionKeyParts, template: NotificationTemplate?)] {
        guard let owner = id.database.owner else { return [] }
        let range = GlobalKeys.subscriptions(
            of: owner, in: id.database.container, database: DatabaseSelector.private.rawValue)
        var ended: [SubscriptionKeyParts] = []
        var told: [(parts: SubscriptionKeyParts, template: NotificationTemplate?)] = []
        try transaction.store.forEach(in: range) { key, value in
            let entry = try SubscriptionEntry(decoding: value)
            switch entry.subject {
            case .zone(id.name, _):
                let parts = try GlobalKeys.readSubscriptionKey(key)
                ended.append(parts)
                told.append((parts, entry.template))
            case .query(let query) where query.zone == id.name:
                ended.append(try GlobalKeys.readSubscriptionKey(key))
            case .zone, .query, .database: break
            }
        }
        for parts in ended { try transaction.delete(GlobalKeys.subscription(parts)) }
        directory.note(ended.map { ($0, nil) }, in: transaction)
        return told
    }

    private func note(of zone: ZoneReader, _ header: ZoneHeader) -> OutboxNote {
        OutboxNote(
            entry: OutboxEntry(
                container: zone.id.database.container, owner: zone.id.database.owner, zone: zone.id.name,
                zoneNumber: zone.keys.zone, identity: header.identity, sequence: header.sequence,
                originAccount: origin?.account, originDevice: origin?.device, news: .records(nil)),
            database: zone.keys.database, counter: header.databaseCounter)
    }

    private func write(_ note: OutboxNote, in transaction: RecordTransaction) throws {
        guard !note.entries.isEmpty else { return }
        for (key, value) in note.entries { try transaction.set(key, to: value) }
        transaction.onPublish { [bell] _ in bell.ring() }
    }
}

/// The entries of one commit.
private struct OutboxNote {
    /// The place and the origin; each part has its own news.
    let entry: OutboxEntry
    let database: DatabaseNumber
    /// The database's counter of changes after the commit.
    var counter: UInt64
    private(set) var entries: [(key: [UInt8], value: [UInt8])] = []
    /// The bytes that writing them counts.
    private(set) var countedByteCount = 0

    /// Matches in one entry. Delivery uses one commit for each user.
    private static let matchCount = 16
    /// About the number of bytes of names in one entry.
    private static let partByteCount = 32 << 10

    mutating func add(_ news: OutboxEntry.News) {
        var part = entry
        part.news = news
        let key = GlobalKeys.outbox(database, counter: counter, index: UInt64(entries.count))
        let value = part.encoded()
        entries.append((key, value))
        countedByteCount += StoreLimits.countedByteCount(writingKey: key.count, value: value.count)
    }

    /// Adds as many matches as there is room for, in counted bytes.
    mutating func add(matches: [QueryMatch], limit: Int) {
        let start = countedByteCount
        var rest = matches[...]
        while !rest.isEmpty, countedByteCount - start < limit - 2 * Self.partByteCount {
            let part = rest.prefix(Self.matchCount)
            add(.matches(Array(part)))
            rest = rest.dropFirst(part.count)
        }
    }

    /// Splits shares into parts that fit into one entry each.
    static func parts(of shares: [SharedNews]) -> [[SharedNews]] {
        var parts: [[SharedNews]] = []
        var size = 0
        for share in shares {
            let byteCount = share.byteCount
            if parts.isEmpty || size + byteCount > partByteCount {
                parts.append([])
                size = 0
            }
            parts[parts.count - 1].append(share)
            size += byteCount
        }
        return parts
    }
}

extension SharedNews {
    fileprivate var byteCount: Int {
        let types = (types ?? []).reduce(0) { $0 + $1.text.utf8.count }
        return (users ?? []).reduce(share.text.utf8.count + types) { $0 + $1.text.utf8.count }
    }
}

/// A record before and after a commit; nil if it does not exist.
struct RecordChangePair: Sendable {
    var old: StoredRecord?
    var new: StoredRecord?
}

/// The changes of a plan, as far as subscribers may be interested.
struct CommitChanges {
    /// The types of all changed records; nil if there are too many.
    private(set) var types: [RecordType]?
    /// The records of the types that subscribed queries use.
    private(set) var records: [RecordType: [RecordChangePair]] = [:]

    /// The maximum number of types in the news of one zone or share.
    private static let typeCount = 32

    private let plan: MutationPlan
    /// The records before the change, each with the share that it is in, or that it is.
    private var old: [RecordName: (type: RecordType, share: RecordName?)] = [:]
    /// The shares among the records.
    private var contents: [RecordName: (old: ShareContent?, new: ShareContent?)] = [:]
    /// Whether other people may be interested, because something in the zone is or becomes shared.
    private let holdsShares: Bool

    /// Reads the records before the change; create it before applying the plan. `isSharedNow` is whether other people
    /// may be interested because the zone already has shares.
    init(_ plan: MutationPlan, _ interest: ZoneInterest, isShared isSharedNow: Bool, in zone: ZoneReader) throws {
        self.plan = plan
        holdsShares = interest.isSharedWanted
        if let reads = zone.reads {
            let names = plan.saved.map(\.record.name) + plan.deleted.map(\.name)
            reads.records(names)
            if holdsShares { reads.places(of: names + [ShareContent.zoneWideName]) }
        }
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
                if before != nil { old[name] = (type, name) }
            } else if try zone.node(name) != nil {
                old[name] = (type, try Self.share(of: name, isZoneWide, in: zone))
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
            old[name] = (type, isShare ? name : try Self.share(of: name, isZoneWide, in: zone))
        }
        types = found.count > Self.typeCount ? nil : found.sorted()
    }

    /// The share of an existing record: that of its nearest root, or of the whole zone.
    private static func share(of name: RecordName, _ isZoneWide: Bool, in zone: ZoneReader) throws -> RecordName? {
        let share = SharedAccess.share(decidingFor: try zone.shareMembership(of: name)?.share)
        return share == ShareContent.zoneWideName && !isZoneWide ? nil : share
    }

    /// The types of the records of one share that changed, and whether a record moved into or out of it, with
    /// everything below it: records of any type.
    private typealias Touch = (types: Set<RecordType>, isMoved: Bool)

    /// The news of shares. Call it after applying the plan.
    ///
    /// Anyone who saw a record before the commit, or sees it after, does so through a share that it was or is in.
    func sharedNews(in zone: ZoneReader) throws -> [SharedNews] {
        guard holdsShares else { return [] }
        let isZoneWide = try zone.node(ShareContent.zoneWideName) != nil
        var touches: [RecordName: Touch] = [:]
        func touch(_ share: RecordName?, _ type: RecordType, isMoved: Bool = false) {
            guard let share else { return }
            touches[share, default: ([], false)].types.insert(type)
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
        // For people who start or stop seeing the share, all its records change.
        let others = before.symmetricDifference(after)
        var news: [SharedNews] = []
        if !others.isEmpty { news.append(SharedNews(share: share, types: nil, users: others.sorted())) }
        let same = before.intersection(after)
        if !same.isEmpty { news.append(SharedNews(share: share, types: types, users: same.sorted())) }
        return news
    }
}

extension SubscriptionDirectory {
    /// People who are looked up in one commit. If none of them has subscribed, one of the others may have.
    private static let lookCount = 64

    /// Filters the news of shares: keeps those that a person may get who sees the share and has subscribed to their
    /// shared database. Delivery determines the actual recipients; this only prevents entries without any. Call it
    /// after applying the plan.
    func heard(
        of news: [SharedNews], in zone: ZoneReader, _ transaction: RecordTransaction
    ) throws -> [SharedNews] {
        var left = Self.lookCount
        return try news.filter { news in
            guard let users = try news.users ?? viewers(of: news.share, in: zone) else { return true }
            for user in users {
                guard left > 0 else { return true }
                left -= 1
                if try listensToShared(user, in: zone.id.database.container, transaction) { return true }
            }
            return false
        }
    }

    /// The people who see a share, except its owner; nil if its content cannot be read, which delivery reports.
    private func viewers(of share: RecordName, in zone: ZoneReader) throws -> [UserName]? {
        try StoreError.unlessDamaged {
            guard let content = try zone.record(share)?.record.shareContent() else { return [] }
            return content.viewers.subtracting([zone.id.database.owner].compactMap { $0 }).sorted()
        }
    }
}

/// Rings when there is something to deliver or to fetch. The server checks it after each request, and calls the host
/// while it holds no locks or snapshots.
package final class DeliveryBell: Sendable {
    private let isRung = Atomic(false)
    /// Devices that got notifications in deliveries by the server itself.
    private let devices = Locked(Set<DeviceAddress>())
    /// The keys of damaged entries that were reported. They stay in the outbox, and every delivery meets them again.
    private let reported = Locked(Set<[UInt8]>())

    func ring() { isRung.store(true, ordering: .releasing) }

    /// Whether it has rung since the last call.
    func hasRung() -> Bool {
        // Mostly it has not, and loading costs less than exchanging.
        isRung.load(ordering: .acquiring) && isRung.exchange(false, ordering: .acquiringAndReleasing)
    }

    /// Keeps devices until the next `takeDevices`.
    func keep(_ found: Set<DeviceAddress>) {
        guard !found.isEmpty else { return }
        devices.withLock { $0.formUnion(found) }
        ring()
    }

    var reportedEntries: Set<[UInt8]> { reported.value }

    func noteReport(of key: [UInt8]) { reported.withLock { _ = $0.insert(key) } }

    func takeDevices() -> Set<DeviceAddress> {
        devices.withLock { devices in
            defer { devices = [] }
            return devices
        }
    }
}
