// Explains, in one snapshot, what a person may do with a record and why: for people in words, and for programs as a
// value. `ZoneAccess` decides, as on every path; the rest finds the reasons.

package import StratusModel
import StratusRecords

struct AccessExplainer {
    let service: CloudService
    let zone: ZoneID
    let name: RecordName
    let user: UserName
    let reader: RecordReader
    var explanation: AccessAnalysis

    consuming func explained() throws -> AccessAnalysis {
        let account = try service.accountDirectory.account(userName: user, in: reader)
        let isUsable = say(standingOf: account)
        if zone.database.scope == .public {
            explanation.relation = .world
            say("The record is in a public database: the schema's grants for its type decide.")
        } else if zone.database.owner == user {
            explanation.relation = .owner
            say("The zone \(zone.name) belongs to \(user), who may do everything in it.")
        }
        guard let zoneReader = try reader.zone(zone) else {
            say("The zone \(zone.name) does not exist.")
            return finished()
        }
        guard let stored = try zoneReader.record(name) else {
            say("There is no record \(name) in the zone.")
            return finished()
        }
        explanation.exists = true
        try walk(from: stored.record, zoneReader)
        if let account, explanation.relation == .outsider { try match(account, zoneReader) }
        try decide(stored, caller: isUsable ? user : nil)
        return finished()
    }

    // MARK: Steps

    /// Whether the account may be used now.
    private mutating func say(standingOf account: StoredAccount?) -> Bool {
        switch account?.standing {
        case nil: say("No account has the user record \(user).")
        case .good: return true
        case .restricted: say("The account of \(user) is restricted: until that ends it may do nothing.")
        case .needsVerification: say("The account of \(user) must be verified again: until then it may do nothing.")
        case .suspended: say("The account of \(user) is suspended: until that ends it may do nothing.")
        }
        return false
    }

    /// Walks up to the root of a share; sets chain, share and root.
    private mutating func walk(from record: Record, _ zoneReader: ZoneReader) throws {
        guard zone.database.scope == .private else { return }
        if record.type == ShareContent.recordType {
            explanation.chain = [name.text]
            explanation.share = name.text
            explanation.root = try record.shareContent()?.root?.text
            say("The record is a share: everyone who has accepted it sees it.")
            return
        }
        let membership = try zoneReader.shareMembership(of: name)
        let above = try zoneReader.ancestors(of: name) ?? []
        let end = membership.flatMap { above.firstIndex(of: $0.root) }.map { $0 + 1 } ?? above.count
        explanation.chain = [name.text] + (membership?.root == name ? [] : above.prefix(end).map(\.text))
        let path = explanation.chain.joined(separator: " → ")
        if let membership {
            explanation.share = membership.share.text
            explanation.root = membership.root.text
            say("Its parents lead to the root of the share \(membership.share): \(path).")
        } else if try zoneReader.node(ShareContent.zoneWideName) != nil {
            explanation.share = ShareContent.zoneWideName.text
            say("The whole zone is shared by \(ShareContent.zoneWideName).")
        } else {
            say(
                "It is in no share: neither it nor a record above it is a root (\(path)), and the zone is not shared."
            )
        }
    }

    /// Finds the person's participant.
    private mutating func match(_ account: StoredAccount, _ zoneReader: ZoneReader) throws {
        guard let share = explanation.share,
            let content = try zoneReader.record(RecordName(share))?.record.shareContent()
        else { return }
        explanation.publicPermission = "\(content.publicPermission)"
        let guest = ShareGuest(account)
        let place = content.participants.first { $0.status == .accepted ? $0.user == user : guest.isInvited(by: $0) }
        if let place {
            let participant = AccessAnalysis.Participant(
                id: place.id.text, role: "\(place.role)", permission: "\(content.permission(of: place))",
                status: "\(place.status)")
            explanation.participant = participant
            explanation.relation = place.status == .accepted ? .member : .invited
            say(
                place.status == .accepted
                    ? "\(user) takes part as \(participant.role) with the permission \(participant.permission)."
                    : "\(user) is invited as \(participant.role), and has not accepted.")
        } else if content.blocked.contains(where: { $0.user == user }) {
            explanation.relation = .blocked
            say("\(user) is blocked from the share.")
        } else {
            let hasAsked = content.requesters.contains { $0.user == user }
            explanation.relation = hasAsked ? .requester : .outsider
            say(hasAsked ? "\(user) has requested access and waits for an answer." : "\(user) does not take part.")
            if content.publicPermission != .none {
                say("By the share's URL they may join with the permission \(content.publicPermission).")
            }
        }
    }

