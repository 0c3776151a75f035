// The start of scenarios of feeds: an owner's zone with a small tree in it, and two people to share it with.

import Foundation
import StratusKit
import StratusSharingSupport

/// A town in which the first person has a zone with a tree in it: `top` over `left` and `right`, `left` over `leaf`,
/// and `lone` under nothing.
struct TreeTown {
    let town: Town
    let place: Place

    var owner: Person { town.people[0] }
    var ann: Person { town.people[1] }
    var ben: Person { town.people[2] }

    static let names = ["leaf", "left", "lone", "right", "top"]

    init(in directory: URL? = nil, change: (inout Stratus.Options) -> Void = { _ in }) async throws {
        town = try Town(["owner", "ann", "ben"], in: directory, change: change)
        place = Place("Docs", of: town.people[0])
        try await Self.fill(place, by: owner)
    }

    /// Makes the zone and its tree.
    static func fill(_ place: Place, by owner: Person) async throws {
        var outcomes = [await owner.make(place)]
        for (name, parent) in [
            ("top", nil), ("left", "top"), ("right", "top"), ("leaf", "left"), ("lone", nil),
        ] as [(String, String?)] {
            outcomes.append(await owner.create(name, under: parent, value: 1, in: place))
        }
        guard outcomes.allSatisfy(\.isDone) else { throw TownError(description: "the tree is not made: \(outcomes)") }
    }

    /// Shares a record, or the zone if there is none, with a person who accepts; returns the share's name.
    @discardableResult
    func share(
        _ root: String?, with person: Person, as name: String = "Share",
        permission: CKShare.ParticipantPermission = .readWrite, in other: Place? = nil
    ) async throws -> String {
        let place = other ?? place
        let share = root == nil ? CKRecordNameZoneWideShare : name
        var outcomes: [Outcome] = []
        if let root {
            outcomes.append(await owner.share(root, as: share, in: place))
        } else {
            outcomes.append(await owner.shareZone(place))
        }
        outcomes.append(await owner.invite(person, to: share, permission: permission, in: place))
        guard let url = try await owner.shareRecord(share, in: place).url else {
            throw TownError(description: "a saved share has no URL")
        }
        outcomes.append(await person.accept(url))
        guard outcomes.allSatisfy(\.isDone) else { throw TownError(description: "it is not shared: \(outcomes)") }
        return share
    }

    /// Another zone of the owner's, with the same tree.
    func secondPlace(_ name: String = "More") async throws -> Place {
        let place = Place(name, of: owner)
        try await Self.fill(place, by: owner)
        return place
    }
}
