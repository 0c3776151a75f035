// The feed of a zone: what changed for the caller since a token. Here are the request, its tokens, and two things that
// its pages need: which shares a person could see at which time (`Admissions`), and the client's own tokens
// (`ClientTokens`).

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

extension CloudService {
    /// One page of the changes in a zone for the caller since the request's token. Applied to what the caller had at
    /// the token, the pages up to the last one give exactly what the caller sees in the last page's snapshot.
    ///
    /// Throws `serverRejectedRequest` (15/2027) for a default zone (T-02); `zoneNotFound` or `userDeletedZone` for a
    /// missing zone, or one in which the caller sees nothing (T-10); `changeTokenExpired` for a token of another zone
    /// or caller, of an earlier zone of the same name, of another incarnation, or older than the purge horizon
    /// (T-09); `notAuthenticated` and similar errors; a planned fault; the store's failures.
    package func fetchZoneChanges(
        _ request: FetchZoneChangesRequest, as caller: Caller, in database: DatabaseSelector
    ) throws(CloudError) -> FetchZoneChangesResponse {
        try reporting(.fetchZoneChanges, caller, itemCount: 1) { event in
            let claimed = try database == .public ? nil : claimedAccount(of: caller)
            if let fault = environment.faults?.error(at: .zone(request.zone, caller, .fetchZoneChanges)) { throw fault }
            let seal = try tokenKeeper.seal(of: engine, environment.identifiers)
            let response = try engine.read { reader in
                if let user = claimed?.userName, let reads = RequestReads(reader) {
                    ZoneFeed.announce(request, database, caller, user: user, seal, options, reads)
                }
                // The error that public data has no feed needs no account.
                let account = database == .public ? nil : try accountDirectory.requireAccount(of: caller, in: reader)
                let zone = try ScopeVerdict.zone(
                    request.zone, in: database, container: caller.container, caller: account?.userName)
                guard !zone.isDefault, let account else {
                    throw CloudError(
                        .serverRejectedRequest, inner: CloudError.InnerCode.defaultZoneSync,
                        "AppDefaultZone does not support sync semantics", ["rule": "T-02"])
                }
                let feed = ZoneFeed(
                    service: self, zone: zone, account: account, container: caller.container, database: database,
                    seal: seal, reader: reader)
                return try feed.page(request)
            }
            event.itemCount = response.changed.count + response.deleted.count
            return response
        }
    }

}

/// One request for changes of a zone, in one snapshot.
struct ZoneFeed {
    let service: CloudService
    let zone: ResolvedZone
    let account: StoredAccount
    let container: ContainerName
    let database: DatabaseSelector
    let seal: TokenSeal
    let reader: RecordReader

    func page(_ request: FetchZoneChangesRequest) throws -> FetchZoneChangesResponse {
        guard let zoneReader = try reader.zone(zone.id) else { throw try ZoneFacts.missing(zone, in: reader) }
        announce(request)
        let access = try ZoneAccess(service, to: zone, caller: account.userName, in: reader)
        guard try access.isZoneVisible() else { throw ScopeVerdict.zoneNotFound(zone.address) }
        let header = try zoneReader.header()
        try reader.requireReliableIndexes(of: zoneReader)
        let progress = try progress(request.token, header)
        let view = RecordPresenter(service: service, zone: zone, viewer: account, reader: reader)
        let fields = FieldSelection.desired(request.desiredKeys)
        let page = FeedPage(limit: request.limit, service.options, of: zone)
        let history = ZoneHistory(zoneReader, now: header.sequence)
        func owner(at position: OwnerProgress, _ walk: FirstSync? = nil) throws -> FetchZoneChangesResponse {
            var feed = OwnerFeed(
                zone: zoneReader, history: history, view: view, fields: fields, now: header.sequence, walk: walk,
                start: position.position, progress: position, page: page)
            try feed.run()
            // What a client sent up to the end of the walk comes back when the walk has ended.
            let told = walk != nil && feed.walk == nil ? 0 : feed.start
            return try response(
                feed.page, feed.walk.map { .firstSync($0) } ?? .owner(feed.progress),
                told: told...feed.progress.position, header, zoneReader)
        }
        switch progress {
        case .owner(let position): return try owner(at: position)
        case .firstSync(let walk): return try owner(at: OwnerProgress(position: walk.end, beginning: 0), walk)
        case .guest(let progress):
            let admissions = try Admissions(
                of: account.userName, to: zoneReader, identity: header.identity, since: progress.base)
            var feed = GuestFeed(
                zone: zoneReader, history: history, admissions: admissions, view: view, fields: fields,
                now: header.sequence, progress: progress, page: page)
            try feed.run()
            return try response(
                feed.page, .guest(feed.progress), told: progress.base...feed.progress.base, header, zoneReader)
        }
    }