    /// Sets the verdict.
    private mutating func decide(_ stored: StoredRecord, caller: UserName?) throws {
        guard caller != nil || zone.database.scope == .public else { return }
        let access = try ZoneAccess(service, to: ResolvedZone(id: zone, as: user), caller: caller, in: reader)
        let permissions = try access.permissions(for: stored)
        explanation.verdict = AccessAnalysis.Verdict(
            mayRead: permissions.contains(.read), mayChange: permissions.contains(.write),
            mayDelete: try access.mayDelete(stored), mayCreateBelow: try access.mayCreate(below: stored))
        if permissions.contains(.write), !explanation.verdict.mayDelete {
            say("It is the share's root: only its owner may delete it.")
        }
    }

    private mutating func say(_ reason: String) { explanation.reasons.append(reason) }

    private consuming func finished() -> AccessAnalysis {
        var explanation = explanation
        explanation.reasons.append(explanation.verdict.sentence(user.text, exists: explanation.exists))
        return explanation
    }
}

extension CloudService {
    /// Why a person may or may not access a record: the chain of parents, the share, the participant, and the verdict.
    /// Only for hosts, because it contains what the person may not know.
    ///
    /// Throws the store's failures.
    package func explainAccess(
        to record: RecordName, in zone: ZoneID, for user: UserName
    ) throws(CloudError) -> AccessAnalysis {
        try reading { reader in
            try AccessExplainer(
                service: self, zone: zone, name: record, user: user, reader: reader,
                explanation: AccessAnalysis(
                    user: user.text, container: zone.database.container.text, owner: zone.database.owner?.text,
                    zone: zone.name.text, record: record.text)
            ).explained()
        }
    }
}

/// What a person may do with a record, and why.
package struct AccessAnalysis: Hashable, Sendable, Encodable {
    /// The relation of the person to the record's share.
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
        /// The record is in a public database, where the schema's grants decide.
        case world
    }

    /// The person's participant.
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
        /// For a share's own record: a participant who deletes it leaves the share (P-13).
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
    /// Whether the zone and the record exist.
    package var exists = false
    /// The record and its ancestors, up to the root of a share, or to the top if there is none.
    package var chain: [String] = []
    /// The share of the record, or of its whole zone.
    package var share: String?
    /// The share's root; nil for a share of a whole zone.
    package var root: String?
    package var publicPermission: String?
    package var relation = Relation.outsider
    package var participant: Participant?
    package var verdict = Verdict()
    /// The steps in words, in their order; the last one is the verdict.
    package var reasons: [String] = []
}

extension AccessAnalysis: CustomStringConvertible {
    /// The reasons, a line each.
    package var description: String { reasons.joined(separator: "\n") }
}

extension AccessAnalysis.Verdict {
    /// The verdict as a sentence about `user`, and a record that exists or not.
    func sentence(_ user: String, exists: Bool) -> String {
        let all = [
            (mayRead, "read it"), (mayChange, "change it"), (mayDelete, "delete it"),
            (mayCreateBelow, "put records below it"),
        ]
        let (granted, denied) = (all.filter(\.0).map(\.1), all.filter { !$0.0 }.map(\.1))
        if granted.isEmpty {
            return "So \(user) may do nothing with it" + (exists ? ", and does not learn that it exists." : ".")
        }
        let may = "So \(user) may " + granted.joined(separator: ", ")
        return denied.isEmpty ? may + "." : may + "; but not " + denied.joined(separator: ", ") + "."
    }
}
