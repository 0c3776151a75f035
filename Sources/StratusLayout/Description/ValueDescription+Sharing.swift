// Shares as one readable line. Invariant: no line holds a secret; where one is, stands the word `secret`.

package import StratusModel

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

    static func text(_ event: ShareEvent) -> String {
        var pieces = ["\(event.kind) \(ReadableDate.text(event.date)) by \(quoted(event.actor.text))"]
        pieces.append("share \(quoted(event.share.text))")
        if let root = event.root { pieces.append("root \(quoted(root.text))") }
        if let participant = event.participant { pieces.append("participant \(quoted(participant.text))") }
        if let user = event.user { pieces.append("user \(quoted(user.text))") }
        if let handle = event.handle { pieces.append(text(handle)) }
        pieces += change("permission", event.oldPermission, event.newPermission)
        pieces += change("role", event.oldRole, event.newRole)
        return pieces.joined(separator: ", ")
    }

    private static func change<Value>(_ label: String, _ old: Value?, _ new: Value?) -> [String] {
        guard old != nil || new != nil else { return [] }
        return ["\(label) \(old.map { "\($0)" } ?? "nothing") to \(new.map { "\($0)" } ?? "nothing")"]
    }

    /// A field of a share's record. No bytes are shown: a damaged key may stand before what the share holds.
    static func shareText(_ value: FieldValue) -> String {
        if case .bytes(let bytes) = value { return "bytes (\(bytes.count))" }
        return text(value)
    }

    /// What the field of a share's record says that holds its content, without its secrets; of a damaged one the reason.
    package static func contentText(_ value: FieldValue) -> String {
        guard case .bytes(let bytes) = value else { return "damaged secret" }
        do throws(LayoutError) {
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
        if let user = participant.user { pieces.append("user \(quoted(user.text))") }
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
