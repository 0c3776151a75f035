// The decision about one record: (record, its type as known, mode) → verdict. No input or output.

import StratusLayout
import StratusModel

/// What a record means for its type.
enum SchemaVerdict: Sendable {
    case fits
    /// The record fits a type that knows more than before.
    case teaches(RecordTypeSchema)
    case refused(CloudError)

    /// Fields of one record type (L-06).
    static let maximumFieldCount = 256

    init(_ record: Record, known: RecordTypeSchema?, mode: SchemaMode, isPublic: Bool) {
        do throws(CloudError) {
            self = try Self.verdict(record, known: known, mode: mode, isPublic: isPublic)
        } catch { self = .refused(error) }
    }

    private static func verdict(
        _ record: Record, known: RecordTypeSchema?, mode: SchemaMode, isPublic: Bool
    ) throws(CloudError) -> SchemaVerdict {
        if let known, fits(record, known, isPublic: isPublic) { return .fits }
        var schema: RecordTypeSchema
        var isNew = false
        if let known {
            schema = known
        } else {
            schema = try newType(record.type, mode)
            // The server's own type of user records is there before anything has been learnt of it.
            isNew = record.type != SchemaNames.usersType
        }
        for (key, field) in record.fields {
            if let found = schema.fields[key] {
                let value = ValueType(field)
                guard found.type.takes(value) else { throw mismatch(value, found.type, key, record.type) }
                if field.isEncrypted, isPublic { throw encryptedInPublic(key) }
            } else {
                let learnt = try newField(key, field, record.type, mode, isPublic)
                guard let learnt else { continue }
                schema.fields[key] = learnt
                isNew = true
            }
        }
        guard isNew else { return .fits }
        let ownCount = schema.fields.keys.count { SystemFieldName.types[$0] == nil }
        guard ownCount <= maximumFieldCount else {
            throw CloudError(
                .limitExceeded, inner: CloudError.InnerCode.limit,
                "The record type would have too many fields: use another type.",
                ["limit": "\(maximumFieldCount)", "recordType": record.type.text])
        }
        return .teaches(schema)
    }

    /// What nearly every save is answered with: a look-up and a comparison for each field.
    private static func fits(_ record: Record, _ known: RecordTypeSchema, isPublic: Bool) -> Bool {
        record.fields.allSatisfy { key, field in
            guard let found = known.fields[key], !(isPublic && field.isEncrypted) else { return false }
            return found.type.takes(ValueType(field))
        }
    }

    private static func newType(_ type: RecordType, _ mode: SchemaMode) throws(CloudError) -> RecordTypeSchema {
        let schema = RecordTypeSchema(name: type, grants: RecordTypeSchema.defaultGrants)
        if type == SchemaNames.usersType { return schema }
        guard SchemaNames.isValid(type) else {
            throw CloudError(
                .invalidArguments, inner: CloudError.InnerCode.schema,
                "The record type has no valid name: a letter, then letters, digits and underscores, at most 255.",
                ["recordType": type.text])
        }
        guard mode == .production else { return schema }
        guard type != ShareContent.recordType else {
            throw CloudError(
                .serverRejectedRequest, "Cannot create new type cloudkit.share in production schema",
                ["recordType": type.text])
        }
        throw CloudError(
            .invalidArguments, inner: CloudError.InnerCode.schema,
            text: "Cannot create new type \(type) in production schema",
            ["recordType": type.text])
    }

    /// What a field teaches; nil when it teaches nothing.
    private static func newField(
        _ key: FieldKey, _ field: Field, _ type: RecordType, _ mode: SchemaMode, _ isPublic: Bool
    ) throws(CloudError) -> FieldSchema? {
        guard SchemaNames.isValid(key) else {
            throw CloudError(
                .invalidArguments, inner: CloudError.InnerCode.schema,
                "The field has no valid name: a letter, then letters, digits and underscores, at most 255.",
                ["field": key.text, "recordType": type.text])
        }
        let value = ValueType(field)
        if let fixed = SchemaNames.shareFields[key], !FieldType(fixed).takes(value) {
            throw mismatch(value, FieldType(fixed), key, type)
        }
        if field.isEncrypted, isPublic { throw encryptedInPublic(key) }
        guard mode == .development else {
            throw CloudError(
                .invalidArguments, inner: CloudError.InnerCode.schema,
                text: "Cannot create or modify field '\(key)' in record '\(type)' in production schema",
                ["field": key.text, "recordType": type.text])
        }
        switch value {
        case .emptyList: return nil
        case .mixedList:
            throw CloudError(
                .invalidArguments, inner: CloudError.InnerCode.schema, "A list holds values of one type, and no lists.",
                ["field": key.text, "recordType": type.text])
        case .known(let fieldType):
            guard !fieldType.isEncrypted || fieldType.scalar.canBeEncrypted else {
                throw CloudError(
                    .invalidArguments, inner: CloudError.InnerCode.schema,
                    "Assets and references cannot be encrypted values (C-08).",
                    ["field": key.text, "recordType": type.text])
            }
            return FieldSchema(fieldType, indexes: fieldType.learntIndexes)
        }
    }

