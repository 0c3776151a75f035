// The value of a field as a record holds it, and the conversion from every type that a client may set (C-07). All
// values are plain, except that an asset stays the object the client passed.
//
// Getters return Foundation's `NSNumber` and `NSArray` because their casts convert: to every number type, to arrays of
// any element. A Swift `Int64` would not cast to `Int`. Texts, dates and bytes are Swift's types, which cast to
// Foundation's and need no objects. The cast from `NSData` to `Data` copies byte by byte.

import Foundation
import StratusCloud
import Synchronization

/// The value of a field. Immutable, except for what an asset learns about itself.
enum HeldValue: Sendable {
    case string(String)
    case int64(Int64)
    case double(Double)
    case date(Date)
    case bytes(Data)
    case location(CLLocation)
    case reference(CKReference)
    case asset(CKAsset)
    case list([HeldValue])

    /// What a getter returns.
    var object: any __CKRecordObjCValue & CKRecordValueProtocol {
        switch self {
        case .string(let text): text
        case .int64(let number): NSNumber(value: number)
        case .double(let number): NSNumber(value: number)
        case .date(let date): date
        case .bytes(let data): data
        case .location(let location): location
        case .reference(let reference): reference
        case .asset(let asset): asset
        case .list(let values): NSArray(array: values.map(\.object))
        }
    }

    /// What a getter returns for a value that the server sent in a record without assets.
    static func object(of value: ClientValue) -> any __CKRecordObjCValue & CKRecordValueProtocol {
        switch value {
        case .string(let text): text
        case .int64(let number): NSNumber(value: number)
        case .bytes(let bytes): bytes.data
        default: HeldValue(value).object
        }
    }

    /// The value that Swift gets if it requests no type, as in iteration. Numbers keep their type, so that a `switch`
    /// over types distinguishes 2.0 from 2.
    var native: any CKRecordValueProtocol {
        switch self {
        case .string(let text): text
        case .int64(let number): number
        case .double(let number): number
        case .date(let date): date
        case .bytes(let data): data
        case .location, .reference, .asset, .list: object
        }
    }

    /// Whether it contains an asset or a reference, which `encryptedValues` refuses (C-08).
    var isUnencryptable: Bool {
        switch self {
        case .asset, .reference: true
        case .list(let values): values.contains(where: \.isUnencryptable)
        default: false
        }
    }

    /// All assets in it.
    var assets: [CKAsset] {
        switch self {
        case .asset(let asset): [asset]
        case .list(let values): values.flatMap(\.assets)
        default: []
        }
    }

    /// All strings in it.
    var texts: [String] {
        switch self {
        case .string(let text): [text]
        case .list(let values): values.flatMap(\.texts)
        default: []
        }
    }

    /// A value from the server.
    init(_ value: ClientValue, at place: @autoclosure () -> CKAsset.Place, download: (any AssetDownload)?) {
        self =
            switch value {
            case .string(let text): .string(text)
            case .int64(let number): .int64(number)
            case .double(let number): .double(number)
            case .date(let date): .date(date)
            case .bytes(let bytes): .bytes(bytes.data)
            case .location(let location): .location(CLLocation(location))
            case .reference(let reference): .reference(CKReference(reference))
            case .asset(.content(let content)): .asset(CKAsset(content, at: place(), download: download))
            case .asset(.file(let path)): .asset(CKAsset(fileURL: URL(fileURLWithPath: path)))
            case .asset(.missing): .asset(CKAsset.withoutContent)
            case .list(let values): .list(values.map { HeldValue($0, at: place(), download: download) })
            }
    }

