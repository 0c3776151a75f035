// The decision about one record: (record, its type as known, mode) → verdict. No input or output.

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