    // MARK: Tokens

    var binding: TokenBinding {
        TokenBinding(user: account.userName, container: container, database: database, zone: zone.id)
    }

    /// The client's progress, from its token.
    private func progress(_ token: [UInt8]?, _ header: ZoneHeader) throws -> ZoneToken.Progress {
        guard let token else {
            return zone.isShared
                ? .guest(GuestProgress(base: 0))
                : .firstSync(FirstSync(end: header.sequence))
        }
        guard let contents = seal.opened(token, .zone, for: binding),
            let known = try? ZoneToken(decoding: contents.span)
        else { throw CloudError.foreignToken }
        guard known.identity == header.identity else {
            throw CloudError.expiredToken(CloudError.reasonZoneRecreated)
        }
        guard known.incarnation == (try reader.positionIncarnation(header.incarnation)) else {
            throw CloudError.expiredToken("the store was restored, copied or repaired")
        }
        guard known.progress.isWithin(header), known.progress.isGuest == zone.isShared else {
            throw CloudError.expiredToken("the history does not go back so far")
        }
        return known.progress
    }

    private func response(
        _ page: FeedPage, _ progress: ZoneToken.Progress, told: ClosedRange<UInt64>, _ header: ZoneHeader,
        _ zoneReader: ZoneReader
    ) throws -> FetchZoneChangesResponse {
        let token = ZoneToken(
            identity: header.identity, incarnation: try reader.positionIncarnation(header.incarnation),
            progress: progress)
        return FetchZoneChangesResponse(
            changed: page.changed, deleted: page.deleted,
            token: try seal.sealed(token.encoded(), .zone, for: binding),
            clientChangeTokenData: try ClientTokens.told(
                to: account.userName, after: told.lowerBound, upTo: told.upperBound, in: zoneReader),
            isMoreComing: page.isMoreComing, lookCount: page.lookCount)
    }
}

extension ZoneToken.Progress {
    fileprivate var isGuest: Bool {
        if case .guest = self { true } else { false }
    }

    /// Whether the zone has reached the sequences of the progress, and still has their history.
    fileprivate func isWithin(_ header: ZoneHeader) -> Bool {
        switch self {
        case .firstSync(let sync): return sync.end >= header.horizon && sync.end <= header.sequence
        case .owner(let owner):
            // Changes from before the first page only include live records.
            let oldest = max(owner.position, owner.beginning)
            return oldest >= header.horizon && oldest <= header.sequence
        case .guest(let guest):
            let end = guest.round?.end ?? guest.base
            guard guest.base <= end, end <= header.sequence else { return false }
            return (guest.base == 0 && guest.round == nil)
                || min(guest.base == 0 ? end : guest.base, end) >= header.horizon
        }
    }
}

/// The shares that a person sees at a sequence.
struct GuestSight {
    /// Up to this number, comparing names takes less time than hashing one.
    private static let comparedCount = 4

    let sequence: UInt64
    let shares: Set<RecordName>
    /// The shares, if they are few.
    private let few: [RecordName]

