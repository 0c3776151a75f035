// What a delivery reads, announced when the entries of the outbox are known: the people whom they concern with their
// devices, waiting notifications and subscriptions, and the shares whose viewers get news. Who sees a share follows
// from its record, and what waits for a device from its entry, so there are followers. See `ZoneReads`.

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

/// Announces the reads of one transaction of delivery. There is none where a store gains nothing.
struct DeliveryReads {
    /// Subscriptions of a person, devices of a person, and shares of a deleted zone that are read at once.
    private static let counts = (subscriptions: 256, devices: 64, shares: 64)

    private let people: PersonReads
    private let reader: RecordReader
    private var announced: Set<PersonReads.Scope> = []
    private var plan = ReadPlan()

    init?(_ directory: AccountDirectory, _ reader: RecordReader) {
        guard reader.store.gainsFromPrefetching else { return nil }
        self.reader = reader
        people = PersonReads(directory: directory)
    }

    func outbox(_ range: KeyRange, limit: Int) { reader.store.prefetch(range, .forward, limit: limit) }

    /// Announces what delivering the entries reads. An entry that cannot be decoded is reported where it is delivered.
    mutating func announce(_ entries: [(key: [UInt8], value: [UInt8])]) {
        for (key, value) in entries {
            guard let entry = try? OutboxEntry(decoding: value.span),
                let database = try? GlobalKeys.readOutboxKey(key.span).database
            else { continue }
            announce(entry, ZoneKeys(database: database, zone: entry.zoneNumber))
        }
        reader.store.prefetch(plan)
        plan = ReadPlan()
    }

    private mutating func announce(_ entry: OutboxEntry, _ zone: ZoneKeys) {
        switch entry.news {
        case .records, .subscriptionEnded: person(entry.owner, .private, entry)
        case .matches(let matches):
            let database: DatabaseSelector = entry.owner == nil ? .public : .private
            for match in matches {
                person(match.user, nil, entry)
                plan.add(
                    GlobalKeys.subscription(
                        SubscriptionKeyParts(
                            container: entry.container, user: match.user, database: database.rawValue,
                            id: match.subscription)))
            }
        case .zoneDeleted:
            person(entry.owner, .private, entry)
            plan.add(GlobalKeys.zone(zone.database, zone.zone, in: .releases))
            let follow = viewers(entry, zone)
            plan.add(zone.types(of: ShareContent.recordType), limit: Self.counts.shares) { key, _, reads in
                guard let share = try? zone.readTypeKey(key.span).name else { return }
                reads.add(zone.record(share), following: follow)
            }
        case .shares(let shares):
            for news in shares {
                if let users = news.users {
                    for user in users { person(user, .shared, entry) }
                } else if let owner = entry.owner {
                    let id = DatabaseID(container: entry.container, owner: owner, scope: .private)
                    reader.willRead(zone: ZoneID(database: id, name: entry.zone))
                    plan.add(zone.record(news.share), following: viewers(entry, zone))
                }
            }
        }
    }

    /// Announces a person, once for each of their databases.
    private mutating func person(_ user: UserName?, _ database: DatabaseSelector?, _ entry: OutboxEntry) {
        guard let user else { return }
        let scope = PersonReads.Scope(user: user, container: entry.container, database: database)
        if announced.insert(scope).inserted { people.add(scope, to: &plan) }
    }

    /// What follows from the record of a share: when each viewer accepted it, and the viewers.
    private func viewers(_ entry: OutboxEntry, _ zone: ZoneKeys) -> FetchFollower {
        { [people] key, value, reads in
            guard let name = try? zone.readRecordKey(key.span).name, let owner = entry.owner,
                let record = try? RecordCodec.decode(name, value.span).record,
                let content = try? record.shareContent()
            else { return }
            let place = SharePlace(
                container: entry.container, owner: owner, zone: entry.zone, zoneIdentity: entry.identity, share: name)
            for user in content.viewers {
                reads.add(place.acceptanceKey(of: user))
                people.add(
                    PersonReads.Scope(user: user, container: entry.container, database: .shared), to: &reads)
            }
        }
    }

    /// Adds what telling a person reads.
    private struct PersonReads: Sendable {
        struct Scope: Hashable, Sendable {
            let user: UserName
            let container: ContainerName
            /// The database to which they may have subscriptions; nil if these are known.
            let database: DatabaseSelector?
        }

        let directory: AccountDirectory

        func add(_ scope: Scope, to plan: inout ReadPlan) {
            if let database = scope.database {
                plan.add(
                    GlobalKeys.subscriptions(of: scope.user, in: scope.container, database: database.rawValue),
                    limit: DeliveryReads.counts.subscriptions)
            }
            guard let identity = AccountDirectory.identityKey(of: scope.user) else { return }
            if let account = directory.guessedIDs.guess(for: identity) {
                plan.add(identity)
                Self.add(account, to: &plan)
            } else {
                plan.add(identity) { _, value, reads in
                    guard let account = try? AccountIDEntry(decoding: value.span).account else { return }
                    Self.add(account, to: &reads)
                }
            }
        }

        private static func add(_ account: AccountID, to plan: inout ReadPlan) {
            plan.add(GlobalKeys.account(account))
            plan.add(GlobalKeys.devices(of: account), limit: DeliveryReads.counts.devices) { key, value, reads in
                guard let count = try? DeviceEntry(decoding: value.span).count, count > 0,
                    let name = try? GlobalKeys.readDeviceKey(key.span).name
                else { return }
                reads.add(GlobalKeys.notifications(for: account, name), limit: Int(clamping: count))
            }
        }
    }
}
