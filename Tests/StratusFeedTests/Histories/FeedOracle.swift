// What everyone could see at every moment of a history, computed naively: all states are kept and searched completely.
// A moment is the number of acts before it.

import StratusKit
import StratusSharingSupport

/// Everybody's data at all times.
final class FeedOracle {
    private struct Version {
        let since: Int
        let content: OracleZone?
    }

    private struct ViewKey: Hashable {
        let user: Int
        let zone: Int
        let version: Int
    }

    private(set) var sharing = SharingOracle()
    private(set) var moment = 0
    /// Each zone as it was, oldest first.
    private var versions: [Int: [Version]] = [:]
    /// Answers of `view`, which are requested repeatedly.
    private var views: [ViewKey: [String: String]?] = [:]

    func apply(_ step: SharingStep) -> Answers {
        let answers = sharing.apply(step)
        moment += 1
        if let zone = step.zone, sharing.zones[zone] != versions[zone]?.last?.content {
            versions[zone, default: []].append(Version(since: moment, content: sharing.zones[zone]))
        }
        return answers
    }

    func isSuspended(_ user: Int) -> Bool { sharing.suspended.contains(user) }

    /// The zones that a person sees, with the birth of each.
    func zones(of user: Int, isShared: Bool) -> [Int] {
        SharingHistory.zoneNames.indices.filter {
            sharing.owns(user, $0) != isShared && sharing.sees(user, $0) != nil
        }
    }

    func birth(of zone: Int) -> Int? { sharing.zones[zone]?.birth }

    /// What a person saw of a zone at a moment, records and shares in words by name; nil if the zone did not exist for
    /// them.
    func view(_ user: Int, _ zone: Int, at moment: Int) -> [String: String]? {
        index(of: zone, at: moment).flatMap { view(user, zone, version: $0) }
    }

    func birth(of zone: Int, at moment: Int) -> Int? {
        index(of: zone, at: moment).flatMap { versions[zone]?[$0].content?.birth }
    }

    /// Whether a person saw a record or share at that moment or later, in the zone that was born then.
    func saw(_ user: Int, _ name: String, in zone: Int, birth: Int?, since moment: Int) -> Bool {
        later(zone, than: moment).contains { index in
            versions[zone]?[index].content?.birth == birth && view(user, zone, version: index)?[name] != nil
        }
    }

    func sawZone(_ user: Int, _ zone: Int, since moment: Int) -> Bool {
        later(zone, than: moment).contains { view(user, zone, version: $0) != nil }
    }

    /// Names in the zone that a person has not seen since that moment.
    func unseenNames(_ user: Int, _ zone: Int, since moment: Int) -> [String] {
        guard let content = sharing.zones[zone] else { return [] }
        return (content.records.keys.sorted() + content.shares.keys.sorted()).filter {
            !saw(user, $0, in: zone, birth: content.birth, since: moment)
        }
    }

    // MARK: Versions

    private func index(of zone: Int, at moment: Int) -> Int? {
        versions[zone]?.lastIndex { $0.since <= moment }
    }

    private func later(_ zone: Int, than moment: Int) -> Range<Int> {
        let count = versions[zone]?.count ?? 0
        return (index(of: zone, at: moment) ?? 0)..<count
    }

    private func view(_ user: Int, _ zone: Int, version: Int) -> [String: String]? {
        let key = ViewKey(user: user, zone: zone, version: version)
        if let known = views[key] { return known }
        var seen: [String: String]?
        if let content = versions[zone]?[version].content {
            // Standing does not affect visibility.
            var past = SharingOracle()
            past.zones[zone] = content
            if past.sees(user, zone) != nil {
                seen = [:]
                for name in Array(content.records.keys) + Array(content.shares.keys) {
                    let text = past.view(name, of: user, zone)
                    if text != "\(Outcome.refused(.unknownItem))" { seen?[name] = text }
                }
            }
        }
        views[key] = .some(seen)
        return seen
    }
}
