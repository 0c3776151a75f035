// Draws histories from a seed. It carries the oracle along, so that steps are drawn for the state they will meet: a
// random move of a random record would nearly always be refused, or nearly never.

import StratusModel

/// Draws the steps of one history.
package struct HistoryGenerator {
    let shape: HistoryShape
    var random: SplitMix64
    var oracle = OracleStore()
    private var births = 0
    private var time = 0

    /// The history of a seed: the same on every machine.
    package static func history(seed: UInt64, stepCount: Int) -> History {
        let shape = HistoryShape.shape(seed: seed)
        var generator = HistoryGenerator(shape: shape, random: SplitMix64(seed: seed))
        var history = History(depthLimit: shape.depthLimit, steps: [])
        for _ in 0..<stepCount { history.steps.append(generator.step()) }
        return history
    }

    package init(shape: HistoryShape, random: SplitMix64) {
        self.shape = shape
        self.random = random
    }

    /// The next step, applied to the generator's own oracle.
    package mutating func step() -> HistoryStep {
        let zone = pick(shape.zones) ?? 0
        guard oracle.zones[HistoryContent.zones[zone]] != nil else { return create(zone) }
        switch roll(100) {
        case 0..<2:
            _ = oracle.deleteZone(HistoryContent.zones[zone])
            return .deleteZone(zone)
        case 2: return create(zone)
        case 3..<7: return .reopen
        case 7..<9: return .compact
        case 9..<12: return .purgeHistory(zone: zone, keep: roll(4) * roll(8))
        case 12..<14: return .purgeZones(commits: roll(3) == 0 ? 1 : 1_000)
        case 14..<20: return .pin(steps: 1 + roll(6))
        default: return commit(zone)
        }
    }

    private mutating func create(_ zone: Int) -> HistoryStep {
        births += 1
        _ = oracle.createZone(HistoryContent.zones[zone], birth: births)
        return .createZone(zone)
    }

    private mutating func commit(_ zone: Int) -> HistoryStep {
        time += 1 + roll(3)
        var commit = HistoryCommit(time: time, isAborted: chance(4), requests: [])
        let before = oracle
        var isWhole = true
        for index in 0..<(chance(10) ? 2 + roll(2) : 1) {
            let target = index == 0 ? zone : pick(shape.zones) ?? zone
            let request = HistoryRequest(zone: target, items: items(in: HistoryContent.zones[target]))
            commit.requests.append(request)
            isWhole = carryOut(request) && isWhole
        }
        if commit.isAborted || !isWhole { oracle = before }
        return .commit(commit)
    }

    private mutating func carryOut(_ request: HistoryRequest) -> Bool {
        let limits = OracleLimits(depth: shape.depthLimit, itemCount: HistoryRunner.requestItemLimit)
        let outcome = oracle.apply(
            request.items.map(\.oracleItem), in: HistoryContent.zones[request.zone],
            stamp: HistoryContent.stamp(time), limits: limits)
        return outcome?.verdict == .accepted
    }

    // MARK: Chance

    mutating func roll(_ count: Int) -> Int { Int.random(in: 0..<max(1, count), using: &random) }

    mutating func chance(_ percent: Int) -> Bool { roll(100) < percent }

    mutating func pick<Element>(_ elements: [Element]) -> Element? { elements.randomElement(using: &random) }

    mutating func shuffled<Element>(_ elements: [Element]) -> [Element] { elements.shuffled(using: &random) }
}
