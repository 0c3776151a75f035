// Accounts, shares and subscriptions as one readable line. Invariant: no line holds a secret. The word `secret`
// replaces it.

package import StratusModel
import StratusStore

extension ValueDescription {
    static func text(_ account: StoredAccount) -> String {
        var pieces = ["user \(quoted(account.userName.text))", "standing \(account.standing)"]
        pieces += named([("external", account.externalID)])
        if let quota = account.quotaByteCount { pieces.append("quota \(quota.counting("byte"))") }
        pieces.append(account.isDiscoverable ? "discoverable" : "not discoverable")
        pieces.append("created \(ReadableDate.text(account.created))")
        let name = account.name
        pieces += named([
            ("prefix", name.prefix), ("given", name.given), ("middle", name.middle), ("family", name.family),
            ("suffix", name.suffix), ("nickname", name.nickname),
        ])
        return (pieces + account.handles.map { text($0) }.sorted()).joined(separator: ", ")
    }

    /// A piece for each text that is there: its name, and the text in quotes.
    static func named(_ texts: [(name: String, text: String?)]) -> [String] {
        texts.compactMap { name, text in text.map { "\(name) \(quoted($0))" } }
    }
}

// MARK: Shares

extension ValueDescription {
    static func text(_ entry: ShareURLEntry) -> String {
        let place =
            "share \(quoted(entry.share.text)) in zone \(quoted(entry.zone.text)) of \(quoted(entry.owner.text))"
        let whose = entry.participant.map { "one-time URL of \(quoted($0.text))" } ?? "URL"
        return "\(whose), \(place), container \(quoted(entry.container.text)), identity \(entry.zoneIdentity)"
    }

    static func text(_ entry: AcceptanceEntry) -> String {
        "\(entry.role), \(entry.permission), participant \(quoted(entry.participant.text)) since \(entry.since), "
            + "accepted \(ReadableDate.text(entry.date)), zone \(quoted(entry.zone.text)) of \(quoted(entry.owner.text)), "
            + "container \(quoted(entry.container.text))"
    }

    static func text(_ event: ShareTrailEvent) -> String {
        var pieces = ["\(event.kind) \(ReadableDate.text(event.date)) by \(quoted(event.actor.text))"]
        pieces += named([
            ("share", event.share.text), ("root", event.root?.text), ("participant", event.participant?.text),
            ("user", event.user?.text),
        ])
        if let handle = event.handle { pieces.append(text(handle)) }
        pieces += change("permission", event.oldPermission, event.newPermission)
        pieces += change("role", event.oldRole, event.newRole)
        return pieces.joined(separator: ", ")
    }

    private static func change<Value>(_ label: String, _ old: Value?, _ new: Value?) -> [String] {
        guard old != nil || new != nil else { return [] }
        return ["\(label) \(old.map { "\($0)" } ?? "nothing") to \(new.map { "\($0)" } ?? "nothing")"]
    }

    /// A field of a share's record. It shows no bytes: under a damaged key they may be the share's content.
    static func shareText(_ value: FieldValue) -> String {
        if case .bytes(let bytes) = value { return "bytes (\(bytes.count))" }
        return text(value)
    }

    /// The content of a share from the field of its record, without secrets; of a damaged field the reason.
    package static func contentText(_ value: FieldValue) -> String {
        guard case .bytes(let bytes) = value else { return "damaged secret" }
        do throws(StoreError) {
            return text(try ShareContentEntry(decoding: bytes.span).content)
        } catch {
            return "damaged secret (\(bytes.count.counting("byte"))): \(error.message)"
        }
    }

    /// The content of a share, without its secrets.
    static func text(_ content: ShareContent) -> String {
        var pieces = [content.root.map { "root \(quoted($0.text))" } ?? "whole zone", "URL \(content.token)"]
        pieces.append("public \(content.publicPermission)")
        if content.allowsAccessRequests { pieces.append("access requests") }
        pieces += content.participants.map { text($0) }
        pieces += content.requesters.map { "requester(\(text($0)))" }
        pieces += content.blocked.map { "blocked(\(text($0)))" }
        return "share(\(pieces.joined(separator: ", ")))"
    }

    private static func text(_ participant: ShareParticipant) -> String {
        var pieces = [quoted(participant.id.text), "\(participant.permission)", "\(participant.status)"]
        switch participant.invitation {
        case .handle(let handle): pieces.append("by \(text(handle))")
        case .userRecord: pieces.append("by user record")
        case .oneTime(let token): pieces.append("by one-time URL \(token)")
        case nil: break
        }
        pieces += named([("user", participant.user?.text)])
        if participant.isApprovedRequester { pieces.append("had asked") }
        pieces.append("added \(ReadableDate.text(participant.added))")
        return "\(participant.role)(\(pieces.joined(separator: ", ")))"
    }

    private static func text(_ person: SharePetitioner) -> String {
        let handle = person.handle.map { ", \(text($0))" } ?? ""
        return "\(quoted(person.id.text)), user \(quoted(person.user.text))\(handle), \(ReadableDate.text(person.date))"
    }

    static func text(_ handle: Handle) -> String {
        switch handle {
        case .email(let address): "e-mail \(quoted(address))"
        case .phone(let number): "telephone \(quoted(number))"
        }
    }
}