    /// The value that a save sends.
    func clientValue(at place: @autoclosure () -> CKAsset.Place, isChanged: Bool) -> ClientValue {
        switch self {
        case .string(let text): .string(text)
        case .int64(let number): .int64(number)
        case .double(let number): .double(number)
        case .date(let date): .date(date)
        case .bytes(let data): .bytes(ClientBytes(data))
        case .location(let location): .location(location.location)
        case .reference(let reference): .reference(reference.clientReference)
        case .asset(let asset): .asset(asset.claim(at: place(), isChanged: isChanged))
        case .list(let values): .list(values.map { $0.clientValue(at: place(), isChanged: isChanged) })
        }
    }

    /// Notifies the assets in it which contents the server has stored.
    func confirm(_ saved: ClientValue, at place: @autoclosure () -> CKAsset.Place) {
        switch (self, saved) {
        case (.asset(let asset), .asset(.content(let content))): asset.confirm(content, at: place())
        case (.list(let mine), .list(let stored)) where mine.count == stored.count:
            for (value, stored) in zip(mine, stored) { value.confirm(stored, at: place()) }
        default: break
        }
    }

    /// A value from the server that is in no record. Its assets have no content.
    init(_ value: ClientValue) { self.init(value, at: .nowhere, download: nil) }

    /// The value in the server's terms, if it is in no record.
    var clientValue: ClientValue { clientValue(at: .nowhere, isChanged: false) }

    /// Converts a value of any type.
    init(holding value: Any) throws(Misuse) {
        if let value = value as? any HoldableValue {
            self = try value.heldValue()
        } else if let values = value as? [Any] {
            self = try HeldValue(holdingAll: values)
        } else {
            throw Misuse("\(type(of: value)) is not a type that a record can hold.")
        }
    }

    /// Converts a value of any type. Encrypted values are neither assets nor references (C-08).
    init(holding value: Any, isEncrypted: Bool) throws(Misuse) {
        self = try HeldValue(holding: value)
        if isEncrypted, isUnencryptable {
            throw Misuse("encrypted values cannot be assets or references.")
        }
    }

    /// Converts the elements of an array.
    init(holdingAll values: [Any]) throws(Misuse) {
        var list: [HeldValue] = []
        list.reserveCapacity(values.count)
        for value in values {
            let held = try HeldValue(holding: value)
            if case .list = held { throw Misuse("A list cannot hold lists.") }
            list.append(held)
        }
        // All elements of a list have one type: integers among floating-point numbers become floating-point numbers.
        if list.contains(where: { if case .double = $0 { true } else { false } }) {
            list = list.map { if case .int64(let number) = $0 { .double(Double(number)) } else { $0 } }
        }
        self = .list(list)
    }
}

/// A value, and whether it was set through `encryptedValues`.
struct HeldField: Sendable {
    var value: HeldValue
    var isEncrypted = false
}

extension ClientValue {
    /// Replaces the files to upload. `body` gets a path and, for an item of a list, the item's index.
    mutating func replaceFiles(_ body: (_ path: String, _ item: Int?) throws -> String) rethrows {
        switch self {
        case .asset(.file(let path)): self = .asset(.file(path: try body(path, nil)))
        case .list(var values):
            for (index, value) in values.enumerated() {
                if case .asset(.file(let path)) = value { values[index] = .asset(.file(path: try body(path, index))) }
            }
            self = .list(values)
        default: break
        }
    }
}

/// A mistake, such as a value that no field can hold. On Apple's systems it raises an exception; here the record or the
/// query remembers it, and fails with `invalidArguments`.
struct Misuse: Error, Hashable {
    let text: String

    init(_ text: String) { self.text = text }

    var error: CloudError { CloudError(.invalidArguments, text: text) }
}

/// A type whose values a field can hold.
protocol HoldableValue {
    /// A copy of the value (C-07).
    func heldValue() throws(Misuse) -> HeldValue
}

extension HoldableValue where Self: BinaryInteger {
    func heldValue() throws(Misuse) -> HeldValue {
        guard let number = Int64(exactly: self) else {
            throw Misuse("\(self) is larger than the largest integer that a record can hold.")
        }
        return .int64(number)
    }
}

