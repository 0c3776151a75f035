// Draws histories from a seed. The generator knows the oracle's state, so that most steps have something to act on;
// about one in six is drawn blindly, so that everything is also tried where it makes no sense.

import StratusKit
import StratusTestSupport

/// Draws the steps of one history.
package struct SharingGenerator {
    private var random: SplitMix64
    /// Everything after the last step that was drawn or applied.
    package private(set) var oracle = SharingOracle()
    private var steps: [SharingStep] = []
    private let zones: [Int]
    /// Histories of zones that are shared whole, of records that are, and of both.
    private let zoneShareOdds: Int
    /// Whether there are requests for access, which no feed reports.
    private let asksForAccess: Bool

    /// The history of a seed.
    package static func history(seed: UInt64, stepCount: Int) -> SharingHistory {
        var generator = SharingGenerator(
            seed: seed, zones: seed.isMultiple(of: 2) ? [0] : [0, 1], asksForAccess: true)
        generator.begin()
        while generator.steps.count < stepCount { _ = generator.next() }
        return SharingHistory(steps: generator.steps)
    }

    package init(seed: UInt64, zones: [Int], asksForAccess: Bool = false) {
        random = SplitMix64(seed: seed)
        self.asksForAccess = asksForAccess
        self.zones = zones
        zoneShareOdds = [0, 5, 10][Int(seed / 2 % 3)]
    }

    private mutating func add(_ step: SharingStep) {
        steps.append(step)
        _ = oracle.apply(step)
    }

    /// A tree in the first zone, so that there is something to share.
    @discardableResult
    package mutating func begin() -> [SharingStep] {
        for zone in zones { add(.create(zone: zone)) }
        add(.save(user: 0, zone: 0, name: "a", above: .nothing, value: 1))
        add(.save(user: 0, zone: 0, name: "b", above: .record("a"), value: 2))
        return steps
    }

    /// Draws the next step.
    package mutating func next() -> SharingStep {
        var step = draw()
        while step.isAboutSelf { step = draw() }
        add(step)
        return step
    }

    /// Applies a step that another generator has drawn.
    package mutating func take(_ step: SharingStep) { add(step) }

    /// The number of steps until now, by which values and shares are named.
    package var stepCount: Int { steps.count }

    // MARK: Choosing

    private mutating func draw() -> SharingStep {
        let zone = random.element(of: zones)
        if oracle.zones[zone] == nil, !random.isOne(in: 4) { return .create(zone: zone) }
        let isBlind = random.isOne(in: 6)
        switch random.below(100) {
        case 0..<20: return save(zone, isBlind)
        case 20..<26: return delete(zone, isBlind)
        case 26..<37: return share(zone, isBlind)
        case 37..<49:
            let permission = random.element(of: [Permission.readWrite, .readWrite, .readOnly, .readOnly, .none])
            return .invite(
                user: keeper(zone, isBlind), zone: zone, share: shareName(zone, isBlind), other: other(zone),
                permission, random.isOne(in: 4) ? .administrator : .privateUser)
        case 49..<62:
            let share = shareName(zone, isBlind)
            return .accept(user: invited(share, zone, isBlind), zone: zone, share: share)
        case 62..<67: return .delete(user: user(zone, isBlind), zone: zone, name: shareName(zone, isBlind))
        case 67..<85: return joiningStep(zone, isBlind)
        default: return rarerStep(zone, isBlind)
        }
    }

    /// Requests for access, and other ways to join than an invitation by e-mail. What has begun in a share is mostly
    /// continued.
    private mutating func joiningStep(_ zone: Int, _ isBlind: Bool) -> SharingStep {
        let shares = oracle.zones[zone]?.shares ?? [:]
        let begun = shares.filter { !$0.value.requesters.isEmpty || !$0.value.blocked.isEmpty }.keys.sorted()
        let share = begun.isEmpty || random.isOne(in: 4) ? shareName(zone, isBlind) : random.element(of: begun)
        let keeper = keeper(zone, isBlind)
        func step(_ user: Int, _ deed: JoiningStep.Deed) -> SharingStep {
            .join(JoiningStep(user: user, zone: zone, share: share, deed))
        }
        let permission = random.element(of: [Permission.readWrite, .readOnly, .none])
        let content = shares[share]
        if let blocked = chosen(content?.blocked), random.isOne(in: 2) {
            switch random.below(5) {
            case 0: return step(blocked, .ask)
            case 1: return .accept(user: blocked, zone: zone, share: share)
            case 2: return .publish(user: keeper, zone: zone, share: share, .readOnly)
            case 3: return step(keeper, .inviteByRecord(blocked, permission))
            default: return step(keeper, .unblock(blocked))
            }
        }
        if let asking = chosen(content?.requesters), random.isOne(in: 2) {
            switch random.below(5) {
            case 0: return step(keeper, .approve(asking, permission))
            case 1: return step(keeper, .deny(asking))
            default: return step(keeper, .block(asking))
            }
        }
        // Few shares accept requests by themselves.
        if content?.allowsRequests == false, random.isOne(in: 3) { return step(keeper, .allowRequests(true)) }
        return firstStep(share, zone, keeper, permission)
    }

    /// A step that requests access, invites, or uses a personal URL.
    private mutating func firstStep(
        _ share: String, _ zone: Int, _ keeper: Int, _ permission: Permission
    ) -> SharingStep {
        let members = oracle.zones[zone]?.shares[share]?.members ?? []
        let strangers = (0..<SharingHistory.userCount).filter { user in !members.contains { $0.user == user } }
        let anybody = random.below(SharingHistory.userCount)
        let stranger = random.isOne(in: 3) ? anybody : chosen(strangers) ?? anybody
        let deed: JoiningStep.Deed
        switch random.below(12) {
        case 0: deed = .allowRequests(random.isOne(in: 2))
        case 1..<5 where asksForAccess:
            return .join(JoiningStep(user: stranger, zone: zone, share: share, .ask))
        case 5: deed = .inviteByRecord(other(zone), permission)
        case 6: deed = .unblock(other(zone))
        case 7: deed = .revoke(url: oneTimeURL(share, zone))
        case 8, 9, 10:
            let user = random.isOne(in: 3) ? invited(share, zone, false) : stranger
            let deed = JoiningStep.Deed.acceptOnce(url: oneTimeURL(share, zone))
            return .join(JoiningStep(user: user, zone: zone, share: share, deed))
        default: deed = .inviteOnce(url: steps.count, permission)
        }
        return .join(JoiningStep(user: keeper, zone: zone, share: share, deed))
    }

    private mutating func chosen(_ people: [Int]?) -> Int? {
        guard let people, !people.isEmpty else { return nil }
        return random.element(of: people)
    }

    /// A one-time URL of a share, or of another one of its zone, so that nothing happens elsewhere than the step names.
    private mutating func oneTimeURL(_ share: String, _ zone: Int) -> Int {
        let inZone = oracle.oneTimeURLs.filter { $0.value.zone == zone }
        let own = inZone.filter { $0.value.share == share }.keys.sorted()
        let all = own.isEmpty ? inZone.keys.sorted() : own
        return all.isEmpty ? steps.count : random.element(of: all)
    }

    private mutating func rarerStep(_ zone: Int, _ isBlind: Bool) -> SharingStep {
        let share = shareName(zone, isBlind)
        switch random.below(23) {
        case 0..<5: return .remove(user: keeper(zone, isBlind), zone: zone, share: share, other: other(zone))
        case 5..<10:
            return .permit(
                user: keeper(zone, isBlind), zone: zone, share: share, other: other(zone),
                random.element(of: [.none, .readOnly, .readWrite]))
        case 10..<15:
            return .publish(
                user: keeper(zone, isBlind), zone: zone, share: share,
                random.element(of: [.none, .readOnly, .readWrite]))
        case 15..<18: return .rename(user: keeper(zone, isBlind), zone: zone, share: share, title: steps.count)
        case 18..<20: return .drop(zone: zone)
        default:
            // The owners of zones stay in good standing: other tests cover their data.
            let user = 2 + random.below(2)
            return oracle.suspended.contains(user) ? .restore(user: user) : .suspend(user: user)
        }
    }

    private mutating func save(_ zone: Int, _ isBlind: Bool) -> SharingStep {
        var name = random.element(of: SharingHistory.recordNames)
        let user = user(zone, isBlind)
        if !oracle.owns(user, zone), random.below(3) > 0, let visible = visibleName(user, zone) { name = visible }
        let above: PlacedAbove =
            switch random.below(6) {
            case 0: .kept
            case 1: .nothing
            case 2, 3: .record(visibleName(user, zone) ?? random.element(of: SharingHistory.recordNames))
            default: .record(random.element(of: SharingHistory.recordNames))
            }
        return .save(user: user, zone: zone, name: name, above: above, value: steps.count)
    }

    private mutating func delete(_ zone: Int, _ isBlind: Bool) -> SharingStep {
        let user = user(zone, isBlind)
        // Roots without children are rare, and matter most.
        let content = oracle.zones[zone]
        let roots = content?.shares.values.compactMap(\.root).sorted() ?? []
        let leaves = roots.filter { root in content?.records.values.contains { $0.parent == root } == false }
        if !leaves.isEmpty, random.isOne(in: 2) {
            return .delete(user: user, zone: zone, name: random.element(of: leaves))
        }
        return .delete(user: user, zone: zone, name: random.element(of: SharingHistory.recordNames))
    }

    private mutating func share(_ zone: Int, _ isBlind: Bool) -> SharingStep {
        let user = isBlind ? random.below(SharingHistory.userCount) : SharingHistory.owners[zone]
        if random.below(10) < zoneShareOdds { return .shareZone(user: user, zone: zone) }
        let existing = oracle.zones[zone]?.records.keys.sorted() ?? []
        let root =
            existing.isEmpty || isBlind
            ? random.element(of: SharingHistory.recordNames) : random.element(of: existing)
        return .share(user: user, zone: zone, root: root, share: "s\(steps.count)")
    }

    // MARK: People and records

    private mutating func user(_ zone: Int, _ isBlind: Bool) -> Int {
        isBlind || random.below(5) < 3 ? random.below(SharingHistory.userCount) : SharingHistory.owners[zone]
    }

    private mutating func keeper(_ zone: Int, _ isBlind: Bool) -> Int {
        isBlind || random.isOne(in: 3) ? random.below(SharingHistory.userCount) : SharingHistory.owners[zone]
    }

    /// A person who is not the owner.
    private mutating func other(_ zone: Int) -> Int {
        let others = (0..<SharingHistory.userCount).filter { !oracle.owns($0, zone) }
        return random.element(of: others)
    }

    private mutating func shareName(_ zone: Int, _ isBlind: Bool) -> String {
        let now = oracle.zones[zone]?.shares.keys.sorted() ?? []
        let ever = oracle.urls[zone]?.keys.sorted() ?? []
        if !now.isEmpty, !isBlind { return random.element(of: now) }
        return ever.isEmpty ? SharingHistory.zoneShare : random.element(of: ever)
    }

    private mutating func invited(_ share: String, _ zone: Int, _ isBlind: Bool) -> Int {
        let pending = oracle.zones[zone]?.shares[share]?.members.filter { !$0.hasAccepted }.compactMap(\.user) ?? []
        if !pending.isEmpty, !isBlind { return random.element(of: pending) }
        return random.below(SharingHistory.userCount)
    }

    private mutating func visibleName(_ user: Int, _ zone: Int) -> String? {
        guard let content = oracle.sees(user, zone) else { return nil }
        let names = content.records.keys.sorted().filter { oracle.reads(user, $0, zone, content) }
        return names.isEmpty ? nil : random.element(of: names)
    }
}

extension SharingStep {
    /// Whether a person changes their own entry in a share, about which the rules say nothing.
    package var isAboutSelf: Bool {
        switch self {
        case .invite(let user, _, _, let other, _, _), .remove(let user, _, _, let other),
            .permit(let user, _, _, let other, _):
            user == other
        case .join(let step): step.user == step.other
        default: false
        }
    }
}
