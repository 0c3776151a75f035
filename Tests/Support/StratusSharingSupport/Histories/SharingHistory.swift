// A history of sharing: the steps of four people, as plain values. It can be printed and read again
// (`SharingHistory+Text`), shortened (`StepShrinker`) and run on a store (`SharingRunner`).
//
// People and zones are numbers. Records are named by letters, a share of a record by a name that no other share of the
// history has.

package import StratusKit

/// What a person may do with what is shared.
package typealias Permission = CKShare.ParticipantPermission
/// How a person takes part.
package typealias Role = CKShare.ParticipantRole

/// Where a saved record is put.
package enum PlacedAbove: Hashable, Sendable {
    /// Its place; a new one has no parent.
    case kept
    case nothing
    case record(String)
}

/// One step of a person.
package enum SharingStep: Hashable, Sendable {
    /// The owner creates the zone, or recreates it.
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
    /// By the share's last URL, whatever it opens now.
    case accept(user: Int, zone: Int, share: String)
    case join(JoiningStep)
    case suspend(user: Int)
    case restore(user: Int)
}

/// Steps, by `userCount` people.
package struct SharingHistory: Hashable, Sendable {
    package static let userCount = 4
    package static let zoneNames = ["A", "B", "C"]
    /// Whose each zone is.
    package static let owners = [0, 1, 0]
    package static let recordNames = ["a", "b", "c", "d", "e", "f"]
    package static let zoneShare = CKRecordNameZoneWideShare

    package var steps: [SharingStep]

    package init(steps: [SharingStep]) { self.steps = steps }

    /// Every name that a record may have in a zone.
    package func names(inZone zone: Int) -> [String] {
        var shares: [String] = []
        for case .share(_, zone, _, let share) in steps { shares.append(share) }
        return Self.recordNames + shares + [Self.zoneShare]
    }

    package var zones: [Int] {
        let created = steps.compactMap { if case .create(let zone) = $0 { zone } else { nil } }
        return Set(created).sorted()
    }
}

extension SharingStep {
    /// Its place; nil for an event of an account.
    package var zone: Int? {
        switch self {
        case .suspend, .restore: nil
        case .create(let zone), .drop(let zone), .save(_, let zone, _, _, _), .delete(_, let zone, _),
            .share(_, let zone, _, _), .shareZone(_, let zone), .invite(_, let zone, _, _, _, _),
            .remove(_, let zone, _, _), .permit(_, let zone, _, _, _), .publish(_, let zone, _, _),
            .rename(_, let zone, _, _), .accept(_, let zone, _):
            zone
        case .join(let step): step.zone
        }
    }
}
