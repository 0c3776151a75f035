// How a reader applies a page, and the checks on the way.

import StratusKit
import StratusSharingSupport

extension FeedReader {
    /// Applies a page of this moment.
    mutating func take(_ page: FeedPage, limit: Int, _ oracle: FeedOracle) throws {
        if limit > 0, page.entryCount > limit { throw wrong("\(page.entryCount) entries in a page of \(limit)") }
        if isAtEnd, readMoment == oracle.moment, page.entryCount > 0 || page.isMoreComing {
            throw wrong("nothing has changed, and \(page.entryCount) entries are reported")
        }
        guard page.token != nil else { throw wrong("a page without a token") }
        since = since ?? oracle.moment
        for name in page.changed.keys.sorted() where page.deleted[name] != nil {
            throw wrong("one page tells \(name) and deletes it")
        }
        switch place {
        case .zone(let zone): try checkRecords(page, zone, oracle)
        case .privateZones, .sharedZones: try checkZones(page, oracle)
        }
        for (name, told) in page.changed { replica[name] = told }
        for name in page.deleted.keys { replica[name] = nil }
        token = page.token
        readMoment = oracle.moment
        isAtEnd = !page.isMoreComing
        if isAtEnd { try end(oracle) }
    }

    private func wrong(_ message: String) -> FeedFailure {
        FeedFailure(step: nil, message: "to \(user) \(place): \(message)")
    }

    // MARK: Pages

    private mutating func checkRecords(_ page: FeedPage, _ zone: Int, _ oracle: FeedOracle) throws {
        birth = birth ?? oracle.birth(of: zone)
        let view = oracle.view(user, zone, at: oracle.moment) ?? [:]
        for (name, told) in page.changed.sorted(by: { $0.key < $1.key }) where view[name] != told.text {
            throw wrong("\(name) is reported as '\(told.text)', and is '\(view[name] ?? "not to be seen")'")
        }
        for (name, type) in page.deleted.sorted(by: { $0.key < $1.key }) {
            // A middle page may show a past moment; the last page may not.
            if view[name] != nil, !page.isMoreComing { throw wrong("\(name) is deleted and can be seen") }
            guard oracle.saw(user, name, in: zone, birth: birth, since: since ?? 0) else {
                throw wrong("\(name) is deleted and could never be seen since moment \(since ?? 0)")
            }
            let isShare = !SharingHistory.recordNames.contains(name)
            let wanted = isShare ? CKRecord.SystemType.share : Person.recordType
            guard type == wanted else { throw wrong("\(name) is deleted as \(type), and was a \(wanted)") }
        }
    }

    private mutating func checkZones(_ page: FeedPage, _ oracle: FeedOracle) throws {
        let seen = Set(oracle.zones(of: user, isShared: place == .sharedZones))
        for name in page.changed.keys.sorted() {
            guard let zone = Self.zone(name), seen.contains(zone) else {
                throw wrong("the zone \(name) is reported and cannot be seen")
            }
            told[name] = oracle.moment
        }
        for (name, reason) in page.deleted.sorted(by: { $0.key < $1.key }) {
            guard let zone = Self.zone(name), !seen.contains(zone) else {
                throw wrong("the zone \(name) is deleted and can be seen")
            }
            guard oracle.sawZone(user, zone, since: since ?? 0) else {
                throw wrong("the zone \(name) is deleted and could never be seen since moment \(since ?? 0)")
            }
            guard reason == "deleted" else { throw wrong("the zone \(name) is deleted because of \(reason)") }
            told[name] = oracle.moment
        }
    }

    private static func zone(_ name: String) -> Int? { SharingHistory.zoneNames.firstIndex(of: name) }

    // MARK: The end

    /// No more is coming: the replica equals what is visible.
    private mutating func end(_ oracle: FeedOracle) throws {
        switch place {
        case .zone(let zone):
            let view = oracle.view(user, zone, at: oracle.moment) ?? [:]
            for name in Set(view.keys).union(replica.keys).sorted() where view[name] != replica[name]?.text {
                throw wrong(
                    "in the end \(name) is '\(replica[name]?.text ?? "missing")', and not '\(view[name] ?? "missing")'"
                )
            }
        case .privateZones, .sharedZones: try endZones(oracle)
        }
        since = oracle.moment
    }

    /// The zones are the existing ones, and each changed one was reported since.
    private mutating func endZones(_ oracle: FeedOracle) throws {
        let zones = oracle.zones(of: user, isShared: place == .sharedZones)
        let names = zones.map { SharingHistory.zoneNames[$0] }
        guard replica.keys.sorted() == names.sorted() else {
            throw wrong("in the end the zones are \(replica.keys.sorted()), and not \(names.sorted())")
        }
        for (zone, name) in zip(zones, names) {
            let last = told[name] ?? endMoment ?? 0
            let isSame =
                oracle.birth(of: zone, at: last) == oracle.birth(of: zone)
                && oracle.view(user, zone, at: last) == oracle.view(user, zone, at: oracle.moment)
            if !isSame { throw wrong("the zone \(name) changed after moment \(last), and nobody tells") }
        }
        told = [:]
        endMoment = oracle.moment
    }
}
