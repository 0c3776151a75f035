// Random keys of every keyspace. The switches are exhaustive, so that a new keyspace does not compile without its keys.

package import StratusLayout
import StratusModel

/// Draws valid keys from a generator.
package enum KeyGenerator {
    private typealias Draw = RecordGenerator

    /// A key of a keyspace of a zone.
    package static func key(of keyspace: ZoneKeyspace, in zone: ZoneKeys, _ random: inout SplitMix64) -> [UInt8] {
        let (a, b) = (Draw.name(&random), Draw.name(&random))
        let number = Draw.number(&random)
        switch keyspace {
        case .header: return zone.header()
        case .records:
            return random.isOne(in: 2) ? zone.record(a) : zone.recordChunk(a, index: 1 + random.below(300))
        case .parents: return zone.parent(of: a)
        case .children: return zone.child(parent: a, name: b)
        case .shareRoots: return zone.shareRoot(a)
        case .shareCounts: return zone.shareCount(parent: random.isOne(in: 2) ? nil : a, name: b)
        case .references:
            let action = random.element(of: ReferenceAction.allCases)
            return zone.reference(target: a, source: b, field: "f", action: action)
        case .types: return zone.type(RecordType(a.text), name: b)
        case .fields:
            // Generated elements are far from the depth limit, so writing them cannot fail.
            return zone.field(type: "T", field: "f", value: random.tupleElement(), name: a)
        case .tokens: return zone.token(a.text, field: "f", name: b)
        case .changes: return zone.change(sequence: number)
        case .endedParents: return zone.endedParent(child: a, ended: number)
        case .endedChildren: return zone.endedChild(parent: a, child: b, ended: number)
        case .endedShares: return zone.endedShare(root: a, ended: number)
        case .shareTokens: return zone.shareToken(random.isOne(in: 2) ? nil : a)
        case .shareEvents: return zone.shareEvent(sequence: number, index: Draw.number(&random))
        case .endedAcceptances: return zone.endedAcceptance(user: UserName(a.text), ended: number, share: b)
        case .clientTokens: return zone.clientToken(of: UserName(a.text))
        case .queryIndexes: return zone.queryIndexes(of: RecordType(a.text))
        }
    }

    /// A key of a keyspace of a database.
    package static func key(of keyspace: DatabaseKeyspace, _ random: inout SplitMix64) -> [UInt8] {
        let database = DatabaseKeys(DatabaseNumber(UInt64(1 + random.below(2) * 300)))
        let text = Draw.text(&random)
        switch keyspace {
        case .header: return database.header()
        case .zones: return database.zone(ZoneName(text))
        case .changes: return database.change(Draw.number(&random))
        case .subscriptions: return database.subscription(user: UserName(text), id: Draw.text(&random))
        case .schema:
            // The product writes no such key.
            return (try? KeyDescription.bytes(of: "\(database.number) / schema / \(ReadableText.quoted(text))")) ?? []
        case .zoneSettings: return database.zoneSettings(ZoneName(text))
        case .zoneMarkers: return database.zoneMarker(ZoneName(text))
        case .zoneAssets: return database.zoneAssets(ZoneName(text))
        }
    }

    /// A key of a keyspace outside every database.
    package static func key(of keyspace: GlobalKeyspace, _ random: inout SplitMix64) -> [UInt8] {
        let (a, b) = (Draw.text(&random), Draw.text(&random))
        let number = Draw.number(&random)
        let database = DatabaseNumber(UInt64(1 + random.below(2) * 300))
        let zone = ZoneNumber(UInt64(1 + random.below(300)))
        switch keyspace {
        case .format: return GlobalKeys.format()
        case .header: return GlobalKeys.header()
        case .databases:
            let owner = random.isOne(in: 2) ? nil : UserName(b)
            let scope = random.element(of: DatabaseScope.allCases)
            return GlobalKeys.database(DatabaseID(container: ContainerName(a), owner: owner, scope: scope))
        case .purges: return GlobalKeys.zone(database, zone, in: .purges)
        case .receipts: return GlobalKeys.receipt(random.bytes(count: random.below(33)))
        case .accounts: return GlobalKeys.account(AccountID(a))
        case .identities: return GlobalKeys.identity(random.element(of: IdentityKind.allCases), a)
        case .shareURLs: return GlobalKeys.shareURL(random.bytes(count: random.below(33)))
        case .acceptances:
            return GlobalKeys.acceptance(user: UserName(a), zone: random.uuid(), share: RecordName(b))
        case .assets: return GlobalKeys.asset(owner: UserName(a), digest: random.bytes(count: random.below(33)))
        case .schema: return GlobalKeys.schema(ContainerName(a), RecordType(b))
        case .usage: return GlobalKeys.usage(of: UserName(a))
        case .zoneUsage: return GlobalKeys.zoneUsage(of: UserName(a), zone: random.uuid())
        case .departures: return GlobalKeys.departure(of: UserName(a))
        case .releases: return GlobalKeys.zone(database, zone, in: .releases)
        case .rebuilds: return GlobalKeys.zone(database, zone, in: .rebuilds)
        case .tokenSecret: return GlobalKeys.tokenSecret()
        case .indexBuilds: return GlobalKeys.zone(database, zone, in: .indexBuilds)
        case .indexReviews: return GlobalKeys.indexReview(ContainerName(a), RecordType(b))
        case .indexing: return GlobalKeys.indexing()
        case .subscriptions:
            let kind = UInt8(1 + random.below(3))
            return GlobalKeys.subscription(
                SubscriptionKeyParts(container: ContainerName(a), user: UserName(b), database: kind, id: a))
        case .devices: return GlobalKeys.device(of: AccountID(a), b)
        case .notifications: return GlobalKeys.notification(for: AccountID(a), b, order: number)
        case .outbox: return GlobalKeys.outbox(database, counter: number, index: UInt64(random.below(300)))
        case .uploads:
            return GlobalKeys.upload(
                owner: UserName(a), digest: random.bytes(count: random.below(33)), lease: random.uuid())
        case .collecting:
            return GlobalKeys.content(
                ContentKeyParts(
                    owner: UserName(a), digest: random.bytes(count: random.below(33)), upload: random.uuid()))
        case .operations: return GlobalKeys.operation(a, number)
        case .work: return GlobalKeys.work(BackgroundWork.allCases[random.below(BackgroundWork.allCases.count)])
        case .hosts: return GlobalKeys.host(random.uuid())
        case .runs: return GlobalKeys.run(of: a)
        case .timeline: return GlobalKeys.timeline()
        }
    }
}