    /// Why an empty list cannot stay: its field has no type, or none that is a list. Nil where there is no such field.
    static func emptyListError(
        _ record: Record, _ known: RecordTypeSchema?, replacing stored: (RecordName) -> Record?
    ) -> CloudError? {
        guard record.fields.contains(where: { $0.value.value.isEmptyList }) else { return nil }
        for (key, field) in record.fields.sorted(by: { $0.key < $1.key }) where field.value.isEmptyList {
            if stored(record.name)?.fields[key]?.value.isEmptyList == true { continue }
            guard let type = known?.fields[key]?.type else {
                return CloudError(
                    .invalidArguments, inner: CloudError.InnerCode.schema,
                    "cannot use an empty list to initialize a new field",
                    ["field": key.text, "recordType": record.type.text])
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
            .invalidArguments, inner: CloudError.InnerCode.schema,
            text: "invalid attempt to set value type \(value) for field '\(key)' for type '\(type)', "
                + "defined to be: \(defined)",
            ["field": key.text, "recordType": type.text])
    }

    private static func encryptedInPublic(_ key: FieldKey) -> CloudError {
        CloudError(
            .invalidArguments, inner: CloudError.InnerCode.schema,
            "Encrypted values are not available in the public database.",
            ["field": key.text])
    }
}

extension FieldValue {
    fileprivate var isEmptyList: Bool { if case .list(let items) = self { items.isEmpty } else { false } }
}

// What importing a schema may change (S-13): (schema as it is, schema as wanted, mode) → the types to write and to
// remove. A field's type never changes; in production nothing goes, because records hold it.

/// The plan of an import.
struct SchemaChange: Hashable, Sendable {
    private(set) var written: [RecordTypeSchema] = []
    private(set) var removed: [RecordType] = []
    private(set) var roles: Set<RoleName>

    /// Roles of one container. With all fields of a type and grants to all roles, a type still fits in one value.
    static let maximumRoleCount = 100

