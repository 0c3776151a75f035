// Why somebody may do what they may with a record, as a value: in words, and for programs (`Encodable`).

import StratusModel

/// The way from a person and a record to what the person may do with it.
package struct AccessExplanation: Hashable, Sendable, Encodable {
    /// What the person is to the share that the record lies in.
    package enum Relation: String, Hashable, Sendable, Encodable {
        /// The zone is theirs.
        case owner
        /// They have accepted.
        case member
        /// They are invited and have not accepted.
        case invited
        case requester
        case blocked
        case outsider
        /// The record lies in a public database, where the schema's grants decide.
        case world
    }

    /// The participant that the person is.
    package struct Participant: Hashable, Sendable, Encodable {
        package var id: String
        package var role: String
        package var permission: String
        package var status: String
    }

    /// The verdict.
    package struct Verdict: Hashable, Sendable, Encodable {
        package var mayRead = false
        package var mayChange = false
        /// Of a share's own record a participant's deletion is leaving (P-13).
        package var mayDelete = false
        /// Whether the person may put new records below it.
        package var mayCreateBelow = false
    }

    /// The record name of the person's user record.
    package var user: String
    package var container: String
    /// Nil for a public database.
    package var owner: String?
    package var zone: String
    package var record: String
    /// Whether zone and record are there at all.
    package var exists = false
    /// The record, and those above it up to the root of a share, or to the top where there is none.
    package var chain: [String] = []
    /// The share that the record lies in, or that of its whole zone.
    package var share: String?
    /// The share's root; nil for one of a whole zone.
    package var root: String?
    package var publicPermission: String?
    package var relation = Relation.outsider
    package var participant: Participant?
    package var verdict = Verdict()
    /// The steps in words, in their order; the last one is the verdict.
    package var reasons: [String] = []
}

extension AccessExplanation: CustomStringConvertible {
    /// The reasons, a line each.
    package var description: String { reasons.joined(separator: "\n") }
}

extension AccessExplanation.Verdict {
    /// The verdict as a sentence about `user`, and a record that is there or not.
    func sentence(_ user: String, exists: Bool) -> String {
        let all = [
            (mayRead, "read it"), (mayChange, "change it"), (mayDelete, "delete it"),
            (mayCreateBelow, "put records below it"),
        ]
        let (granted, denied) = (all.filter(\.0).map(\.1), all.filter { !$0.0 }.map(\.1))
        if granted.isEmpty {
            return "So \(user) may do nothing with it" + (exists ? ", and is not told that it is there." : ".")
        }
        let may = "So \(user) may " + granted.joined(separator: ", ")
        return denied.isEmpty ? may + "." : may + "; but not " + denied.joined(separator: ", ") + "."
    }
}

extension AccessExplanation.Participant {
    init(_ participant: ShareParticipant, in content: ShareContent) {
        id = participant.id.text
        role = "\(participant.role)"
        permission = "\(content.permission(of: participant))"
        status = "\(participant.status)"
    }
}