extension Bool: HoldableValue {
    /// The server has no Boolean type (C-21).
    func heldValue() throws(Misuse) -> HeldValue { .int64(self ? 1 : 0) }
}

extension HoldableValue where Self: BinaryFloatingPoint {
    func heldValue() throws(Misuse) -> HeldValue { .double(Double(self)) }
}

extension Decimal: HoldableValue {
    func heldValue() throws(Misuse) -> HeldValue { .double(NSDecimalNumber(decimal: self).doubleValue) }
}

extension String: HoldableValue {
    func heldValue() throws(Misuse) -> HeldValue { .string(self) }
}

extension Date: HoldableValue {
    func heldValue() throws(Misuse) -> HeldValue { .date(self) }
}

extension Data: HoldableValue {
    /// A getter returns what is held, so a slice becomes data whose indices begin at 0.
    func heldValue() throws(Misuse) -> HeldValue { .bytes(startIndex == 0 ? self : Data(self)) }
}

extension Array: HoldableValue {
    func heldValue() throws(Misuse) -> HeldValue { try HeldValue(holdingAll: self) }
}

extension NSString: HoldableValue {
    func heldValue() throws(Misuse) -> HeldValue { .string(String(self)) }
}

extension NSDate: HoldableValue {
    func heldValue() throws(Misuse) -> HeldValue {
        .date(Date(timeIntervalSinceReferenceDate: timeIntervalSinceReferenceDate))
    }
}

extension NSData: HoldableValue {
    func heldValue() throws(Misuse) -> HeldValue { .bytes(Data(referencing: self)) }
}

extension NSArray: HoldableValue {
    func heldValue() throws(Misuse) -> HeldValue { try HeldValue(holdingAll: Array(self)) }
}

extension NSNumber: HoldableValue {
    func heldValue() throws(Misuse) -> HeldValue {
        // The text of a floating-point number never parses as an integer: 2 is written 2.0.
        let text = stringValue
        if !(self is NSDecimalNumber), let number = Int64(text) { return .int64(number) }
        guard UInt64(text) == nil || self is NSDecimalNumber else {
            throw Misuse("\(text) is larger than the largest integer that a record can hold.")
        }
        return .double(doubleValue)
    }
}

extension CKReference: HoldableValue {
    func heldValue() throws(Misuse) -> HeldValue { .reference(self) }
}

extension CKAsset: HoldableValue {
    /// A URL that is not a file URL has a path too, which must not be taken for a path on this machine (C-10).
    func heldValue() throws(Misuse) -> HeldValue {
        guard isOfFile else { throw Misuse("The URL of an asset must be a file URL.") }
        return .asset(self)
    }
}

extension CLLocation: HoldableValue {
    func heldValue() throws(Misuse) -> HeldValue { .location(self) }
}

/// How Stratus treats mistakes that raise an exception on Apple's systems: a key with wrong characters, a value of a
/// type that no record can hold, a parent reference with an action.
///
/// A host serves many users, and one client's mistake must not end it. So the object remembers the mistake, the call
/// has no other effect, and saving the object fails with `CKError.invalidArguments` and the text of the mistake.
public enum StratusMisuse {
    private static let isTrapping = Atomic<Bool>(false)

    /// Whether a mistake ends the process at once, as on Apple's systems, to show where it was made. For development.
    /// Default: false.
    public static var trapsAtOnce: Bool {
        get { isTrapping.load(ordering: .relaxed) }
        set { isTrapping.store(newValue, ordering: .relaxed) }
    }

    /// Notes a mistake: remembers the first one, or ends the process if `trapsAtOnce` is set.
    static func note(_ text: String, in memory: inout String?) {
        note(text)
        if memory == nil { memory = text }
    }

    /// Notes a mistake that is remembered elsewhere: ends the process if `trapsAtOnce` is set.
    static func note(_ text: String) { precondition(!trapsAtOnce, text) }
}
