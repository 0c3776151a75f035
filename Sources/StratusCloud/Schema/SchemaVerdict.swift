// What the schema allows. Pure decisions:
//
//   SchemaVerdict  (record, its known type, mode) → what it adds to the type, or refusal (S-13, S-14)
//   SchemaChange   (schema, wanted schema, mode) → the types to write and to remove, or refusal (S-13)
//   ValueType      value → its type, and whether a field takes it
//   SchemaNames    the valid names of types and fields (L-09)
//   queryIndexes   (type) → the indexes of its fields

import StratusLayout
import StratusModel

/// Compares records with their types.
enum SchemaVerdict {
    /// Fields of one record type, and so of one record (L-06).
    static let maximumFieldCount = 256

    /// The type with what the record adds to it, created if it is not known; nil if the record adds nothing.
    ///
    /// Throws the refusal of a record that does not fit.
    static func learnt(
        from record: Record, known: RecordTypeSchema?, mode: SchemaEnvironment, isPublic: Bool
    ) throws(CloudError) -> RecordTypeSchema? {
        var schema: RecordTypeSchema
        if let known { schema = known } else { schema = try newType(record.type, mode) }
        // The server's own type of user records exists before any save adds to it.
        var isNew = known == nil && record.type != SchemaNames.usersType
        for (key, field) in record.fields {
            if let found = schema.fields[key] {
                let value = ValueType(field)
                guard found.type.takes(value) else { throw mismatch(value, found.type, key, record.type) }
                if field.isEncrypted, isPublic { throw encryptedInPublic(key) }
            } else if let added = try newField(key, field, record.type, mode, isPublic) {
                schema.fields[key] = added
                isNew = true
            }
        }
        guard isNew else { return nil }
        let ownCount = schema.fields.keys.count { SystemFieldName.types[$0] == nil }
        guard ownCount <= maximumFieldCount else {
            throw CloudError.overLimit(
                "The record type would have too many fields. Use another type.", limit: maximumFieldCount,
                ["recordType": record.type.text])
        }
        return schema
    }

    private static func newType(_ type: RecordType, _ mode: SchemaEnvironment) throws(CloudError) -> RecordTypeSchema {
        let schema = RecordTypeSchema(name: type, grants: RecordTypeSchema.defaultGrants)
        if type == SchemaNames.usersType { return schema }
        if let error = SchemaNames.error(of: type) { throw error }
        guard mode == .production else { return schema }
        guard type != ShareContent.recordType else {
            throw CloudError(
                .serverRejectedRequest, "Cannot create new type cloudkit.share in production schema",
                ["recordType": type.text])
        }
        throw CloudError(ofSchema: "Cannot create new type \(type) in production schema", type)
    }

    /// The field that a value adds to the type; nil if it adds none.
    private static func newField(
        _ key: FieldKey, _ field: Field, _ type: RecordType, _ mode: SchemaEnvironment, _ isPublic: Bool
    ) throws(CloudError) -> FieldSchema? {
        if let error = SchemaNames.error(of: key, in: type) { throw error }
        let value = ValueType(field)
        if let fixed = SchemaNames.shareFields[key], !FieldType(fixed).takes(value) {
            throw mismatch(value, FieldType(fixed), key, type)
        }
        if field.isEncrypted, isPublic { throw encryptedInPublic(key) }
        guard mode == .development else {
            throw CloudError(
                ofSchema: "Cannot create or modify field '\(key)' in record '\(type)' in production schema", type, key)
        }
        switch value {
        case .emptyList: return nil
        case .mixedList:
            throw CloudError(ofSchema: "The values of a list must have one type, and cannot be lists.", type, key)
        case .known(let fieldType):
            guard !fieldType.isEncrypted || fieldType.scalar.canBeEncrypted else {
                throw CloudError(ofSchema: "Assets and references cannot be encrypted values (C-08).", type, key)
            }
            return FieldSchema(fieldType, indexes: fieldType.learntIndexes)
        }
    }

    /// The error for an empty list in a field without a type, or whose type is not a list. Nil if there is no such
    /// field.
    static func emptyListError(
        _ record: Record, _ known: RecordTypeSchema?, replacing stored: (RecordName) -> Record?
    ) -> CloudError? {
        guard record.fields.contains(where: { $0.value.value.isEmptyList }) else { return nil }
        for (key, field) in record.fields.sorted(by: { $0.key < $1.key }) where field.value.isEmptyList {
            if stored(record.name)?.fields[key]?.value.isEmptyList == true { continue }
            guard let type = known?.fields[key]?.type else {
                return CloudError(ofSchema: "cannot use an empty list to initialize a new field", record.type, key)
            }
            let value = ValueType(field)
            if !type.takes(value) { return mismatch(value, type, key, record.type) }
        }
        return nil
    }

    private static func mismatch(
        _ value: ValueType, _ defined: FieldType, _ key: FieldKey, _ type: RecordType
    ) -> CloudError {
        CloudError(
            ofSchema: "invalid attempt to set value type \(value) for field '\(key)' for type '\(type)', "
                + "defined to be: \(defined)", type, key)
    }

