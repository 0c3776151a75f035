// What one zone's transaction reads, announced before its first read. What is not known by then is announced where it
// becomes known: the places of records that move (`MutationPlanner.announceRest`), each level of a cascade, accounts,
// and the entries of shares. See `ZoneReads`.
//
// All of it is a guess. An announced read that does not happen costs bandwidth; a read that was not announced costs a
// trip. `TripTests` counts the trips.

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

/// Announces the reads of a `ZoneRequest`. Nil on a store that gains nothing from announcements.
struct BatchReads {
    /// Subscriptions that are read at once: of a person, and of everyone to a public database.
    private static let subscriptionCounts = (person: 256, everyone: 4_096)
    /// A record of so many bytes may have been stored in chunks.
    private static let chunkedByteCount = LayoutLimits.maximumChunkByteCount / 2

    private let service: CloudService
    private let request: ZoneRequest
    private let user: UserName
    private let reader: RecordReader
    private let common: RequestReads
    /// Whether records may start or stop holding files.
    private let changesFiles: Bool
    private var guess: GuessedZone?

    init?(
        _ service: CloudService, _ request: ZoneRequest, _ caller: Caller, user: UserName, intake: AssetIntake,
        in reader: RecordReader
    ) {
        guard let common = RequestReads(reader) else { return nil }
        self.service = service
        self.request = request
        self.user = user
        self.reader = reader
        self.common = common
        let digests = intake.digests(for: request)
        changesFiles = !digests.isEmpty || !request.deletes.isEmpty
        common.account(of: caller)
        announceBesidesZone(caller, digests)
        announceZone()
    }

    /// Announces the rest when the zone is known, unless it was guessed.
    mutating func found(_ zone: ZoneReader) {
        if guess?.reads.keys.zone == zone.keys.zone, guess?.reads.keys.database == zone.keys.database { return }
        announceZone()
    }

    private var saves: some Sequence<ItemSave> { request.saves.lazy.filter { $0.error == nil } }
    private var types: Set<RecordType> {
        Set(saves.map(\.save.type).filter { RequestReads.mayBeKey($0) }.map { RecordType($0) })
    }
    private var shares: [ItemSave] { saves.filter { $0.save.isShare } }

    /// Names that were not checked before, as far as a record can have them.
    private func names(_ claimed: some Sequence<String>) -> [RecordName] {
        claimed.filter { NameRules.recordNameError($0) == nil }.map { RecordName($0) }
    }

    // MARK: Besides the zone

    private func announceBesidesZone(_ caller: Caller, _ digests: [[UInt8]]) {
        let owner = request.zone.assetOwner
        let container = caller.container
        common.schema(of: types, in: container)
        common.announce([GlobalKeys.usage(of: owner)])
        common.announce(digests.map { GlobalKeys.asset(owner: owner, digest: $0) })
        let subscriptions = GlobalKeys.subscriptions(in: container)
        guard let person = request.zone.id.database.owner, !request.zone.isPublic else {
            return common.announce(subscriptions, limit: Self.subscriptionCounts.everyone)
        }
        common.announce(subscriptions, limit: 1)
        let own = GlobalKeys.subscriptions(
            of: person, in: container, from: DatabaseSelector.private.rawValue,
            through: DatabaseSelector.shared.rawValue)
        common.announce(own, limit: Self.subscriptionCounts.person)
        var people = shares.flatMap { $0.save.sharing?.participants ?? [] }
            .compactMap { $0.lookup.flatMap(AccountDirectory.identityKey) }
        if request.zone.isShared { people += [AccountDirectory.identityKey(of: person)].compactMap { $0 } }
        service.accountDirectory.announce(people, in: reader)
    }

    // MARK: In the zone

    private mutating func announceZone() {
        guess = common.zone(request.zone, user: user)
        guard let guess else { return }
        let (reads, owner) = (guess.reads, request.zone.assetOwner)
        common.announce([GlobalKeys.zoneUsage(of: owner, zone: guess.identity)])
        if request.clientToken != nil { reads.announce([reads.keys.clientToken(of: user)]) }
        reads.presence(of: ShareContent.recordType)
        if changesFiles { reads.announce([DatabaseKeys(reads.keys.database).zoneAssets(request.zone.id.name)]) }
        announceSaves(reads)
        announceDeletes(reads)
        if !shares.isEmpty { announceShares(reads) }
    }

    private func announceSaves(_ reads: ZoneReads) {
        let large = saves.filter { $0.save.contentByteCount(request.policy) > Self.chunkedByteCount }
        reads.recordsWithChunks(large.map(\.name))
        reads.records(saves.map(\.name))
        // A record that keeps its parent names it again.
        reads.parents(of: saves.map(\.name))
        reads.queryIndexes(of: types)
        var placed = names(saves.compactMap(\.save.parent?.target.recordName))
        if service.options.childSaveTouchesParent { reads.records(placed) }
        let owners = names(saves.flatMap { $0.save.newOwners(request.policy) })
        reads.references(to: Set(owners), limit: service.options.owningReferenceCount + 1)
        // What a person who does not own the zone may do depends on where the records are.
        if request.zone.isShared { placed += saves.map(\.name) + owners }
        reads.places(of: placed)
    }

    private func announceDeletes(_ reads: ZoneReads) {
        let names = request.deletes.lazy.filter { $0.error == nil }.map(\.name)
        guard !request.deletes.isEmpty else { return }
        reads.deletions(of: Array(names), limit: 4 * service.engine.options.limits.requestItemCount)
        reads.announce(reads.keys.keyspace(.shareTokens), limit: 1)
        // Only the stored records say which types they have.
        reads.queryIndexes()
    }

    private func announceShares(_ reads: ZoneReads) {
        let keys = reads.keys
        let roots = names(shares.compactMap(\.save.sharing?.root?.recordName))
        reads.places(of: roots + [ShareContent.zoneWideName] + shares.map(\.name))
        reads.shareCounts(of: roots)
        reads.announce(keys.keyspace(.shareRoots), limit: 1)
        reads.announce(roots.map { keys.shareToken($0) } + [keys.shareToken(nil)])
        reads.announce([DatabaseKeys(keys.database).zoneSettings(request.zone.id.name)])
    }
}

extension RecordSave {
    /// The records that the sent values point at with `deleteSelf`.
    fileprivate func newOwners(_ policy: SavePolicy) -> [String] {
        sentKeys(policy).flatMap { key in fields[key].map { Self.owners(of: $0.value) } ?? [] }
    }

    private static func owners(of value: ClientValue) -> [String] {
        switch value {
        case .reference(let reference) where reference.action == .deleteSelf: [reference.target.recordName]
        case .list(let items): items.flatMap { owners(of: $0) }
        default: []
        }
    }
}

extension ZoneBatch {
    /// Announces the contents that records start and stop holding.
    func announce(_ assets: AssetChange) {
        guard !assets.isEmpty, let reads = RequestReads(transaction) else { return }
        let digests = Set(assets.added.keys.map(\.digest) + assets.gone.keys.map(\.digest))
        reads.announce(digests.map { GlobalKeys.asset(owner: request.zone.assetOwner, digest: $0) })
    }
}