    /// Throws `CloudError` with `invalidArguments` or `limitExceeded` that names the type and field in the way.
    init(from old: ContainerSchema, to new: ContainerSchema, mode: SchemaMode) throws(CloudError) {
        roles = new.roles
        guard new.roles.count <= Self.maximumRoleCount else {
            throw CloudError(
                .limitExceeded, inner: CloudError.InnerCode.limit, "The schema creates too many roles.",
                ["limit": "\(Self.maximumRoleCount)"])
        }
        for role in new.roles.sorted() where !SchemaNames.isPlain(role.text) {
            throw CloudError(
                .invalidArguments, inner: CloudError.InnerCode.schema, "The role has no valid name.",
                ["role": role.text])
        }
        if mode == .production, let role = old.roles.subtracting(new.roles).min() {
            throw CloudError(
                .invalidArguments, inner: CloudError.InnerCode.schema,
                "A role cannot be removed from a production schema.",
                ["role": role.text])
        }
        for (name, oldType) in old.types.sorted(by: { $0.key < $1.key }) where new.types[name] == nil {
            // What the server made of user records is not the schema's to remove.
            if name == SchemaNames.usersType, oldType.fields.isEmpty { continue }
            guard mode == .development else {
                throw CloudError(
                    .invalidArguments, inner: CloudError.InnerCode.schema,
                    "A record type cannot be removed from a production schema.",
                    ["recordType": name.text])
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
        guard SchemaNames.isValid(type.name) else {
            throw CloudError(
                .invalidArguments, inner: CloudError.InnerCode.schema,
                "The record type has no valid name: a letter, then letters, digits and underscores, at most 255.",
                ["recordType": type.name.text])
        }
        var ownCount = 0
        for (key, field) in type.fields.sorted(by: { $0.key < $1.key }) {
            guard SystemFieldName.types[key] == nil else { continue }
            ownCount += 1
            guard SchemaNames.isValid(key) else {
                throw refusal(
                    "The field has no valid name: a letter, then letters, digits and underscores, at most 255.", key,
                    type)
            }
            if let fixed = SchemaNames.shareFields[key], field.type != FieldType(fixed) {
                throw refusal("The server has given this field another type.", key, type)
            }
            guard field.indexes.isSubset(of: field.type.isEncrypted ? [] : field.type.scalar.indexesInSchema) else {
                throw refusal("A field of this type cannot have these indexes.", key, type)
            }
        }
        guard ownCount <= SchemaVerdict.maximumFieldCount else {
            throw CloudError(
                .limitExceeded, inner: CloudError.InnerCode.limit,
                "The record type has too many fields: use another type.",
                ["limit": "\(SchemaVerdict.maximumFieldCount)", "recordType": type.name.text])
        }
        for role in type.grants.keys.sorted() where !RoleName.systemRoles.contains(role) && !roles.contains(role) {
            throw CloudError(
                .invalidArguments, inner: CloudError.InnerCode.schema,
                "A permission is granted to a role that the schema does not create.",
                ["recordType": type.name.text, "role": role.text])
        }
    }

    private static func check(
        _ new: RecordTypeSchema, against old: RecordTypeSchema, _ mode: SchemaMode
    ) throws(CloudError) {
        for (key, oldField) in old.fields.sorted(by: { $0.key < $1.key }) where SystemFieldName.types[key] == nil {
            guard let newField = new.fields[key] else {
                if mode == .development { continue }
                throw refusal("A field cannot be removed from a production schema.", key, new)
            }
            guard newField.type != oldField.type, !decides(oldField.type, newField.type) else { continue }
            throw CloudError(
                .invalidArguments, inner: CloudError.InnerCode.schema,
                "The type of a field never changes: give the new field another name.",
                [
                    "definedToBe": "\(oldField.type)", "field": key.text, "recordType": new.name.text,
                    "wanted": "\(newField.type)",
                ])
        }
    }

    /// Whether a number of either kind gets its kind.
    private static func decides(_ old: FieldType, _ new: FieldType) -> Bool {
        old.scalar == .number && (new.scalar == .int64 || new.scalar == .double) && old.isList == new.isList
            && !new.isEncrypted
    }

    private static func refusal(_ message: StaticString, _ key: FieldKey, _ type: RecordTypeSchema) -> CloudError {
        CloudError(
            .invalidArguments, inner: CloudError.InnerCode.schema, message,
            ["field": key.text, "recordType": type.name.text])
    }
}

// Which type a value has, and which values a field of a type takes.

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

// What record types and fields may be called (L-09), and the names that the server itself gives.

enum SchemaNames {
    static let usersType: RecordType = "Users"
    static let shareTitle: FieldKey = "cloudkit.title"

    /// Fields whose names have a form of their own, with their types.
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

    private static func isLetter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        default: false
        }
    }
}

// Which indexes a record type wants: (type) → what of each field is entered. What is encrypted, and bytes and assets,
// never is. User records cannot be queried, so they have none.

extension RecordTypeSchema {
    var queryIndexes: [FieldKey: QueryIndexKinds] {
        guard name != SchemaNames.usersType else { return [:] }
        var wanted: [FieldKey: QueryIndexKinds] = [:]
        for (key, field) in fields {
            let kinds = field.queryIndexKinds
            // The name of a record and its version are found without.
            if !kinds.isEmpty, key != "___recordID", key != "___etag" { wanted[key] = kinds }
        }
        return wanted
    }
}

extension FieldSchema {
    fileprivate var queryIndexKinds: QueryIndexKinds {
        guard !type.isEncrypted, type.scalar != .bytes, type.scalar != .asset else { return [] }
        var kinds: QueryIndexKinds = []
        if indexes.contains(.queryable) { kinds.insert(.values) }
        // Places are sorted by their distance, lists not at all.
        if indexes.contains(.sortable), !type.isList, type.scalar != .location { kinds.formUnion([.values, .missing]) }
        if indexes.contains(.searchable), type.scalar == .string { kinds.insert(.words) }
        return kinds
    }
}
