// The value of a field as text, as JSON, as an argument, and in CloudKit's records.

import Foundation
import StratusKit
import StratusLayout
import StratusModel

extension FieldValue {
    /// One line for people.
    var visibleText: String {
        switch self {
        case .string(let text): "\"\(VisibleText.of(text))\""
        case .int64(let number): "\(number)"
        case .double(let number): "\(number)"
        case .date(let date): Quantities.date(date)
        case .bytes(let bytes): "x'\(Hex.text(bytes, limit: 64))'"
        case .location(let place):
            "\(place.latitudeDegrees)°, \(place.longitudeDegrees)° (± \(place.horizontalAccuracyMetres) m)"
        case .reference(let reference):
            "→ \(VisibleText.of(reference.target.text))\(reference.action == .deleteSelf ? " (deletes self)" : "")"
        case .asset(let asset): "asset of \(Quantities.count(asset.byteCount, "byte")), x'\(Hex.text(asset.digest))'"
        case .list(let elements): "[\(elements.map(\.visibleText).joined(separator: ", "))]"
        }
    }

    /// `{"type":…, "value":…}` for reading: bytes are hexadecimal, dates ISO 8601.
    var object: JSONObject {
        switch self {
        case .string(let text): ["type": "string", "value": text]
        case .int64(let number): ["type": "int64", "value": number]
        case .double(let number): ["type": "double", "value": number]
        case .date(let date): ["type": "date", "value": Quantities.timestamp(date)]
        case .bytes(let bytes): ["type": "bytes", "value": Hex.text(bytes)]
        case .location(let place):
            [
                "type": "location",
                "value": [
                    "latitudeDegrees": place.latitudeDegrees, "longitudeDegrees": place.longitudeDegrees,
                    "altitudeMetres": place.altitudeMetres, "horizontalAccuracyMetres": place.horizontalAccuracyMetres,
                    "verticalAccuracyMetres": place.verticalAccuracyMetres, "courseDegrees": place.courseDegrees,
                    "speedMetresPerSecond": place.speedMetresPerSecond,
                    "timestamp": Quantities.timestamp(place.timestamp),
                ] as JSONObject,
            ]
        case .reference(let reference):
            [
                "type": "reference",
                "value": ["target": reference.target.text, "deletesSelf": reference.action == .deleteSelf]
                    as JSONObject,
            ]
        case .asset(let asset):
            ["type": "asset", "value": ["digest": Hex.text(asset.digest), "byteCount": asset.byteCount] as JSONObject]
        case .list(let elements):
            ["type": "list", "value": elements.map(\.object)]
        }
    }
}

/// A field from the command line: `KEY=TEXT` or `KEY:TYPE=TEXT`.
struct FieldAssignment {
    let key: String
    let value: FieldValue
    /// The file with the content of an asset.
    private(set) var assetPath: String?

    static let help = """
        KEY=TEXT for a string; KEY:TYPE=TEXT for int64, double, date (2026-01-31T12:00:00Z), bytes (hexadecimal), \
        reference and deleteSelf (a record name), location (latitude,longitude in degrees), asset (a file)
        """

    /// Throws `usage` if the text is not a field.
    init(_ text: String) throws {
        let sides = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let left = sides[0].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard sides.count == 2, let key = left.first, !key.isEmpty else { throw Self.wrong(text) }
        self.key = key
        let (type, right) = (left.count == 2 ? left[1] : "string", sides[1])
        let value: FieldValue?
        switch type {
        case "string": value = .string(right)
        case "int64": value = Int64(right).map { .int64($0) }
        case "double": value = Double(right).map { .double($0) }
        case "date": value = FieldJSON.date(right).map { .date($0) }
        case "bytes": value = Hex.bytes(right).map { .bytes($0) }
        case "reference": value = .reference(RecordReference(target: RecordName(right), action: .none))
        case "deleteSelf": value = .reference(RecordReference(target: RecordName(right), action: .deleteSelf))
        case "location": value = Self.location(right)
        case "asset":
            assetPath = AbsolutePath.of(right)
            value = .asset(AssetDescriptor(digest: [], byteCount: 0))
        default: value = nil
        }
        guard let value else { throw Self.wrong(text) }
        self.value = value
    }