// MARK: Subscriptions, notifications and the outbox

extension ValueDescription {
    static func text(_ entry: SubscriptionEntry) -> String {
        var pieces: [String] = []
        switch entry.subject {
        case .query(let query):
            pieces.append("query of \(quoted(query.recordType.text)), \(query.query.count.counting("byte"))")
            if query.matchesNothing { pieces.append("matches nothing") }
            pieces += named([("zone", query.zone?.text)])
            pieces.append("triggers \(query.triggers), archive \(query.predicateArchive.count.counting("byte"))")
        case .zone(let zone, let type): pieces.append("zone \(quoted(zone.text))" + ofType(type))
        case .database(let type): pieces.append("database" + ofType(type))
        }
        return (pieces + (entry.template.map { text($0) } ?? ["silent"])).joined(separator: ", ")
    }

    static func text(_ entry: NotificationEntry) -> String {
        var pieces = ["subscription \(quoted(entry.subscription)) of \(quoted(entry.owner.text))"]
        pieces.append("database \(entry.database)")
        switch entry.subject {
        case nil: break
        case .query(let reason, let record, let zone, let fields):
            pieces.append("reason \(reason), record \(quoted(record.text)) in zone \(quoted(zone.text))")
            pieces += text(fields)
        case .zone(let zone): pieces.append("zone \(quoted(zone.text))")
        case .database: pieces.append("database")
        case .prunedQuery: pieces.append("query")
        case .prunedZone: pieces.append("zone")
        }
        pieces += words(of: entry.alert)
        if let badge = entry.badge { pieces.append("badge \(badge)") }
        pieces += flags(of: entry.alert)
        if entry.isPruned { pieces.append("pruned") }
        pieces += named([("container", entry.container?.text)])
        if let id = entry.id { pieces.append("identifier \(id)") }
        return pieces.joined(separator: ", ")
    }

    static func text(_ entry: OutboxEntry) -> String {
        var pieces: [String] = []
        switch entry.news {
        case .records(let types): pieces.append("records" + text(types))
        case .zoneDeleted: pieces.append("zone deleted")
        case .shares(let shares):
            pieces += shares.map { share in
                let users = share.users.map { " for \($0.map { quoted($0.text) }.joined(separator: " "))" } ?? ""
                return "share \(quoted(share.share.text))\(text(share.types))\(users)"
            }
        case .matches(let matches):
            pieces += matches.flatMap { match in
                [
                    "subscription \(quoted(match.subscription)) of \(quoted(match.user.text)), reason \(match.reason), "
                        + "record \(quoted(match.record.text))"
                ] + text(match.fields)
            }
        case .subscriptionEnded(let id, let template):
            pieces.append("subscription \(quoted(id)) ended")
            pieces += template.map { text($0) } ?? ["silent"]
        }
        let owner = entry.owner.map { " of \(quoted($0.text))" } ?? ""
        pieces.append("\(entry.zoneNumber) \(quoted(entry.zone.text))\(owner), sequence \(entry.sequence)")
        pieces.append("container \(quoted(entry.container.text)), identity \(entry.identity)")
        pieces += named([
            ("by account", entry.originAccount?.text), ("device", entry.originDevice), ("told up to", entry.last?.text),
        ])
        return pieces.joined(separator: ", ")
    }

    private static func text(_ template: NotificationTemplate) -> [String] {
        var pieces = words(of: template.alert) + named([("collapse", template.collapseKey)])
        if let keys = template.desiredKeys {
            pieces.append("desired \(keys.map { quoted($0) }.joined(separator: " "))")
        }
        if template.badges { pieces.append("badges") }
        return pieces + flags(of: template.alert)
    }

    private static func words(of alert: NotificationAlert) -> [String] {
        let phrases = [("alert", alert.body), ("title", alert.title), ("subtitle", alert.subtitle)]
        return phrases.flatMap { text($0, $1) }
            + named([
                ("action", alert.actionLocalizationKey), ("image", alert.launchImage), ("sound", alert.soundName),
                ("category", alert.category),
            ])
    }

    private static func flags(of alert: NotificationAlert) -> [String] {
        (alert.isContentAvailable ? ["content available"] : []) + (alert.isMutable ? ["mutable"] : [])
    }

    private static func text(_ label: String, _ phrase: NotificationPhrase) -> [String] {
        var pieces = named([(label, phrase.text), ("\(label) key", phrase.localizationKey)])
        if let arguments = phrase.arguments {
            pieces.append("\(label) arguments \(arguments.map { quoted($0) }.joined(separator: " "))")
        }
        return pieces
    }

    private static func text(_ fields: [FieldKey: FieldValue]) -> [String] {
        fields.sorted { $0.key < $1.key }.map { "\(quoted($0.key.text)) = \(text($0.value))" }
    }

    private static func text(_ types: [RecordType]?) -> String {
        types.map { $0.isEmpty ? " of no type" : " of \($0.map { quoted($0.text) }.joined(separator: " "))" } ?? ""
    }

    private static func ofType(_ type: RecordType?) -> String { type.map { ", type \(quoted($0.text))" } ?? "" }
}
