// A history of sharing: what four people do, step by step, as plain values. It can be printed and read again
// (`SharingHistory+Text`), cut down (`SharingShrinker`) and carried out against a store (`SharingRunner`).
//
// People and zones are numbers: the zone n is owned by the person n. Records are named by letters, a share of a record
// by a name that no other share of the history has.

import StratusKit

typealias Permission = CKShare.ParticipantPermission
typealias Role = CKShare.ParticipantRole

/// Where a saved record is put.
enum PlacedAbove: Hashable, Sendable {
    /// Where it is; a new one under nothing.
    case kept
    case nothing
    case record(String)
}

/// One thing that somebody does.
enum SharingStep: Hashable, Sendable {
    /// The owner makes the zone, or makes it anew.
    case create(zone: Int)
    case drop(zone: Int)
    case save(user: Int, zone: Int, name: String, above: PlacedAbove, value: Int)
    /// A record, or a share: its owner stops it, others leave it.
    case delete(user: Int, zone: Int, name: String)
    case share(user: Int, zone: Int, root: String, share: String)
    case shareZone(user: Int, zone: Int)
    case invite(user: Int, zone: Int, share: String, other: Int, Permission, Role)
    case remove(user: Int, zone: Int, share: String, other: Int)
    case permit(user: Int, zone: Int, share: String, other: Int, Permission)
    case publish(user: Int, zone: Int, share: String, Permission)
    case rename(user: Int, zone: Int, share: String, title: Int)
    /// By the URL that the share had last, whatever it leads to now.
    case accept(user: Int, zone: Int, share: String)
    case suspend(user: Int)
    case restore(user: Int)
}

/// Steps, by `userCount` people.
struct SharingHistory: Hashable, Sendable {
    static let userCount = 4
    static let zoneNames = ["A", "B"]
    static let recordNames = ["a", "b", "c", "d", "e", "f"]
    static let zoneShare = CKRecordNameZoneWideShare

    var steps: [SharingStep]

    /// Every name under which a record may lie in a zone.
    func names(inZone zone: Int) -> [String] {
        var shares: [String] = []
        for case .share(_, zone, _, let share) in steps { shares.append(share) }
        return Self.recordNames + shares + [Self.zoneShare]
    }

    var zones: [Int] {
        let created = steps.compactMap { if case .create(let zone) = $0 { zone } else { nil } }
        return Set(created).sorted()
    }
}
