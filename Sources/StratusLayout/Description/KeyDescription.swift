// Any key, or the bound of a range, as one readable line for the tool, errors and golden files:
//   db 3 / zone 7 / children / "folder" / "file.txt"
//   global / purges / db 3 / zone 7
//   after db 3 / zone 7 / records / "file.txt"
// A key this software does not write is shown as hexadecimal with the reason. A line never holds a control character.
// `KeyLine.swift` reads lines back.

import FoundationEssentials
import StratusModel
import StratusStore

/// A key as text.
package enum KeyDescription {
    /// The line for a key with any bytes.
    package static func text(of key: Span<UInt8>) -> String {
        do throws(StoreError) {
            return try line(of: key)
        } catch {
            return "damaged key x'\(Hex.text(key))': \(error.message) (position \(error.fields["position"] ?? "0"))"
        }
    }

    package static func text(of key: [UInt8]) -> String { text(of: key.span) }

    /// Appends the pieces of a line. Throws at the first part of the key that cannot be read; earlier pieces stay.
    static func read(_ key: Span<UInt8>, into pieces: inout [String]) throws(StoreError) {
        var reader = try KeyReader(key, after: 0)
        let place = try KeyPlace(&reader)
        pieces = beginning(of: place)
        for part in place.keyspace.parts {
            if case .chunk = part, reader.isAtEnd { break }
            pieces.append(part.label + (try text(part, &reader)))
        }
        try reader.expectEnd()
    }

    private static func beginning(of place: KeyPlace) -> [String] {
        switch place {
        case .global(let keyspace): ["global", keyspace.name]
        case .database(let database, let keyspace): ["\(database)", keyspace.name]
        case .zone(let database, let zone, let keyspace): ["\(database)", "\(zone)", keyspace.name]
        }
    }

    private static func text(_ part: KeyPart, _ reader: inout KeyReader) throws(StoreError) -> String {
        switch part {
        case .text: return ReadableText.quoted(try reader.readText())
        case .optionalText: return try reader.takeNull() ? "null" : ReadableText.quoted(try reader.readText())
        case .number, .database, .zone: return "\(try reader.readNumber())"
        case .element: return "\(try reader.readElement())"
        case .uuid: return try UUID.read(&reader).uuidString
        case .bytes: return "x'\(Hex.text(try [UInt8].read(&reader)))'"
        case .chunk:
            let index = try reader.readNumber()
            guard index >= 1 else { throw reader.corrupt("The index of a later chunk is 1 or more.") }
            return "\(index)"
        case .action: return "\(try ReferenceAction.read(&reader))"
        case .scope: return "\(try DatabaseScope.read(&reader))"
        case .identityKind: return "\(try IdentityKind.read(&reader))"
        }
    }

    /// The line for a bound of a range with any bytes. A bound that is no key is described up to its last readable
    /// part.
    package static func text(ofBound bound: [UInt8]) -> String {
        guard let first = bound.first else { return "start of the store" }
        // No element begins with this byte.
        if first == 0xFF { return "end of the store" }
        if let line = try? line(of: bound.span) { return line }
        if bound.last == 0, let line = try? line(of: bound.span.extracting(droppingLast: 1)) { return "after \(line)" }
        var pieces: [String] = []
        do throws(StoreError) {
            try read(bound.span, into: &pieces)
        } catch {
            if pieces.isEmpty { pieces = beginning(of: bound) }
        }
        return pieces.isEmpty ? "x'\(Hex.text(bound, limit: 64))'" : (pieces + ["…"]).joined(separator: " / ")
    }

    /// The line of a whole key. Throws if the bytes are none.
    private static func line(of key: Span<UInt8>) throws(StoreError) -> String {
        var pieces: [String] = []
        try read(key, into: &pieces)
        return pieces.joined(separator: " / ")
    }

    /// The database, and the zone if there is one.
    private static func beginning(of bound: [UInt8]) -> [String] {
        var pieces: [String] = []
        do throws(StoreError) {
            var reader = try KeyReader(bound.span, after: 0)
            let database = DatabaseNumber(try reader.readNumber())
            pieces.append(database == .outside ? "global" : "\(database)")
            let zone = ZoneNumber(try reader.readNumber())
            if zone != .outside { pieces.append("\(zone)") }
        } catch {}
        return pieces
    }
}

extension TupleElement: CustomStringConvertible {
    /// A form that can be read back bit by bit.
    package var description: String {
        switch self {
        case .null: "null"
        case .bytes(let bytes): "x'\(Hex.text(bytes))'"
        case .string(let text): ReadableText.quoted(text)
        case .nested(let elements): "(" + elements.map(\.description).joined(separator: ", ") + ")"
        case .integer(let number): "\(number)"
        case .unsigned(let number): "\(number)"
        case .double(let number): "double(\(Self.bits(of: number)))"
        case .boolean(let value): "\(value)"
        case .uuid(let uuid): uuid.uuidString
        case .date(let date): "date(\(Self.bits(of: date.timeIntervalSinceReferenceDate)))"
        }
    }

    /// The shortest decimal that is this number, or the bits of a number that no decimal equals.
    private static func bits(of number: Double) -> String {
        number.isFinite ? "\(number)" : "bits \(String(number.bitPattern, radix: 16))"
    }
}

/// The keyspace of a key, from the key's first three elements.
enum KeyPlace {
    case global(GlobalKeyspace)
    case database(DatabaseNumber, DatabaseKeyspace)
    case zone(DatabaseNumber, ZoneNumber, ZoneKeyspace)

    /// Reads the first three elements of a key. Throws `.corruption`.
    init(_ reader: inout KeyReader) throws(StoreError) {
        let database = DatabaseNumber(try reader.readNumber())
        let zone = ZoneNumber(try reader.readNumber())
        let tag = UInt8(exactly: try reader.readNumber()) ?? 0
        if database != .outside, zone != .outside, let keyspace = ZoneKeyspace(rawValue: tag) {
            self = .zone(database, zone, keyspace)
        } else if database != .outside, zone == .outside, let keyspace = DatabaseKeyspace(rawValue: tag) {
            self = .database(database, keyspace)
        } else if database == .outside, zone == .outside, let keyspace = GlobalKeyspace(rawValue: tag) {
            self = .global(keyspace)
        } else {
            throw reader.corrupt("No keyspace has this tag.")
        }
    }

    /// The place of a key; nil if this software writes no such key.
    init?(of key: Span<UInt8>) {
        guard var reader = try? KeyReader(key, after: 0), let place = try? KeyPlace(&reader) else {
            return nil
        }
        self = place
    }

    /// Whether the value is a secret, or may be part of one, even if its bytes do not look like one.
    var holdsSecrets: Bool {
        switch self {
        case .zone(_, _, .shareTokens), .global(.tokenSecret): true
        default: false
        }
    }

    var keyspace: any Keyspace {
        switch self {
        case .global(let keyspace): keyspace
        case .database(_, let keyspace): keyspace
        case .zone(_, _, let keyspace): keyspace
        }
    }
}
