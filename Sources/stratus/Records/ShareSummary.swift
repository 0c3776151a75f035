// Shares and their events as text and JSON without secrets, and the arguments of verbs about shares.

import ArgumentParser
import StratusCloud
import StratusKit
import StratusModel

struct ShareSummary {
    let name: RecordName
    let content: ShareContent
    /// Nil without --url.
    let url: String?

    func show(_ people: People, _ console: Console) throws {
        let subject =
            content.root.map { "of \(VisibleText.of($0.text)) and everything below it" } ?? "of the whole zone"
        try console.line(
            "share \(VisibleText.of(name.text)) \(subject), public permission \(content.publicPermission)")
        for participant in content.participants {
            try console.line(
                "  \(people.title(of: participant.user, participant)): \(participant.role), "
                    + "\(participant.permission), \(participant.status) since \(Quantities.date(participant.added))")
        }
        for one in content.requesters {
            try console.line("  \(people.title(of: one.user, handle: one.handle)): requests access")
        }
        for one in content.blocked {
            try console.line("  \(people.title(of: one.user, handle: one.handle)): blocked")
        }
        if let url { try console.line("  \(VisibleText.of(url))") }
        let object: JSONObject = [
            "share": name.text, "root": content.root?.text, "publicPermission": "\(content.publicPermission)",
            "allowsAccessRequests": content.allowsAccessRequests,
            "participants": content.participants.map { one -> JSONObject in
                [
                    "id": one.id.text, "user": one.user?.text, "handle": one.invitedHandle?.text,
                    "role": "\(one.role)", "permission": "\(one.permission)", "status": "\(one.status)",
                    "added": Quantities.timestamp(one.added),
                ]
            },
            "requesters": Self.array(of: content.requesters), "blocked": Self.array(of: content.blocked),
        ]
        try console.object(object + JSONObject(unlessNil: ["url": url]))
    }

    /// One line: the date, the actor, the event, the person, the share.
    static func line(of event: ShareTrailEvent, _ people: People) throws -> String {
        var line = "\(Quantities.date(event.date))  \(try people.title(of: event.actor))  \(event.kind)"
        // If the actor and the person are the same, name them once.
        if event.user != event.actor, event.user != nil || event.handle != nil {
            line += " \(try people.title(of: event.user, handle: event.handle))"
        }
        line += " in \(VisibleText.of(event.share.text))"
        if let old = event.oldPermission, let new = event.newPermission { line += ": \(old) → \(new)" }
        if let old = event.oldRole, let new = event.newRole { line += ": \(old) → \(new)" }
        return line
    }

    static func object(of event: ShareTrailEvent) -> JSONObject {
        [
            "date": Quantities.timestamp(event.date), "actor": event.actor.text, "event": "\(event.kind)",
            "share": event.share.text, "root": event.root?.text, "participant": event.participant?.text,
            "user": event.user?.text, "handle": event.handle?.text, "oldPermission": text(event.oldPermission),
            "newPermission": text(event.newPermission), "oldRole": text(event.oldRole), "newRole": text(event.newRole),
        ]
    }

    private static func text<Value>(_ value: Value?) -> String? { value.map { "\($0)" } }

    private static func array(of petitioners: [SharePetitioner]) -> [JSONObject] {
        petitioners.map { ["id": $0.id.text, "user": $0.user.text, "handle": $0.handle?.text] }
    }
}

/// The permission of a participant, or of the public.
enum PermissionChoice: String, ExpressibleByArgument, CaseIterable, Sendable {
    case none
    case readOnly
    case readWrite

    var permission: CKShare.ParticipantPermission {
        switch self {
        case .none: .none
        case .readOnly: .readOnly
        case .readWrite: .readWrite
        }
    }
}

/// Whether to show the URL of a share.
struct URLArguments: ParsableArguments {
    @Flag(help: "Also show the share's URL. It is a secret: invited people can accept the share with it.")
    var url = false

    /// The URL with --url. Its beginning is the standard one, because the store does not contain the host's own.
    func url(of content: ShareContent) -> String? {
        url ? ShareLink.url(CloudOptions().shareURLBase, content.token) : nil
    }
}

/// The role of a participant.
enum RoleChoice: String, ExpressibleByArgument, CaseIterable, Sendable {
    case privateUser
    case administrator

    var role: CKShare.ParticipantRole {
        switch self {
        case .privateUser: .privateUser
        case .administrator: .administrator
        }
    }
}
