// Whom the news of a commit concern: (outbox entry, transaction) → users, and which of their subscriptions. Whether they
// still have such subscriptions is asked by whoever delivers.
//
// Others' zones are told of to those alone who see, or saw, something of what has changed:
//   * those whom the entry names: who saw the share before or after the commit, where that changed with it
//   * of other shares whoever sees the share now and already did at the commit. Who saw it then and does not now has ceased
//     to by a later commit, whose own entry names them.

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

/// What may make a user's subscriptions fire.
enum Occasion {
    /// Something happened in a zone of the user's own.
    case own(types: [RecordType]?)
    /// Something happened in a zone of another's.
    case shared(types: [RecordType]?)
    case matches([QueryMatch])
    /// A subscription of the user's has ended with its zone.
    case ended(String, NotificationTemplate?)
}

struct Recipients {
    let entry: OutboxEntry
    let database: DatabaseNumber
    let transaction: RecordTransaction

    /// Everybody who may be concerned and has not been told yet, in the order of their names.
    func all() throws -> [(user: UserName, occasions: [Occasion])] {
        var found: [UserName: [Occasion]] = [:]
        switch entry.news {
        case .records(let types): if let owner = entry.owner { found[owner] = [.own(types: types)] }
        case .matches(let matches):
            for (user, own) in Dictionary(grouping: matches, by: \.user) { found[user] = [.matches(own)] }
        case .zoneDeleted:
            if let owner = entry.owner { found[owner] = [.own(types: nil)] }
            for user in try viewersOfDeletedZone() { found[user, default: []].append(.shared(types: nil)) }
        case .subscriptionEnded(let id, let template):
            if let owner = entry.owner { found[owner] = [.ended(id, template)] }
        case .shares(let shares):
            for (user, types) in try users(of: shares) { found[user] = [.shared(types: types)] }
        }
        return found.filter { user, _ in entry.last.map { $0 < user } ?? true }
            .sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    // MARK: Shares

    /// The types of which records changed for each user; nil for any.
    private func users(of shares: [SharedNews]) throws -> [UserName: [RecordType]?] {
        var found: [UserName: [RecordType]?] = [:]
        for news in shares {
            for user in try news.users ?? viewers(of: news.share) {
                if let known = found[user] {
                    if let known, let types = news.types {
                        found[user] = .some(known + types)
                    } else {
                        found[user] = .some(nil)
                    }
                } else {
                    found[user] = .some(news.types)
                }
            }
        }
        return found
    }

    /// Who sees a share now and did at the commit.
    private func viewers(of share: RecordName) throws -> [UserName] {
        guard let owner = entry.owner, let zone = try liveZone(),
            let content = try zone.record(share)?.record.shareContent()
        else { return [] }
        guard let place = SharePlace(zone.id, identity: entry.identity, share: share) else { return [] }
        return try content.viewers.subtracting([owner]).filter { user in
            let key = place.acceptanceKey(of: user)
            let since = try transaction.store.withValue(forKey: key) { try AcceptanceEntry(decoding: $0).since }
            return since.map { $0 <= entry.sequence } ?? false
        }
    }

    /// The zone, if it is still the one of the entry: its deletion has news of its own.
    private func liveZone() throws -> ZoneReader? {
        let database = DatabaseID(
            container: entry.container, owner: entry.owner, scope: entry.owner == nil ? .public : .private)
        let id = ZoneID(database: database, name: entry.zone)
        guard try transaction.listing(of: id)?.entry.identity == entry.identity else { return nil }
        return try transaction.zone(id)
    }

    /// Who saw anything of a zone that is deleted. Its keys are there until a release has let go of its shares, which it
    /// does not before this is told.
    private func viewersOfDeletedZone() throws -> Set<UserName> {
        let key = GlobalKeys.release(database, entry.zoneNumber)
        let release = try transaction.store.withValue(forKey: key) { try ReleaseEntry(decoding: $0) }
        guard let release, release.identity == entry.identity else { return [] }
        let zone = transaction.zone(of: release)
        var viewers: Set<UserName> = []
        try zone.store.scan(zone.keys.types(of: ShareContent.recordType).keyRange) { key, _ in
            let share = try zone.keys.readTypeKey(key).name
            if let content = try zone.record(share)?.record.shareContent() { viewers.formUnion(content.viewers) }
            return .next
        }
        return viewers
    }
}
