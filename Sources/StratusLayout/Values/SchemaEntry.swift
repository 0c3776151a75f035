// The values of the schema keyspace: a record type with its fields and grants, and the roles of a container.
//
// Invariants: everything is in the byte order of its names, each name once, so a schema has one encoding.
//
// Bytes: version · kind, then
//   kind 1, a record type: number: fields · for each: text: key · byte: scalar type · byte: 1 list + 2 encrypted ·
//     byte: indexes · number: grants · for each: text: role · byte: permissions
//   kind 2, roles: number: roles · for each: text: role
// An imported record type has version 2, everything else version 1.

package import StratusModel
package import StratusStore

/// A value of the schema keyspace.
package enum SchemaEntry: LayoutValue {
    /// A record type; its name is in the key.
    case type(fields: [FieldKey: FieldSchema], grants: [RoleName: TypePermissions], isImported: Bool)
    /// The roles that a container has in addition to the server's own.
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
            ValueWriter.append(isImported ? Self.importedVersion : Self.version, Self.typeKind, to: &bytes)
            ValueWriter.append(fields, to: &bytes) { field, bytes in
                let type = field.type
                let flags = (type.isList ? Self.listFlag : 0) | (type.isEncrypted ? Self.encryptedFlag : 0)
                ValueWriter.append(type.scalar.rawValue, flags, field.indexes.rawValue, to: &bytes)
            }
            ValueWriter.append(grants, to: &bytes) { $1.append($0.rawValue) }
        case .roles(let roles):
            ValueWriter.append(Self.version, Self.rolesKind, roles.sorted().map(\.text), to: &bytes)
        }
    }

    package init(decoding bytes: Span<UInt8>) throws(StoreError) {
        var reader = ValueReader(bytes, SchemaEntry.self)
        let version = try reader.readByte()
        guard version == Self.version || version == Self.importedVersion else {
            throw reader.corrupt("The version of a schema's entry is unknown.")
        }
        switch (try reader.readByte(), version) {
        case (Self.typeKind, _):
            let fields: [FieldKey: FieldSchema] = try reader.readDictionary { reader throws(StoreError) in
                let scalar: ScalarType = try reader.readCase("The type of a field is unknown.")
                let flags = try reader.readFlags(below: 4)
                let type = FieldType(
                    scalar, isList: flags & Self.listFlag != 0, isEncrypted: flags & Self.encryptedFlag != 0)
                let indexes = FieldIndexes(rawValue: try reader.readByte())
                guard indexes.isSubset(of: .all) else { throw reader.corrupt("An index of a field is unknown.") }
                return FieldSchema(type, indexes: indexes)
            }
            let grants: [RoleName: TypePermissions] = try reader.readDictionary { reader throws(StoreError) in
                let permissions = TypePermissions(rawValue: try reader.readByte())
                guard permissions.isSubset(of: .all) else { throw reader.corrupt("A permission of a role is unknown.") }
                return permissions
            }
            self = .type(fields: fields, grants: grants, isImported: version == Self.importedVersion)
        case (Self.rolesKind, Self.version):
            let roles: [RoleName: Void] = try reader.readDictionary { _ throws(StoreError) in }
            self = .roles(Set(roles.keys))
        default: throw reader.corrupt("The kind of a schema's entry is unknown.")
        }
        try reader.expectEnd()
    }
}