    private static func encryptedInPublic(_ key: FieldKey) -> CloudError {
        CloudError.ofSchema("Encrypted values are not available in the public database.", ["field": key.text])
    }
}

extension FieldValue {
    fileprivate var isEmptyList: Bool { if case .list(let items) = self { items.isEmpty } else { false } }
}

extension CloudError {
    /// A refusal because of the schema.
    fileprivate init(ofSchema message: String, _ type: RecordType, _ key: FieldKey? = nil) {
        var fields = ["recordType": type.text]
        fields["field"] = key?.text
        self.init(.invalidArguments, inner: InnerCode.schema, text: message, fields)
    }
}

/// The plan of an import. The type of a field never changes. In production nothing is removed, because records hold it.
struct SchemaChange: Hashable, Sendable {
    private(set) var written: [RecordTypeSchema] = []
    private(set) var removed: [RecordType] = []
    private(set) var roles: Set<RoleName>

    /// Roles of one container. A type with all fields and with grants to all roles still fits into one value.
    static let maximumRoleCount = 100

    /// Throws `invalidArguments` or `limitExceeded` with the conflicting type and field.
    init(from old: ContainerSchema, to new: ContainerSchema, mode: SchemaEnvironment) throws(CloudError) {
        roles = new.roles
        guard new.roles.count <= Self.maximumRoleCount else {
            throw CloudError.overLimit("The schema creates too many roles.", limit: Self.maximumRoleCount)
        }
        for role in new.roles.sorted() where !SchemaNames.isPlain(role.text) {
            throw CloudError.ofSchema("The role has no valid name.", ["role": role.text])
        }
        if mode == .production, let role = old.roles.subtracting(new.roles).min() {
            throw CloudError.ofSchema("A role cannot be removed from a production schema.", ["role": role.text])
        }
        for (name, oldType) in old.types.sorted(by: { $0.key < $1.key }) where new.types[name] == nil {
            // A schema cannot remove the server's own type of user records.
            if name == SchemaNames.usersType, oldType.fields.isEmpty { continue }
            guard mode == .development else {
                throw CloudError(ofSchema: "A record type cannot be removed from a production schema.", name)
            }
            removed.append(name)
        }
        for (name, newType) in new.types.sorted(by: { $0.key < $1.key }) {
            let oldType = old.types[name]
            try Self.check(newType, roles: new.roles)
            if let oldType { try Self.check(newType, against: oldType, mode) }
            if newType != oldType { written.append(newType) }
        }
    }

    private static func check(_ type: RecordTypeSchema, roles: Set<RoleName>) throws(CloudError) {
        if let error = SchemaNames.error(of: type.name) { throw error }
        var ownCount = 0
        for (key, field) in type.fields.sorted(by: { $0.key < $1.key }) {
            guard SystemFieldName.types[key] == nil else { continue }
            ownCount += 1
            if let error = SchemaNames.error(of: key, in: type.name) { throw error }
            if let fixed = SchemaNames.shareFields[key], field.type != FieldType(fixed) {
                throw CloudError(ofSchema: "The server has given this field another type.", type.name, key)
            }
            guard field.indexes.isSubset(of: field.type.isEncrypted ? [] : field.type.scalar.indexesInSchema) else {
                throw CloudError(ofSchema: "A field of this type cannot have these indexes.", type.name, key)
            }
        }
        guard ownCount <= SchemaVerdict.maximumFieldCount else {
            throw CloudError.overLimit(
                "The record type has too many fields. Use another type.", limit: SchemaVerdict.maximumFieldCount,
                ["recordType": type.name.text])
        }
        for role in type.grants.keys.sorted() where !RoleName.systemRoles.contains(role) && !roles.contains(role) {
            throw CloudError.ofSchema(
                "A permission is granted to a role that the schema does not create.",
                ["recordType": type.name.text, "role": role.text])
        }
    }

    private static func check(
        _ new: RecordTypeSchema, against old: RecordTypeSchema, _ mode: SchemaEnvironment
    ) throws(CloudError) {
        for (key, oldField) in old.fields.sorted(by: { $0.key < $1.key }) where SystemFieldName.types[key] == nil {
            guard let newField = new.fields[key] else {
                if mode == .development { continue }
                throw CloudError(ofSchema: "A field cannot be removed from a production schema.", new.name, key)
            }
            guard newField.type != oldField.type, !decides(oldField.type, newField.type) else { continue }
            throw CloudError.ofSchema(
                "The type of a field cannot change. Give the new field another name.",
                [
                    "definedToBe": "\(oldField.type)", "field": key.text, "recordType": new.name.text,
                    "wanted": "\(newField.type)",
                ])
        }
    }

    /// Whether a field for any kind of number gets its kind.
    private static func decides(_ old: FieldType, _ new: FieldType) -> Bool {
        old.scalar == .number && (new.scalar == .int64 || new.scalar == .double) && old.isList == new.isList
            && !new.isEncrypted
    }
}

