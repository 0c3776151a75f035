// How databases, zones and records are named on the command line, whole and the same for every verb.
//
//   db://CONTAINER/OWNER               the private database of a person
//   db://CONTAINER/public              the public database
//   db://CONTAINER/OWNER/ZONE          a zone
//   db://CONTAINER/OWNER/ZONE/a/b      a record by its path of names
//   db://CONTAINER/OWNER/ZONE?NAME     a record by its record name
//
// '%', '/', '?' and what is no visible ASCII character stand as %XX in every part but a record name.

import ArgumentParser
import StratusModel

/// A database, or a zone of one.
struct PlaceAddress: ExpressibleByArgument, Hashable, Sendable {
    static let prefix = "db://"
    private static let publicWord = "public"

    var container: String
    /// Nil for the public database.
    var owner: PersonAddress?
    var zone: String?

    init(container: String, owner: PersonAddress?, zone: String? = nil) {
        self.container = container
        self.owner = owner
        self.zone = zone
    }

    /// The address of a zone whose owner is known by user name.
    init(_ database: DatabaseID, ownedBy owner: StratusModel.Account?, zone: ZoneName? = nil) {
        let name = owner?.externalID.map { "id:\($0)" } ?? database.owner.map { "user:\($0.text)" }
        self.init(container: database.container.text, owner: name.map { PersonAddress($0) }, zone: zone?.text)
    }

    init?(argument: String) {
        guard let read = Self.read(argument), read.name == nil, read.path.isEmpty else { return nil }
        self = read.place
    }

    /// What of a text is a place, and behind that the name of a record or the path to one; nil where it is none.
    static func read(_ text: String) -> (place: PlaceAddress, name: String?, path: [String])? {
        guard text.hasPrefix(prefix) else { return nil }
        var rest = Substring(text.dropFirst(prefix.count))
        var name: String?
        if let mark = rest.firstIndex(of: "?") {
            name = String(rest[rest.index(after: mark)...])
            rest = rest[..<mark]
        }
        var parts: [String] = []
        for part in rest.split(separator: "/") {
            guard let bytes = PercentText.bytes(of: String(part)),
                let text = String(validating: bytes, as: UTF8.self)
            else { return nil }
            parts.append(text)
        }
        guard parts.count >= 2 else { return nil }
        let place = PlaceAddress(
            container: parts[0], owner: parts[1] == publicWord ? nil : PersonAddress(parts[1]),
            zone: parts.count > 2 ? parts[2] : nil)
        if let name, parts.count != 3 || name.isEmpty { return nil }
        return (place, name, Array(parts.dropFirst(3)))
    }

    /// The address as it is read again.
    var text: String {
        let parts = [container, owner?.text ?? Self.publicWord] + (zone.map { [$0] } ?? [])
        return Self.prefix + parts.map(Self.escaped).joined(separator: "/")
    }

    /// The address of a record in the zone.
    func text(of record: RecordName) -> String { text + "?" + record.text }

    private static func escaped(_ part: String) -> String {
        var text = ""
        for byte in part.utf8 {
            let isPlain = (0x21..<0x7F).contains(byte) && !"%/?".utf8.contains(byte)
            if isPlain {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                text += "%" + (digits.count == 1 ? "0" : "") + digits
            }
        }
        return text
    }
}