    private static func location(_ text: String) -> FieldValue? {
        let degrees = text.split(separator: ",").compactMap { Double($0) }
        guard degrees.count == 2, (-90...90).contains(degrees[0]), (-180...180).contains(degrees[1]) else { return nil }
        return .location(
            Location(
                latitudeDegrees: degrees[0], longitudeDegrees: degrees[1],
                timestamp: Date(timeIntervalSinceReferenceDate: 0)))
    }

    private static func wrong(_ text: String) -> ToolError {
        ToolError(.usage, "This is not a field. Write \(FieldAssignment.help).", ["field": text])
    }
}

extension FieldValue {
    /// Whether the value is or contains an asset.
    var holdsAsset: Bool {
        switch self {
        case .asset: true
        case .list(let items): items.contains { $0.holdsAsset }
        case .string, .int64, .double, .date, .bytes, .location, .reference: false
        }
    }
}

/// Values of fields in JSON without loss: `{"type":…,"value":…}`. Dates are seconds since 2001-01-01 UTC, bytes are
/// base 64, numbers with many digits are strings.
enum FieldJSON {
    static func date(_ text: String) -> Date? {
        guard isPossible(text) else { return nil }
        return (try? Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(text))
            ?? (try? Date.ISO8601FormatStyle().parse(text))
    }

    /// Whether the calendar has the day and the clock the time. The parser makes another date of 31 February.
    private static func isPossible(_ text: String) -> Bool {
        let parts = text.split(separator: #/\D/#, maxSplits: 6).prefix(6).compactMap { Int($0) }
        guard parts.count == 6, (1...12).contains(parts[1]) else { return false }
        let isLeap = parts[0] % 4 == 0 && (parts[0] % 100 != 0 || parts[0] % 400 == 0)
        let dayCount = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][parts[1] - 1]
        return (1...dayCount).contains(parts[2]) && parts[3] < 24 && parts[4] < 60 && parts[5] < 60
    }

    static func object(of value: FieldValue) -> JSONObject {
        switch value {
        case .date(let date): ["type": "date", "value": seconds(date)]
        case .bytes(let bytes): ["type": "bytes", "value": Data(bytes).base64EncodedString()]
        case .location(let place):
            [
                "type": "location",
                "value": [
                    place.latitudeDegrees, place.longitudeDegrees, place.altitudeMetres,
                    place.horizontalAccuracyMetres, place.verticalAccuracyMetres, place.courseDegrees,
                    place.speedMetresPerSecond, place.timestamp.timeIntervalSinceReferenceDate,
                ].map { ExactNumber(value: $0) },
            ]
        case .list(let items): ["type": "list", "value": items.map { object(of: $0) }]
        case .double(let number): ["type": "double", "value": ExactNumber(value: number)]
        case .string, .int64, .reference, .asset: value.object
        }
    }

    /// The wanted fields, sorted by name, without the server's data of a share.
    static func object(of fields: RecordFields, where isWanted: (FieldValue) -> Bool) -> JSONObject {
        var all: JSONObject = [:]
        for (key, field) in fields where key != ShareContent.fieldKey && isWanted(field.value) {
            let mark: JSONObject = field.isEncrypted ? ["encrypted": true] : [:]
            all.add(key.text, object(of: field.value) + mark)
        }
        return all
    }

    static func seconds(_ date: Date) -> ExactNumber { ExactNumber(value: date.timeIntervalSinceReferenceDate) }

    /// A value with its encryption mark; nil if the JSON is not a value.
    static func field(of any: Any?) -> Field? {
        value(of: any).map { Field($0, isEncrypted: (any as? [String: Any])?["encrypted"] as? Bool ?? false) }
    }

