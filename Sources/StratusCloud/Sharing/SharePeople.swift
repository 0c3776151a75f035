// Who the people of a share are: looked up beside the view that shows them, which is pure.

import StratusModel
import StratusRecords

/// What is known of the people whom somebody is shown with a share.
struct SharePeople {
    /// The accounts of those who are known by their user names.
    var accounts: [UserName: Account] = [:]
    /// The handles that lead to an account.
    var reachableHandles: Set<Handle> = []

    init() {}

    /// Looks up the people that a view shows, and nobody else.
    init(in view: ShareView, _ directory: AccountDirectory, _ reader: RecordReader) throws {
        for participant in view.portion.participants {
            if let user = participant.user {
                accounts[user] = try directory.account(userName: user, in: reader)
            } else if case .handle(let handle)? = participant.invitation {
                try note(handle, directory, reader)
            }
        }
        for petitioner in view.portion.requesters + view.portion.blocked {
            accounts[petitioner.user] = try directory.account(userName: petitioner.user, in: reader)
        }
    }

    /// Whether a person has an account that can take part one day. One that the host has closed is none.
    func hasAccount(_ participant: ShareParticipant) -> Bool {
        if let user = participant.user { return hasAccount(user) }
        if case .handle(let handle)? = participant.invitation { return reachableHandles.contains(handle) }
        return false
    }

    func hasAccount(_ user: UserName) -> Bool {
        guard let account = accounts[user] else { return false }
        return account.standing != .suspended
    }

    /// Whether somebody who waits to be let in has deleted their account: nobody can accept in their place, for user
    /// records are never given again. Who has accepted leaves with their account (`ShareDeparture`).
    func isGone(_ participant: ShareParticipant) -> Bool {
        guard participant.status == .pending, let user = participant.user else { return false }
        return accounts[user] == nil
    }

    func isGone(_ petitioner: SharePetitioner) -> Bool { accounts[petitioner.user] == nil }

    private mutating func note(_ handle: Handle, _ directory: AccountDirectory, _ reader: RecordReader) throws {
        guard let account = try directory.account(handle: handle, in: reader), account.standing != .suspended else {
            return
        }
        reachableHandles.insert(handle)
    }
}
