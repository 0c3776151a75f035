// The values that a client gives for the places of a format.

import Foundation
import StratusCloud
import StratusModel

/// A value for a place of a format.
enum PredicateArgument: Hashable, Sendable {
    case single(PredicateConstant)
    /// A list of values, or a set of them.
    case list([PredicateConstant])

    /// Takes a value of any type.
    init(_ value: Any?) {
        guard let value = Self.unwrapped(value) else {
            self = .single(.null)
            return
        }
        if let elements = Self.elements(of: value) {
            self = .list(elements.map { PredicateConstant($0) })
        } else {
            self = .single(PredicateConstant(value))
        }
    }

    /// What is in optionals, however many.
    fileprivate static func unwrapped(_ value: Any?) -> Any? {
        guard var value else { return nil }
        while true {
            let mirror = Mirror(reflecting: value)
            guard mirror.displayStyle == .optional else { return value is NSNull ? nil : value }
            guard let inner = mirror.children.first?.value else { return nil }
            value = inner
        }
    }

    fileprivate static func elements(of value: Any) -> [Any]? {
        switch value {
        case let array as [Any]: array
        case let array as NSArray: Array(array)
        case let set as Set<AnyHashable>: set.map(\.base)
        case let set as NSSet: set.allObjects
        case let set as NSOrderedSet: Array(set)
        default: nil
        }
    }
}

extension PredicateConstant {
    /// Takes a value of any type that is no list.
    init(_ value: Any?) {
        switch PredicateArgument.unwrapped(value) {
        case nil: self = .null
        case let id as CKRecordID: self = .reference(id)
        case let record as CKRecord: self = .reference(record.recordID)
        // Only whose record it is counts (Q-08).
        case let reference as CKReference: self = .reference(reference.recordID)
        case is CKAsset: self = .unusable("CKAsset")
        case let value?:
            let place = CKAsset.Place(record: RecordAddress(recordName: ""), key: "", in: nil)
            if let held = try? HeldValue(holding: value), PredicateArgument.elements(of: value) == nil {
                self = .value(held.clientValue(at: place, isChanged: false))
            } else {
                self = .unusable("\(type(of: value))")
            }
        }
    }

    private static func reference(_ id: CKRecordID) -> PredicateConstant {
        .value(.reference(ClientReference(target: id.address, action: .none)))
    }
}

extension PredicateArgument {
    /// The side that the value makes in a place of a kind; nil where it is of another kind.
    func side(for letter: Character) -> PredicateSide? {
        switch (letter, self) {
        case ("@", .single(let constant)): .constant(constant)
        case ("@", .list(let constants)): .aggregate(constants.map { .constant($0) })
        case ("K", .single(.value(.string(let path)))): Self.path(path)
        case ("K", _), (_, .list): nil
        case (_, .single(.value(.int64(let number)))):
            Self.isFloating(letter) ? .double(Double(number)) : .integer(number)
        case (_, .single(.value(.double(let number)))):
            Self.isFloating(letter) ? .double(number) : Int64(exactly: number.rounded(.towardZero)).map { .integer($0) }
        case (_, .single): nil
        }
    }

    /// The field, or the path to one, that a text names.
    static func path(_ text: String) -> PredicateSide? {
        if text.lowercased() == "self" { return .evaluatedObject }
        let names = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard names.allSatisfy({ !$0.isEmpty }) else { return nil }
        return .keyPath(names)
    }

    private static func isFloating(_ letter: Character) -> Bool { "fFeEgGaA".contains(letter) }

    /// What a place of a kind takes.
    static func kind(of letter: Character) -> String {
        switch letter {
        case "@": "a value"
        case "K": "the name of a field"
        default: "a number"
        }
    }

    /// What the value is.
    var kind: String {
        switch self {
        case .list: "a list"
        case .single(.null): "nil"
        case .single(.unusable(let type)): "of the type \(type)"
        case .single(.value(let value)):
            switch value {
            case .string(let text): "the text \"\(text)\""
            case .int64(let number): "\(number)"
            case .double(let number): "\(number)"
            case .date: "a date"
            case .bytes: "data"
            case .location: "a location"
            case .reference: "a reference"
            case .asset: "an asset"
            case .list: "a list"
            }
        }
    }

    /// What `CAST` makes of a value; nil where that is not known before a record is looked at.
    static func cast(_ arguments: [PredicateSide]) -> PredicateConstant? {
        guard arguments.count == 2, case .constant(.value(.string(let type))) = arguments[1],
            case .constant(.value(let value)) = arguments[0]
        else { return nil }
        switch (type, value) {
        case ("NSDate", .int64(let number)): return .value(.date(Date(timeIntervalSinceReferenceDate: Double(number))))
        case ("NSDate", .double(let number)): return .value(.date(Date(timeIntervalSinceReferenceDate: number)))
        case ("NSDate", .date), ("NSNumber", .int64), ("NSNumber", .double), ("NSString", .string): return .value(value)
        case ("NSNumber", .date(let date)): return .value(.double(date.timeIntervalSinceReferenceDate))
        default: return nil
        }
    }
}
