// Which type a value has, and which values a field of a type takes.

import StratusModel

/// The type of a value: what a field would be that is learnt from it.
enum ValueType: Hashable, Sendable, CustomStringConvertible {
    case known(FieldType)
    /// A list without items is of every list type, and teaches none.
    case emptyList(isEncrypted: Bool)
    /// A list of values of several kinds, or of lists: no field takes it.
    case mixedList

    init(_ field: Field) {
        guard case .list(let items) = field.value else {
            let scalar = Self.scalar(of: field.value)
            self = scalar.map { .known(FieldType($0, isEncrypted: field.isEncrypted)) } ?? .mixedList
            return
        }
        guard let first = items.first else {
            self = .emptyList(isEncrypted: field.isEncrypted)
            return
        }
        guard let scalar = Self.scalar(of: first), items.allSatisfy({ Self.scalar(of: $0) == scalar }) else {
            self = .mixedList
            return
        }
        self = .known(FieldType(scalar, isList: true, isEncrypted: field.isEncrypted))
    }

    private static func scalar(of value: FieldValue) -> ScalarType? {
        switch value {
        case .string: .string
        case .int64: .int64
        case .double: .double
        case .date: .timestamp
        case .bytes: .bytes
        case .location: .location
        case .reference: .reference
        case .asset: .asset
        case .list: nil
        }
    }

    /// As the server's errors name it.
    var description: String {
        switch self {
        case .known(let type): "\(type)"
        case .emptyList(let isEncrypted): isEncrypted ? "ENCRYPTED_EMPTY_LIST" : "EMPTY_LIST"
        case .mixedList: "MIXED_LIST"
        }
    }
}

extension FieldType {
    /// Whether a field of this type takes a value of that type.
    func takes(_ value: ValueType) -> Bool {
        switch value {
        case .known(let type):
            guard type.isList == isList, type.isEncrypted == isEncrypted else { return false }
            return type.scalar == scalar || scalar == .number && (type.scalar == .int64 || type.scalar == .double)
        case .emptyList(let isEncrypted): return isList && isEncrypted == self.isEncrypted
        case .mixedList: return false
        }
    }

    /// The indexes of a field that is learnt from a value: all that its type allows.
    var learntIndexes: FieldIndexes { isEncrypted ? [] : scalar.possibleIndexes(isList: isList) }
}

extension ScalarType {
    /// The indexes that an imported schema may give a field: more than a learnt one gets, for the real service lets
    /// many through.
    var indexesInSchema: FieldIndexes {
        switch self {
        case .bytes, .asset: []
        case .string: .all
        case .int64, .double, .timestamp, .location, .reference, .number: [.queryable, .sortable]
        }
    }

    /// The indexes that a learnt plain field of the type gets.
    func possibleIndexes(isList: Bool) -> FieldIndexes {
        switch self {
        case .string: isList ? [.queryable, .searchable] : .all
        case .int64, .double, .timestamp, .number: isList ? .queryable : [.queryable, .sortable]
        case .location: isList ? .queryable : [.queryable, .sortable]
        case .reference: .queryable
        case .bytes, .asset: []
        }
    }
}
