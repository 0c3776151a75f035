// The values of the schema keyspace: a record type with its fields and grants, and the roles of a container.
//
// Invariants: everything is in the byte order of its names, each name once, so a schema has one encoding.
//
// Bytes: version · kind, then
//   kind 1, a record type: number: fields · for each: text: key · byte: scalar type · byte: 1 list + 2 encrypted ·
//     byte: indexes · number: grants · for each: text: role · byte: permissions
//   kind 2, roles: number: roles · for each: text: role
// Version 2 is that of a record type that was imported, version 1 of everything else.

package import StratusModel

/// What lies under a key of the schema keyspace.
package enum SchemaEntry: LayoutValue {
    /// A record type; its name is in the key.
    case type(fields: [FieldKey: FieldSchema], grants: [RoleName: RecordPermissions], isImported: Bool)
    /// The roles a container has beyond those the server knows.
    case roles(Set<RoleName>)

    private static let version: UInt8 = 1
    private static let importedVersion: UInt8 = 2
    private static let typeKind: UInt8 = 1
    private static let rolesKind: UInt8 = 2
    private static let listFlag: UInt8 = 1
    private static let encryptedFlag: UInt8 = 2

    package func append(to bytes: inout [UInt8]) {
        switch self {
        case .type(let fields, let grants, let isImported):
            bytes.append(isImported ? Self.importedVersion : Self.version)
            bytes.append(Self.typeKind)
            ValueWriter.append(number: UInt64(fields.count), to: &bytes)
            for (key, field) in fields.sorted(by: { $0.key < $1.key }) {
                ValueWriter.append(key.text, to: &bytes)
                bytes.append(field.type.scalar.rawValue)
                bytes.append(
                    (field.type.isList ? Self.listFlag : 0) | (field.type.isEncrypted ? Self.encryptedFlag : 0))
                bytes.append(field.indexes.rawValue)
            }
            ValueWriter.append(number: UInt64(grants.count), to: &bytes)
            for (role, permissions) in grants.sorted(by: { $0.key < $1.key }) {
                ValueWriter.append(role.text, to: &bytes)
                bytes.append(permissions.rawValue)
            }
        case .roles(let roles):
            bytes.append(Self.version)
            bytes.append(Self.rolesKind)
            ValueWriter.append(number: UInt64(roles.count), to: &bytes)
            for role in roles.sorted() { ValueWriter.append(role.text, to: &bytes) }
        }
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "SchemaEntry")
        let version = try reader.readByte()
        guard version == Self.version || version == Self.importedVersion else {
            throw reader.corrupt("The version of a schema's entry is unknown.")
        }
        switch (try reader.readByte(), version) {
        case (Self.typeKind, _):
            self = .type(
                fields: try Self.readFields(&reader), grants: try Self.readGrants(&reader),
                isImported: version == Self.importedVersion)
        case (Self.rolesKind, Self.version):
            var roles: [RoleName] = []
            for _ in 0..<(try reader.readCount()) {
                roles.append(try Self.readName(&reader, after: roles.last))
            }
            self = .roles(Set(roles))
        default: throw reader.corrupt("The kind of a schema's entry is unknown.")
        }
        try reader.expectEnd()
    }

    private static func readFields(_ reader: inout ValueReader) throws(LayoutError) -> [FieldKey: FieldSchema] {
        var fields: [FieldKey: FieldSchema] = [:]
        var last: FieldKey?
        for _ in 0..<(try reader.readCount()) {
            let key = try readName(&reader, after: last)
            last = key
            guard let scalar = ScalarType(rawValue: try reader.readByte()) else {
                throw reader.corrupt("The type of a field is unknown.")
            }
            let flags = try reader.readByte()
            guard flags & ~(listFlag | encryptedFlag) == 0 else {
                throw reader.corrupt("A flag of a field is unknown.")
            }
            let indexes = FieldIndexes(rawValue: try reader.readByte())
            guard indexes.isSubset(of: .all) else { throw reader.corrupt("An index of a field is unknown.") }
            fields[key] = FieldSchema(
                FieldType(scalar, isList: flags & listFlag != 0, isEncrypted: flags & encryptedFlag != 0),
                indexes: indexes)
        }
        return fields
    }

    private static func readGrants(
        _ reader: inout ValueReader
    ) throws(LayoutError) -> [RoleName: RecordPermissions] {
        var grants: [RoleName: RecordPermissions] = [:]
        var last: RoleName?
        for _ in 0..<(try reader.readCount()) {
            let role = try readName(&reader, after: last)
            last = role
            let permissions = RecordPermissions(rawValue: try reader.readByte())
            guard permissions.isSubset(of: .all) else { throw reader.corrupt("A permission of a role is unknown.") }
            grants[role] = permissions
        }
        return grants
    }

    private static func readName<Name: ByteComparedName>(
        _ reader: inout ValueReader, after last: Name?
    ) throws(LayoutError) -> Name {
        let name = Name(try reader.readText())
        if let last, !(last < name) { throw reader.corrupt("The names of a schema are not in order.") }
        return name
    }
}
