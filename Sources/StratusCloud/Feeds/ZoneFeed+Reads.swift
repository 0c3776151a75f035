// What a page of a zone's feed reads, announced: before the first read what the request and its token say, and each
// batch of changes when it is known. See `ZoneReads`.

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

extension ZoneFeed {
    /// Announces what a page reads first, if the zone is guessed.
    static func announce(
        _ request: FetchZoneChangesRequest, _ database: DatabaseSelector, _ caller: Caller, user: UserName,
        _ seal: TokenSeal, _ options: CloudOptions, _ common: RequestReads
    ) {
        common.account(of: caller)
        common.announce([GlobalKeys.timeline()])
        let resolved = try? ScopeVerdict.zone(
            request.zone, in: database, container: caller.container, caller: user)
        guard let zone = resolved, let reads = common.zone(zone, user: user)?.reads else { return }
        let binding = TokenBinding(user: user, container: caller.container, database: database, zone: zone.id)
        announce(request, zone, user, seal, options, binding, reads)
    }

    /// Announces what a page reads when its zone is known, unless that is done.
    func announce(_ request: FetchZoneChangesRequest) {
        guard let common = RequestReads(reader), let reads = common.zone(zone, user: account.userName)?.reads else {
            return
        }
        Self.announce(request, zone, account.userName, seal, service.options, binding, reads)
    }

    private static func announce(
        _ request: FetchZoneChangesRequest, _ zone: ResolvedZone, _ user: UserName, _ seal: TokenSeal,
        _ options: CloudOptions, _ binding: TokenBinding, _ reads: ZoneReads
    ) {
        reads.announce([reads.keys.clientToken(of: user)])
        let token = request.token.flatMap { seal.opened($0, .zone, for: binding) }
            .flatMap { try? ZoneToken(decoding: $0.span) }
        switch token?.progress {
        case .owner(let progress): reads.changes(after: progress.position)
        case .guest(let progress):
            announceSight(of: user, since: progress.base, reads)
            reads.changes(after: progress.round.map { max($0.sequence, progress.base) } ?? progress.base)
            if let walk = progress.round?.walk, let top = walk.top, let last = walk.last {
                reads.walk(after: last, below: top)
            }
        case .firstSync(let sync): announceWalk(after: sync.last, request, zone, options, reads)
        case nil where zone.isShared: announceSight(of: user, since: 0, reads)
        case nil: announceWalk(after: nil, request, zone, options, reads)
        }
    }

    private static func announceWalk(
        after last: RecordName?, _ request: FetchZoneChangesRequest, _ zone: ResolvedZone, _ options: CloudOptions,
        _ reads: ZoneReads
    ) {
        let page = FeedPage(limit: request.limit, options, of: zone)
        reads.announce(reads.keys.records(after: last), limit: page.walkLimit)
    }

    /// What says what a guest could see when.
    private static func announceSight(of user: UserName, since start: UInt64, _ reads: ZoneReads) {
        reads.announce(reads.keys.endedAcceptances(of: user, after: start), limit: 256)
        reads.endings()
    }
}

extension OwnerFeed {
    /// Announces what telling of changes reads.
    func announce(_ changes: some Sequence<LatestWrite>, _ reads: ZoneReads) {
        var (saved, deleted): ([RecordName], [RecordName]) = ([], [])
        for change in changes {
            if case .saved = change.kind { saved.append(change.name) } else { deleted.append(change.name) }
        }
        reads.records(saved)
        guard start > 0, !deleted.isEmpty else { return }
        reads.pasts(of: deleted, after: start)
    }
}

extension GuestFeed {
    /// Announces what telling of a share's root, and walking below it, reads first.
    func announce(root: RecordName, _ reads: ZoneReads) {
        reads.records(CollectionOfOne(root))
        reads.places(of: CollectionOfOne(root))
        reads.children(of: CollectionOfOne(root), limit: ZoneReads.pageCount)
    }

    /// Announces what telling of changes reads, and reads where the records are, level by level for all of them.
    ///
    /// Changes that their entries pass need no more than their ended places and those of the parents. A full batch, and
    /// one larger than the room in the page, is worth a trip that finds these first; for a few changes one trip that
    /// fetches some records in vain is cheaper.
    mutating func announce(_ batch: [LatestWrite], _ reads: ZoneReads) throws {
        var unknownParents: Set<RecordName> = []
        for change in batch {
            guard case .saved(.below(let parent?)) = change.kind, !unseenParents.contains(parent) else { continue }
            unknownParents.insert(parent)
        }
        let passesUnseen = unknownParents.isEmpty || batch.count >= min(page.roomCount + 1, Self.batchCount)
        if passesUnseen {
            if !history.knowsMoves { reads.endedPlaces(of: batch.map(\.name), after: progress.base) }
            try history.loadChains(of: Array(unknownParents))
        }
        unseenSequences = []
        var names: [RecordName] = []
        for change in batch where names.count < page.roomCount {
            if try passesUnseen && isUnseen(change) {
                unseenSequences.insert(change.sequence)
            } else {
                names.append(change.name)
            }
        }
        reads.records(names)
        reads.pasts(of: names, after: progress.base)
        try history.loadChains(of: names)
    }
}
