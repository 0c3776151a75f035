// Subscriptions, what waits for devices and what commits have left behind as one readable line.

import StratusModel

extension ValueDescription {
    static func text(_ entry: SubscriptionEntry) -> String {
        var pieces: [String] = []
        switch entry.subject {
        case .query(let query):
            pieces.append("query of \(quoted(query.recordType.text)), \(query.query.count.counting("byte"))")
            if query.matchesNothing { pieces.append("matches nothing") }
            if let zone = query.zone { pieces.append("zone \(quoted(zone.text))") }
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
        if let container = entry.container { pieces.append("container \(quoted(container.text))") }
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
        if let account = entry.originAccount { pieces.append("by account \(quoted(account.text))") }
        if let device = entry.originDevice { pieces.append("device \(quoted(device))") }
        if let last = entry.last { pieces.append("told up to \(quoted(last.text))") }
        return pieces.joined(separator: ", ")
    }

    private static func text(_ template: NotificationTemplate) -> [String] {
        var pieces = words(of: template.alert)
        if let key = template.collapseKey { pieces.append("collapse \(quoted(key))") }
        if let keys = template.desiredKeys {
            pieces.append("desired \(keys.map { quoted($0) }.joined(separator: " "))")
        }
        if template.badges { pieces.append("badges") }
        return pieces + flags(of: template.alert)
    }

    private static func words(of alert: NotificationAlert) -> [String] {
        let phrases = [("alert", alert.body), ("title", alert.title), ("subtitle", alert.subtitle)]
        let texts = [
            ("action", alert.actionLocalizationKey), ("image", alert.launchImage), ("sound", alert.soundName),
            ("category", alert.category),
        ]
        return phrases.flatMap { text($0, $1) }
            + texts.compactMap { label, text in text.map { "\(label) \(quoted($0))" } }
    }

    private static func flags(of alert: NotificationAlert) -> [String] {
        (alert.isContentAvailable ? ["content available"] : []) + (alert.isMutable ? ["mutable"] : [])
    }

    private static func text(_ label: String, _ phrase: NotificationPhrase) -> [String] {
        var pieces: [String] = []
        if let text = phrase.text { pieces.append("\(label) \(quoted(text))") }
        if let key = phrase.localizationKey { pieces.append("\(label) key \(quoted(key))") }
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
