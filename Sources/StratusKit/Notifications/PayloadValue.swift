// Values of fields in a payload. Texts and numbers stand for themselves, as in pushes of the real service; whatever
// JSON or a property list has no words for, or could change, is a dictionary of a type, named as in CloudKit's web
// services, and a value.
//
//   type        value
//   DOUBLE      text: a number without a fraction, or none (inf, nan)
//   TIMESTAMP   text: seconds since the beginning of 2001
//   BYTES       text: base 64
//   LOCATION    list of eight texts: latitude, longitude, altitude, accuracies, course, speed, timestamp
//   REFERENCE   dictionary: recordName, zoneName, ownerName, action (0, or 1 for deleteSelf)
//   ASSETID     nothing: an asset does not come along
//   LIST        list of values that are no lists
//
// Invariant: reading never makes an asset of a file.

import Foundation
import StratusCloud
import StratusModel

enum PayloadValue {
    private enum Kind: String {
        case number = "DOUBLE"
        case date = "TIMESTAMP"
        case bytes = "BYTES"
        case location = "LOCATION"
        case reference = "REFERENCE"
        case asset = "ASSETID"
        case list = "LIST"
    }

    private static let kindKey = "type"
    private static let valueKey = "value"

    // MARK: Writing

    static func object(of value: ClientValue) -> Any {
        switch value {
        case .string(let text): NSString(string: text)
        case .int64(let number): NSNumber(value: number)
        // One with a fraction is written with its fraction, and so read as what it is.
        case .double(let number) where number.isFinite && number != number.rounded(): NSNumber(value: number)
        case .double(let number): typed(.number, text(of: number))
        case .date(let date): typed(.date, text(of: date.timeIntervalSinceReferenceDate))
        case .bytes(let bytes): typed(.bytes, NSString(string: bytes.data.base64EncodedString()))
        case .location(let place):
            typed(.location, NSArray(array: CLLocation(place).archivedNumbers.map { text(of: $0) }))
        case .reference(let reference): typed(.reference, parts(of: reference))
        case .asset: typed(.asset, NSString(string: ""))
        case .list(let values): typed(.list, NSArray(array: values.map { object(of: $0) }))
        }
    }

    private static func typed(_ kind: Kind, _ value: NSObject) -> NSDictionary {
        NSDictionary(dictionary: [kindKey: NSString(string: kind.rawValue), valueKey: value])
    }

    /// The shortest text that is read as the same number.
    private static func text(of number: Double) -> NSString { NSString(string: "\(number)") }

    private static func parts(of reference: ClientReference) -> NSDictionary {
        NSDictionary(dictionary: [
            "recordName": NSString(string: reference.target.recordName),
            "zoneName": NSString(string: reference.target.zone.zoneName),
            "ownerName": NSString(string: reference.target.zone.ownerName),
            "action": NSNumber(value: reference.action == .deleteSelf ? 1 : 0),
        ])
    }

    // MARK: Reading

    /// The value of an object; nil for what is none.
    static func value(of object: Any, isInList: Bool = false) -> ClientValue? {
        if let dictionary = PayloadDictionary(object) { return value(of: dictionary, isInList) }
        if let number = object as? NSNumber { return value(of: number) }
        guard list(object) == nil, let held = try? HeldValue(holding: object) else { return nil }
        switch held {
        case .string(let text): return .string(text)
        case .int64(let number): return .int64(number)
        case .double(let number): return .double(number)
        case .date(let date): return .date(date)
        case .bytes(let data): return .bytes(ClientBytes(data))
        case .location(let location): return .location(location.location)
        case .reference(let reference): return .reference(reference.clientReference)
        case .asset, .list: return nil
        }
    }

    /// By its text, which tells a whole number from others: JSON gives some whole ones as decimal numbers.
    private static func value(of number: NSNumber) -> ClientValue? {
        let text = number.stringValue
        return Int64(text).map { .int64($0) } ?? Double(text).map { .double($0) }
    }

    private static func value(of dictionary: PayloadDictionary, _ isInList: Bool) -> ClientValue? {
        guard let kind = dictionary.text(kindKey).flatMap({ Kind(rawValue: $0) }) else { return nil }
        let text = dictionary.text(valueKey)
        switch kind {
        case .number: return text.flatMap { Double($0) }.map { .double($0) }
        case .date:
            return text.flatMap { Double($0) }.map { .date(Date(timeIntervalSinceReferenceDate: $0)) }
        case .bytes: return text.flatMap { Data(base64Encoded: $0) }.map { .bytes(ClientBytes($0)) }
        case .location:
            let numbers = dictionary.texts(valueKey)?.compactMap { Double($0) } ?? []
            return CLLocation(archivedNumbers: numbers).map { .location($0.location) }
        case .reference: return dictionary.dictionary(valueKey).flatMap { reference($0) }.map { .reference($0) }
        case .asset: return .asset(.missing)
        case .list:
            guard !isInList, let values = dictionary.content[valueKey].flatMap({ list($0) }) else { return nil }
            return .list(values.compactMap { value(of: $0, isInList: true) })
        }
    }

    private static func reference(_ parts: PayloadDictionary) -> ClientReference? {
        guard let recordName = parts.text("recordName"), let zoneName = parts.text("zoneName"),
            let ownerName = parts.text("ownerName")
        else { return nil }
        let zone = ZoneAddress(zoneName: zoneName, ownerName: ownerName)
        return ClientReference(
            target: RecordAddress(recordName: recordName, zone: zone),
            action: parts.number("action") == 1 ? .deleteSelf : .none)
    }

    // MARK: Plain objects

    static func text(_ object: Any) -> String? { object as? String }

    static func list(_ object: Any) -> [Any]? {
        (object as? NSArray).map { Array($0) } ?? object as? [Any]
    }

    /// A whole number, whatever type it is of.
    static func integer(_ object: Any) -> Int64? {
        switch value(of: object, isInList: true) {
        case .int64(let number): number
        case .double(let number): Int64(exactly: number)
        default: nil
        }
    }
}

extension HeldValue {
    /// A value that came with a notification.
    init(_ value: ClientValue) {
        self.init(
            value, at: CKAsset.Place(record: RecordAddress(recordName: ""), key: "", in: nil), download: nil)
    }
}
