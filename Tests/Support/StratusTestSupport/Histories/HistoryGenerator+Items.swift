// The requests of a drawn history: difficult moves are more frequent than by chance.

import StratusModel

extension HistoryGenerator {
    /// The items of one request for the zone's current state.
    mutating func items(in id: ZoneID) -> [HistoryItem] {
        guard let zone = oracle.zones[id] else { return [save(pick(shape.names) ?? "a", in: nil)] }
        let items =
            switch roll(20) {
            case 0..<6: mixed(zone)
            case 6..<8: growth(zone)
            case 8..<10: move(zone)
            case 10: swap(zone)
            case 11: rotation(zone)
            case 12: chain(zone)
            case 13: removal(zone)
            case 14..<17: marking(zone)
            case 17: handover(zone)
            default: move(zone) + marking(zone)
            }
        return chance(2) ? items : once(items)
    }

    /// The same items, each record named once.
    private func once(_ items: [HistoryItem]) -> [HistoryItem] {
        var seen: Set<RecordName> = []
        return items.filter { seen.insert($0.name).inserted }
    }

    private mutating func mixed(_ zone: OracleZone) -> [HistoryItem] {
        (0..<(1 + roll(shape.largestBatch))).map { _ in
            let name = pick(shape.names) ?? "a"
            return chance(25) ? .delete(name) : save(name, in: zone)
        }
    }

    /// A save with the record's parent and share, or others.
    private mutating func save(_ name: RecordName, in zone: OracleZone?) -> HistoryItem {
        let old = zone?.live[name]?.record
        var parent = old?.parent
        if old == nil || chance(30) { parent = somewhere(zone) }
        var share = old?.share
        if chance(old?.share == nil ? 8 : 30) { share = chance(60) ? pick(shape.shares) : nil }
        return .save(name: name, parent: parent, share: share, content: roll(shape.contentCount))
    }

    private mutating func somewhere(_ zone: OracleZone?) -> RecordName? {
        if chance(15) { return nil }
        if let zone, chance(85) { return living(zone) }
        return pick(shape.names)
    }

    /// A live record, found the same way on every run.
    private mutating func living(_ zone: OracleZone) -> RecordName? { pick(zone.live.keys.sorted()) }

    private mutating func living(_ zone: OracleZone, _ count: Int) -> [RecordName] {
        Array(shuffled(zone.live.keys.sorted()).prefix(count))
    }

    private mutating func placed(_ name: RecordName, under parent: RecordName?, _ zone: OracleZone) -> HistoryItem {
        let share = zone.live[name]?.record.share
        return .save(name: name, parent: parent, share: share, content: roll(shape.contentCount))
    }

    /// New records below existing ones, several generations at once, in any order.
    private mutating func growth(_ zone: OracleZone) -> [HistoryItem] {
        var above = living(zone, 2)
        var items: [HistoryItem] = []
        for name in shuffled(shape.names).prefix(1 + roll(shape.largestBatch)) where zone.live[name] == nil {
            items.append(placed(name, under: pick(above), zone))
            above.append(name)
        }
        return shuffled(items)
    }

    private mutating func move(_ zone: OracleZone) -> [HistoryItem] {
        living(zone, 1 + roll(3)).map { placed($0, under: somewhere(zone), zone) }
    }

    /// A record changes places with one above or below it.
    private mutating func swap(_ zone: OracleZone) -> [HistoryItem] {
        guard let lower = living(zone), let upper = pick(zone.ancestors(of: lower)) else { return mixed(zone) }
        let top = zone.live[upper]?.record.parent
        let between = zone.ancestors(of: lower).prefix { $0 != upper }
        var items = [placed(lower, under: top, zone), placed(upper, under: lower, zone)]
        if let child = between.last, chance(70) { items.append(placed(child, under: pick([upper, lower]), zone)) }
        return shuffled(items)
    }

    /// Three records, each under the next one's parent or under the next one.
    private mutating func rotation(_ zone: OracleZone) -> [HistoryItem] {
        let names = living(zone, 3)
        let isRing = chance(20)
        return names.indices.map { index in
            let next = names[(index + 1) % names.count]
            return placed(names[index], under: isRing ? next : zone.live[next]?.record.parent, zone)
        }
    }

    /// Records in one line, around the depth limit.
    private mutating func chain(_ zone: OracleZone) -> [HistoryItem] {
        let names = Array(shuffled(shape.names).prefix(2 + roll(min(shape.depthLimit + 2, shape.names.count))))
        let items = names.indices.map { index in
            placed(names[index], under: index == 0 ? somewhere(zone) : names[index - 1], zone)
        }
        return chance(50) ? shuffled(items) : items
    }

    /// A subtree deleted whole, or nearly; the rest may move out.
    private mutating func removal(_ zone: OracleZone) -> [HistoryItem] {
        guard let root = living(zone) else { return mixed(zone) }
        let below = zone.live.keys.sorted().filter { zone.ancestors(of: $0).contains(root) }
        let items = ([root] + below).map { name in
            chance(8) ? placed(name, under: zone.live[root]?.record.parent, zone) : HistoryItem.delete(name)
        }
        return shuffled(chance(10) ? Array(items.dropLast()) : items)
    }

    /// Share marks set or cleared.
    private mutating func marking(_ zone: OracleZone) -> [HistoryItem] {
        living(zone, 1 + roll(2)).map { name in
            let old = zone.live[name]?.record
            let share = old?.share == nil || chance(15) ? pick(shape.shares) : nil
            return .save(name: name, parent: old?.parent, share: share, content: roll(shape.contentCount))
        }
    }

    /// A share mark moved to a record above or below, both at once.
    private mutating func handover(_ zone: OracleZone) -> [HistoryItem] {
        let roots = zone.live.keys.sorted().filter { zone.live[$0]?.record.share != nil }
        guard let root = pick(roots), let old = zone.live[root]?.record else { return marking(zone) }
        let kin = zone.live.keys.sorted().filter {
            zone.ancestors(of: $0).contains(root) || zone.ancestors(of: root).contains($0)
        }
        guard let heir = pick(kin) else { return marking(zone) }
        let items: [HistoryItem] = [
            .save(name: root, parent: old.parent, share: nil, content: roll(shape.contentCount)),
            .save(
                name: heir, parent: zone.live[heir]?.record.parent, share: old.share, content: roll(shape.contentCount)),
        ]
        return shuffled(items)
    }
}
