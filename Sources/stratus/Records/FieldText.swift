// The value of a field as text and as JSON.

import StratusLayout
import StratusModel

extension FieldValue {
    /// One visible line for people.
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

    /// `{"type":…, "value":…}`; bytes are hexadecimal, dates ISO 8601.
    var object: JSONObject {
        switch self {
        case .string(let text): ["type": "string", "value": .string(text)]
        case .int64(let number): ["type": "int64", "value": .integer(number)]
        case .double(let number): ["type": "double", "value": .number(number)]
        case .date(let date): ["type": "date", "value": Quantities.timestamp(date)]
        case .bytes(let bytes): ["type": "bytes", "value": .string(Hex.text(bytes))]
        case .location(let place):
            [
                "type": "location",
                "value": .object([
                    "latitudeDegrees": .number(place.latitudeDegrees),
                    "longitudeDegrees": .number(place.longitudeDegrees),
                    "altitudeMetres": .number(place.altitudeMetres),
                    "horizontalAccuracyMetres": .number(place.horizontalAccuracyMetres),
                    "verticalAccuracyMetres": .number(place.verticalAccuracyMetres),
                    "courseDegrees": .number(place.courseDegrees),
                    "speedMetresPerSecond": .number(place.speedMetresPerSecond),
                    "timestamp": Quantities.timestamp(place.timestamp),
                ]),
            ]
        case .reference(let reference):
            [
                "type": "reference",
                "value": .object([
                    "target": .string(reference.target.text),
                    "deletesSelf": .boolean(reference.action == .deleteSelf),
                ]),
            ]
        case .asset(let asset):
            [
                "type": "asset",
                "value": .object([
                    "digest": .string(Hex.text(asset.digest)), "byteCount": .integer(asset.byteCount),
                ]),
            ]
        case .list(let elements):
            ["type": "list", "value": .array(elements.map { .object($0.object) })]
        }
    }
}
