// What importing a schema may change (S-13): (schema as it is, schema as wanted, mode) → the types to write and to
// remove. A field's type never changes; in production nothing goes, because records hold it.

import StratusModel

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
