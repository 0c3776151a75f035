// The value of a field as a record holds it: a plain value, except that an asset is kept as the object the client gave.
//
// Getters hand out the classes of Foundation, whose casts convert: `NSNumber` to every number type, `NSArray` to arrays
// of any element. A Swift `Int64` in their place would not cast to `Int`.

import Foundation
import StratusCloud

/// The value of a field, immutable but for what an asset learns of itself.
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

    /// What a getter hands out.
    var object: any __CKRecordObjCValue & CKRecordValueProtocol {
        switch self {
        case .string(let text): NSString(string: text)
        case .int64(let number): NSNumber(value: number)
        case .double(let number): NSNumber(value: number)
        case .date(let date): NSDate(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate)
        case .bytes(let data): NSData(data: data)
        case .location(let location): location
        case .reference(let reference): reference
        case .asset(let asset): asset
        case .list(let values): NSArray(array: values.map(\.object))
        }
    }

    /// What Swift sees where no type is asked for, as in iteration: numbers as what they are, so that a `switch` over the
    /// types of a value tells a 2.0 from a 2.
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

    /// Whether an asset or a reference is in it, which `encryptedValues` refuses (C-08).
    var isUnencryptable: Bool {
        switch self {
        case .asset, .reference: true
        case .list(let values): values.contains(where: \.isUnencryptable)
        default: false
        }
    }

    /// Every asset in it.
    var assets: [CKAsset] {
        switch self {
        case .asset(let asset): [asset]
        case .list(let values): values.flatMap(\.assets)
        default: []
        }
    }

    /// Every string in it.
    var texts: [String] {
        switch self {
        case .string(let text): [text]
        case .list(let values): values.flatMap(\.texts)
        default: []
        }
    }
}

/// A value and whether it came through `encryptedValues`.
struct HeldField: Sendable {
    var value: HeldValue
    var isEncrypted: Bool
}

extension HeldValue {
    /// A value from the server.
    init(_ value: ClientValue, at place: CKAsset.Place, download: (any AssetDownload)?) {
        self =
            switch value {
            case .string(let text): .string(text)
            case .int64(let number): .int64(number)
            case .double(let number): .double(number)
            case .date(let date): .date(date)
            case .bytes(let bytes): .bytes(bytes.data)
            case .location(let location): .location(CLLocation(location))
            case .reference(let reference): .reference(CKReference(reference))
            case .asset(.content(let content)): .asset(CKAsset(content, at: place, download: download))
            case .asset(.file(let path)): .asset(CKAsset(fileURL: URL(fileURLWithPath: path)))
            case .asset(.missing): .asset(CKAsset.withoutContent)
            case .list(let values): .list(values.map { HeldValue($0, at: place, download: download) })
            }
    }

    /// The value that a save sends.
    func clientValue(at place: CKAsset.Place, isChanged: Bool) -> ClientValue {
        switch self {
        case .string(let text): .string(text)
        case .int64(let number): .int64(number)
        case .double(let number): .double(number)
        case .date(let date): .date(date)
        case .bytes(let data): .bytes(ClientBytes(data))
        case .location(let location): .location(location.location)
        case .reference(let reference): .reference(reference.clientReference)
        case .asset(let asset): .asset(asset.claim(at: place, isChanged: isChanged))
        case .list(let values): .list(values.map { $0.clientValue(at: place, isChanged: isChanged) })
        }
    }

    /// Tells the assets in it what the server has stored for them.
    func confirm(_ saved: ClientValue, at place: CKAsset.Place) {
        switch (self, saved) {
        case (.asset(let asset), .asset(.content(let content))): asset.confirm(content, at: place)
        case (.list(let mine), .list(let stored)) where mine.count == stored.count:
            for (value, stored) in zip(mine, stored) { value.confirm(stored, at: place) }
        default: break
        }
    }
}

extension ClientValue {
    /// Puts other files in the place of those that are to be uploaded. `body` is given a path and, for an item of a list,
    /// the item's place.
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