/// The type of a value, and of the field that it would add to a record type.
enum ValueType: Hashable, Sendable, CustomStringConvertible {
    case known(FieldType)
    /// A list without items. It fits every list type, and adds no field.
    case emptyList(isEncrypted: Bool)
    /// A list of values of several types, or of lists. It fits no field.
    case mixedList

    init(_ field: Field) {
        guard case .list(let items) = field.value else {
            self = field.value.scalar.map { .known(FieldType($0, isEncrypted: field.isEncrypted)) } ?? .mixedList
            return
        }
        guard let first = items.first else {
            self = .emptyList(isEncrypted: field.isEncrypted)
            return
        }
        guard let scalar = first.scalar, items.allSatisfy({ $0.scalar == scalar }) else {
            self = .mixedList
            return
        }
        self = .known(FieldType(scalar, isList: true, isEncrypted: field.isEncrypted))
    }

    /// The name in the server's errors.
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

    /// The indexes of a field that a save adds: all that its type allows.
    var learntIndexes: FieldIndexes { isEncrypted ? [] : scalar.possibleIndexes(isList: isList) }
}

extension ScalarType {
    /// The indexes that an imported schema may give a field. They are more than a save adds, because the real service
    /// accepts many.
    var indexesInSchema: FieldIndexes {
        switch self {
        case .bytes, .asset: []
        case .string: .all
        case .int64, .double, .timestamp, .location, .reference, .number: [.queryable, .sortable]
        }
    }

    /// The indexes that a save gives a new, unencrypted field of the type.
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

/// The valid names of record types and fields (L-09), and the server's own names.
enum SchemaNames {
    static let usersType: RecordType = "Users"
    static let shareTitle: FieldKey = "cloudkit.title"

    /// The fields whose names have another form, with their types.
    static let shareFields: [FieldKey: ScalarType] = [
        shareTitle: .string, "cloudkit.thumbnailImageData": .bytes, "cloudkit.type": .string,
    ]

    /// An ASCII letter first, then letters, digits and `_`, at most 255 characters.
    static func isPlain(_ name: String) -> Bool {
        guard let first = name.utf8.first, isLetter(first), name.utf8.count <= 255 else { return false }
        return name.utf8.allSatisfy { byte in
            isLetter(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "_")
        }
    }

    static func isValid(_ type: RecordType) -> Bool { type == ShareContent.recordType || isPlain(type.text) }

    static func isValid(_ key: FieldKey) -> Bool { shareFields[key] != nil || isPlain(key.text) }

    /// The error for an invalid name of a record type; nil for a valid one.
    static func error(of type: RecordType, record: String? = nil) -> CloudError? {
        guard !isValid(type) else { return nil }
        return CloudError.ofSchema(
            "The record type's name is invalid. Use a letter, then letters, digits and underscores, at most 255.",
            fields(type, nil, record))
    }

    /// The error for an invalid name of a field; nil for a valid one.
    static func error(of key: FieldKey, in type: RecordType, record: String? = nil) -> CloudError? {
        guard !isValid(key) else { return nil }
        return CloudError.ofSchema(
            "The field's name is invalid. Use a letter, then letters, digits and underscores, at most 255.",
            fields(type, key, record))
    }

    /// A client's names may be of any length, so errors cut them.
    private static func fields(_ type: RecordType, _ key: FieldKey?, _ record: String?) -> [String: String] {
        ["recordType": type.text, "field": key?.text, "record": record]
            .compactMapValues { $0.map { String($0.prefix(NameRules.maximumCharacterCount)) } }
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        default: false
        }
    }
}

extension RecordTypeSchema {
    /// The indexes of each field. Encrypted fields, bytes and assets have none. User records cannot be queried,
    /// so their type has none.
    var queryIndexes: [FieldKey: QueryIndexKinds] {
        guard name != SchemaNames.usersType else { return [:] }
        var wanted: [FieldKey: QueryIndexKinds] = [:]
        for (key, field) in fields {
            let kinds = field.queryIndexKinds
            // Queries find the name and the version of a record without an index.
            if !kinds.isEmpty, key != "___recordID", key != "___etag" { wanted[key] = kinds }
        }
        return wanted
    }
}

extension FieldSchema {
    fileprivate var queryIndexKinds: QueryIndexKinds {
        guard !type.isEncrypted, type.scalar != .bytes, type.scalar != .asset else { return [] }
        // Every save asks for each field of its type, so there is no literal of a set: one costs 1,300 instructions.
        var kinds = QueryIndexKinds()
        if indexes.contains(.queryable) { kinds.insert(.values) }
        // Locations are sorted by distance; lists are not sorted.
        if indexes.contains(.sortable), !type.isList, type.scalar != .location {
            kinds.insert(.values)
            kinds.insert(.missing)
        }
        if indexes.contains(.searchable), type.scalar == .string { kinds.insert(.words) }
        return kinds
    }
}