    init(sequence: UInt64 = 0, shares: Set<RecordName> = []) {
        (self.sequence, self.shares) = (sequence, shares)
        few = shares.count <= Self.comparedCount ? Array(shares) : []
    }

    /// Whether the person sees the share of this name. It is asked for every change.
    func sees(_ share: RecordName) -> Bool { few.isEmpty ? shares.contains(share) : few.contains(share) }
}

/// Which shares of a zone a person could see at which time: from their current and ended acceptances with a permission
/// (P-09, `SharedAccess`).
struct Admissions {
    /// A period in which the person saw a share.
    private struct Stay {
        let share: RecordName
        let began: UInt64
        /// Nil while it lasts.
        let ended: UInt64?

        func contains(_ moment: UInt64) -> Bool { began <= moment && ended.map { moment < $0 } ?? true }
    }

    private var stays: [Stay] = []

    /// Reads the periods since `start`: two seeks.
    init(of user: UserName, to zone: ZoneReader, identity: UUID, since start: UInt64) throws {
        try zone.store.forEach(in: GlobalKeys.acceptances(of: user, zone: identity)) { key, value in
            let entry = try AcceptanceEntry(decoding: value)
            guard entry.isOf(zone.id), SharedAccess(entry).isAdmitted else { return }
            let share = try GlobalKeys.readAcceptanceKey(key).share
            stays.append(Stay(share: share, began: entry.since, ended: nil))
        }
        try zone.store.forEach(in: zone.keys.endedAcceptances(of: user, after: start)) { key, value in
            let parts = try zone.keys.readEndedAcceptanceKey(key)
            let began = try EndedPeriodEntry(decoding: value).began
            stays.append(Stay(share: parts.share, began: began, ended: parts.ended))
        }
    }

    /// The shares that the person saw at a sequence; none at 0, before the first change.
    func shares(at moment: UInt64) -> Set<RecordName> {
        guard moment > 0 else { return [] }
        return Set(stays.lazy.filter { $0.contains(moment) }.map(\.share))
    }

    func sight(at moment: UInt64) -> GuestSight { GuestSight(sequence: moment, shares: shares(at: moment)) }

    /// The shares that the person started or stopped seeing after `start` and up to `end`, by name. With
    /// `countingReturns` also those that are the same at both ends.
    func changed(after start: UInt64, upTo end: UInt64, countingReturns: Bool) -> [RecordName] {
        let (before, after) = (shares(at: start), shares(at: end))
        var changed = before.symmetricDifference(after)
        if countingReturns {
            for stay in stays {
                let isWithin = { (sequence: UInt64) in sequence > start && sequence <= end }
                if isWithin(stay.began) || stay.ended.map(isWithin) ?? false { changed.insert(stay.share) }
            }
        }
        return changed.sorted()
    }
}

/// The token that a user's client sent with its last change of a zone, to recognise the change (T-11): one small entry,
/// written with the change. The feed returns it with the page that has the change; a request with the same token is not
/// applied again.
enum ClientTokens {
    static func entry(of user: UserName, in zone: ZoneReader) throws -> ClientTokenEntry? {
        try zone.store.withValue(forKey: zone.keys.clientToken(of: user)) { try ClientTokenEntry(decoding: $0) }
    }

    /// The token to return with a page of the changes after `start` and up to `end`.
    static func told(to user: UserName, after start: UInt64, upTo end: UInt64, in zone: ZoneReader) throws -> [UInt8]? {
        guard end > start, let entry = try entry(of: user, in: zone), entry.sequence > start, entry.sequence <= end
        else { return nil }
        return entry.data
    }

    /// Deletes the token of a person who no longer participates.
    static func forget(_ user: UserName, in zone: ZoneReader, _ transaction: RecordTransaction) throws {
        let key = zone.keys.clientToken(of: user)
        if try transaction.store.contains(key) { try transaction.delete(key) }
    }
}
