// A folder with a note in it, shared by its owner with two who have accepted and one who has not: the start of the
// tests of bad input.

import Foundation
import StratusKit
import StratusSharingSupport

/// A town with a shared folder.
struct SharedFolder: Sendable {
    let town: Town
    let place: Place
    let url: URL

    var owner: Person { town.people[0] }
    /// Has accepted, and may read.
    var reader: Person { town.people[1] }
    /// Has accepted, and may write.
    var writer: Person { town.people[2] }
    /// Was invited and has not accepted.
    var invited: Person { town.people[3] }
    /// Knows nothing except, perhaps, the URL.
    var stranger: Person { town.people[4] }

    static let share = "Share"

    init(change: (inout Stratus.Options) -> Void = { _ in }) async throws {
        let town = try Town(["owner", "reader", "writer", "invited", "stranger"], change: change)
        let owner = town.people[0]
        let place = Place("Docs", of: owner)
        var outcomes = [
            await owner.make(place), await owner.create("folder", in: place),
            await owner.create("note", under: "folder", in: place), await owner.create("diary", in: place),
            await owner.share("folder", as: Self.share, in: place),
        ]
        for (person, permission) in zip(town.people[1...3], [.readOnly, .readWrite, .readWrite] as [Permission]) {
            outcomes.append(await owner.invite(person, to: Self.share, permission: permission, in: place))
        }
        guard let url = try await owner.shareRecord(Self.share, in: place).url else {
            throw TownError(description: "a saved share has no URL")
        }
        for person in town.people[1...2] { outcomes.append(await person.accept(url)) }
        guard outcomes.allSatisfy(\.isDone) else {
            throw TownError(description: "the folder is not shared: \(outcomes)")
        }
        self.town = town
        self.place = place
        self.url = url
    }

    func share(as person: Person) async throws -> CKShare {
        try await person.shareRecord(Self.share, in: place)
    }

    /// The owner's view of the share, without what every save changes.
    func content() async throws -> String {
        let share = try await share(as: owner)
        let people = share.participants.map { participant in
            let who = town.people.first { owner.isIdentity(participant.userIdentity, of: $0) }?.name ?? "unknown"
            return "\(who) \(participant.role.rawValue) \(participant.permission.words) "
                + "\(participant.acceptanceStatus.rawValue)"
        }
        return "public \(share.publicPermission.words), \(people.sorted()), requests \(share.allowsAccessRequests), "
            + "\(share.requesters.count) ask, \(share.blockedIdentities.count) blocked, "
            + "\(share.url?.absoluteString ?? "no URL")"
    }

    /// The content after `init`, except for the URL.
    static let untouched =
        "public nothing, [\"invited 3 read-write 1\", \"owner 1 read-write 2\", \"reader 3 read-only 2\", "
        + "\"writer 3 read-write 2\"], requests false, 0 ask, 0 blocked, "
}