    /// A value; nil if the JSON is not one.
    static func value(of any: Any?) -> FieldValue? {
        guard let object = any as? [String: Any], let type = object["type"] as? String else { return nil }
        let value = object["value"]
        switch type {
        case "string": return (value as? String).map { .string($0) }
        case "int64": return integer(value).map { .int64($0) }
        case "double": return number(value).map { .double($0) }
        case "date": return date(of: value).map { .date($0) }
        case "bytes": return (value as? String).flatMap { Data(base64Encoded: $0) }.map { .bytes([UInt8]($0)) }
        case "location": return location(value)
        case "reference":
            guard let parts = value as? [String: Any], let target = parts["target"] as? String else { return nil }
            let deletes = parts["deletesSelf"] as? Bool ?? false
            return .reference(RecordReference(target: RecordName(target), action: deletes ? .deleteSelf : .none))
        case "asset":
            guard let parts = value as? [String: Any],
                let digest = (parts["digest"] as? String).flatMap({ Hex.bytes($0) }),
                let count = parts["byteCount"] as? NSNumber
            else { return nil }
            return .asset(AssetDescriptor(digest: digest, byteCount: count.int64Value))
        case "list":
            guard let items = value as? [Any] else { return nil }
            let values = items.compactMap { self.value(of: $0) }
            return values.count == items.count ? .list(values) : nil
        default: return nil
        }
    }

    /// A whole number; nil for anything else, and for a number that does not fit.
    private static func integer(_ any: Any?) -> Int64? {
        guard let number = any as? NSNumber, let whole = Int64(exactly: number) else { return nil }
        // The parser rounds large numbers: then its text is that of another number.
        return whole.magnitude < 1 << 53 || number.stringValue == "\(whole)" ? whole : nil
    }

    /// A number, which may be written as a string.
    static func number(_ any: Any?) -> Double? {
        if let text = any as? String { return Double(text) }
        return (any as? NSNumber)?.doubleValue
    }

    static func date(of any: Any?) -> Date? {
        if let text = any as? String, Double(text) == nil { return date(text) }
        return number(any).map { Date(timeIntervalSinceReferenceDate: $0) }
    }

    private static func location(_ any: Any?) -> FieldValue? {
        guard let numbers = (any as? [Any])?.compactMap({ number($0) }), numbers.count == 8 else { return nil }
        return .location(
            Location(
                latitudeDegrees: numbers[0], longitudeDegrees: numbers[1], altitudeMetres: numbers[2],
                horizontalAccuracyMetres: numbers[3], verticalAccuracyMetres: numbers[4], courseDegrees: numbers[5],
                speedMetresPerSecond: numbers[6], timestamp: Date(timeIntervalSinceReferenceDate: numbers[7])))
    }
}

/// A number that can be read again exactly. Parsers take numbers with more digits for decimals and round them twice, so
/// these become strings.
struct ExactNumber: JSONValue {
    let value: Double

    func writeJSON(to text: inout String) {
        let digits = "\(value)"
        if digits.utf8.count <= 16 { value.writeJSON(to: &text) } else { digits.writeJSON(to: &text) }
    }
}

extension FieldValue {
    /// The value for a CloudKit record. Throws `usage` for an asset, which is set from a file.
    func clientValue(in client: ZoneClient) throws -> any CKRecordValue {
        switch self {
        case .string(let text): return text
        case .int64(let number): return number
        case .double(let number): return number
        case .date(let date): return date
        case .bytes(let bytes): return Data(bytes)
        case .location(let place): return CLLocation(place)
        case .reference(let reference):
            return CKRecord.Reference(
                recordID: client.recordID(reference.target),
                action: reference.action == .deleteSelf ? .deleteSelf : .none)
        case .asset: throw ToolError(.usage, "Set an asset from a file: KEY:asset=FILE.")
        case .list(let items): return try items.map { try $0.clientValue(in: client) }
        }
    }
}
