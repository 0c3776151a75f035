// Draws histories of feeds from a seed: what people do is drawn as in histories of sharing, and after every act some
// readers read. Most begin at an older reader's position, so that the tokens of one person and place are of every age;
// some are left in the middle of their pages while others write.

import StratusKit
import StratusSharingSupport
import StratusTestSupport

/// Draws the steps of one history.
struct FeedGenerator {
    /// How long a history is, and how much is read in it.
    struct Size {
        var actCount: Int
        /// Of a hundred acts, the number after which something is read.
        var readPercentage = 70
        /// Readers that continue in the end, of each person and place.
        var lastReaderCount = 2
    }

    private struct Reader {
        let number: Int
        let user: Int
        let place: FeedPlace
    }

    private var random: SplitMix64
    private var acts: SharingGenerator
    private let zones: [Int]
    private var steps: [FeedStep] = []
    /// Readers that have read to the end, in that order.
    private var kept: [Reader] = []
    /// Readers in the middle of their pages.
    private var open: [Reader] = []
    private var readerCount = 0

    /// The history of a seed.
    static func history(seed: UInt64, _ size: Size) -> FeedHistory {
        var generator = FeedGenerator(seed: seed)
        for act in generator.acts.begin() { generator.add(act, size) }
        for _ in 0..<size.actCount {
            generator.add(generator.act(), size)
            if generator.random.isOne(in: 50) { generator.pass() }
        }
        generator.end(size)
        return FeedHistory(steps: generator.steps)
    }

    private init(seed: UInt64) {
        random = SplitMix64(seed: seed ^ 0xfeed)
        // One zone, two of one owner, and one of another owner as well.
        zones = [[0], [0, 2], [0, 2], [0, 1, 2]][Int(seed % 4)]
        acts = SharingGenerator(seed: seed, zones: zones)
    }

    private mutating func pass() {
        steps.append(random.isOne(in: 3) ? .upkeep : .age(days: random.element(of: [4, 12, 20, 31])))
    }

    // MARK: Acting

    private mutating func act() -> SharingStep {
        let suspended = acts.oracle.suspended.sorted()
        if !suspended.isEmpty, random.isOne(in: 4) { return taken(.restore(user: random.element(of: suspended))) }
        guard random.isOne(in: 3), let step = sharing(of: random.element(of: zones)) else { return acts.next() }
        return taken(step)
    }

    private mutating func taken(_ step: SharingStep) -> SharingStep {
        acts.take(step)
        return step
    }

    /// What a person lacks to see something of another's zone; nil if most see something.
    private mutating func sharing(of zone: Int) -> SharingStep? {
        let (oracle, owner) = (acts.oracle, SharingHistory.owners[zone])
        guard let content = oracle.zones[zone] else { return .create(zone: zone) }
        let others = (0..<SharingHistory.userCount).filter { $0 != owner && oracle.sees($0, zone) == nil }
        guard others.count > 1 else { return nil }
        let shares = content.shares.keys.sorted()
        guard !shares.isEmpty else {
            let names = content.records.keys.sorted()
            let name = "s\(acts.stepCount)"
            if names.isEmpty || random.isOne(in: 6) { return .shareZone(user: owner, zone: zone) }
            return .share(user: owner, zone: zone, root: random.element(of: names), share: name)
        }
        let (share, other) = (random.element(of: shares), random.element(of: others))
        if content.shares[share]?.member(other) != nil || content.shares[share]?.publicPermission != Permission.none {
            return .accept(user: other, zone: zone, share: share)
        }
        return .invite(
            user: owner, zone: zone, share: share, other: other, random.isOne(in: 3) ? .readOnly : .readWrite,
            .privateUser)
    }

    private mutating func add(_ act: SharingStep, _ size: Size) {
        steps.append(.act(act))
        if random.below(100) < size.readPercentage { beginReading(act) }
        guard !open.isEmpty, random.isOne(in: 2) else { return }
        let index = random.below(open.count)
        if random.isOne(in: 3) {
            finish(open.remove(at: index))
        } else {
            steps.append(.page(reader: open[index].number, limit: 1 + random.below(3)))
        }
    }

    /// Everyone reads everything once more, from some of the tokens they ever had; then the background work runs, and
    /// changes nothing.
    private mutating func end(_ size: Size) {
        for reader in open { finish(reader) }
        for user in 0..<SharingHistory.userCount {
            for place in FeedPlace.all(of: user, zones) {
                for _ in 0..<size.lastReaderCount { finish(begin(user, place)) }
            }
        }
        pass()
        for user in 0..<SharingHistory.userCount {
            for place in FeedPlace.all(of: user, zones) { finish(begin(user, place)) }
        }
    }

    // MARK: Reading

    private mutating func beginReading(_ act: SharingStep) {
        var place = FeedPlace.zone(act.zone ?? random.element(of: zones))
        switch random.below(100) {
        case 0..<14: place = .sharedZones
        case 14..<18: place = .privateZones
        case 18..<28: place = .zone(random.element(of: zones))
        default: break
        }
        let reader = begin(user(of: place), place)
        guard random.isOne(in: 4) else { return finish(reader) }
        steps.append(.page(reader: reader.number, limit: 1 + random.below(3)))
        open.append(reader)
    }

    /// Mostly a person who sees something there, or has seen it, and mostly not the owner.
    private mutating func user(of place: FeedPlace) -> Int {
        let all = Array(0..<SharingHistory.userCount)
        guard case .zone(let zone) = place, !random.isOne(in: 12) else { return random.element(of: all) }
        let oracle = acts.oracle
        let readers = all.filter { user in
            oracle.sees(user, zone) != nil || kept.contains { $0.user == user && $0.place == place }
        }
        let others = readers.filter { $0 != SharingHistory.owners[zone] && !oracle.suspended.contains($0) }
        if !others.isEmpty, !random.isOne(in: 4) { return random.element(of: others) }
        return readers.isEmpty ? random.element(of: all) : random.element(of: readers)
    }

    private mutating func begin(_ user: Int, _ place: FeedPlace) -> Reader {
        let reader = Reader(number: readerCount, user: user, place: place)
        readerCount += 1
        let known = kept.filter { $0.user == user && $0.place == place }
        // The newest, any, or none.
        var old: Reader?
        switch random.below(6) {
        case 0: break
        case 1, 2: old = known.last
        default: old = known.isEmpty ? nil : random.element(of: known)
        }
        steps.append(.begin(reader: reader.number, user: user, place, from: old?.number))
        return reader
    }

    private mutating func finish(_ reader: Reader) {
        let limit = random.element(of: [0, 0, 0, 1, 2, 3, 7])
        steps.append(
            random.isOne(in: 6)
                ? .operate(reader: reader.number, limit: limit) : .finish(reader: reader.number, limit: limit))
        kept.append(reader)
    }
}
