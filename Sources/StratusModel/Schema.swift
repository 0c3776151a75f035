// The schema of a container: its record types with their fields, indexes and grants, and its roles.

/// The kinds of values that the server stores (C-21). The raw values are stored; they never change.
package enum ScalarType: UInt8, Hashable, Sendable, CaseIterable {
    case string = 1
    case int64 = 2
    case double = 3
    case timestamp = 4
    case bytes = 5
    case location = 6
    case reference = 7
    case asset = 8
    /// A number of either kind, for fields whose kind a schema leaves open.
    case number = 9

    /// The type's name in the schema language.
    package var name: String {
        switch self {
        case .string: "STRING"
        case .int64: "INT64"
        case .double: "DOUBLE"
        case .timestamp: "TIMESTAMP"
        case .bytes: "BYTES"
        case .location: "LOCATION"
        case .reference: "REFERENCE"
        case .asset: "ASSET"
        case .number: "NUMBER"
        }
    }

    /// Whether values of the type can be encrypted (C-08).
    package var canBeEncrypted: Bool {
        switch self {
        case .string, .int64, .double, .timestamp, .bytes, .location: true
        case .reference, .asset, .number: false
        }
    }
}

/// The type of a field. It never changes once records have values of it.
package struct FieldType: Hashable, Sendable, CustomStringConvertible {
    package var scalar: ScalarType
    package var isList: Bool
    /// Whether clients set the values through `encryptedValues`. A key is either plain or encrypted (C-08).
    package var isEncrypted: Bool

    package init(_ scalar: ScalarType, isList: Bool = false, isEncrypted: Bool = false) {
        self.scalar = scalar
        self.isList = isList
        self.isEncrypted = isEncrypted
    }

    /// The type's name in the server's errors: `STRING`, `STRING_LIST`, `ENCRYPTED_STRING`.
    package var description: String {
        (isEncrypted ? "ENCRYPTED_" : "") + scalar.name + (isList ? "_LIST" : "")
    }
}

/// The indexes of a field, for queries. The bits are stored; they never change.
package struct FieldIndexes: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let queryable = FieldIndexes(rawValue: 1 << 0)
    package static let sortable = FieldIndexes(rawValue: 1 << 1)
    package static let searchable = FieldIndexes(rawValue: 1 << 2)
    package static let all: FieldIndexes = [.queryable, .sortable, .searchable]
}

/// A field of a record type.
package struct FieldSchema: Hashable, Sendable {
    package var type: FieldType
    package var indexes: FieldIndexes

    package init(_ type: FieldType, indexes: FieldIndexes = []) {
        self.type = type
        self.indexes = indexes
    }
}

/// The permissions of a role for the records of a type in the public database (S-18). The bits are stored; they never
/// change.
package struct TypePermissions: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let read = TypePermissions(rawValue: 1 << 0)
    package static let create = TypePermissions(rawValue: 1 << 1)
    package static let write = TypePermissions(rawValue: 1 << 2)
    /// The permissions of users who can change a share's records. A constant, because a literal is built at every use.
    package static let readWrite: TypePermissions = [.read, .write]
    package static let all: TypePermissions = [.read, .create, .write]
}

/// A group of people with permissions: one of the server's own, or one that a schema creates.
package struct RoleName: ByteComparedName {
    package static let creator: RoleName = "_creator"
    package static let anyUser: RoleName = "_icloud"
    package static let world: RoleName = "_world"
    package static let systemRoles: Set<RoleName> = [creator, anyUser, world]

    package let text: String
    package init(_ text: String) { self.text = text }
}

/// A record type of a container.
package struct RecordTypeSchema: Hashable, Sendable {
    package var name: RecordType
    /// System fields (such as `___createTime`) are here only if they have indexes.
    package var fields: [FieldKey: FieldSchema]
    package var grants: [RoleName: TypePermissions]
    /// Whether the type was imported with a schema, and not only learnt from records.
    package var isImported: Bool

    package init(
        name: RecordType, fields: [FieldKey: FieldSchema] = [:], grants: [RoleName: TypePermissions] = [:],
        isImported: Bool = false
    ) {
        self.name = name
        self.fields = fields
        self.grants = grants
        self.isImported = isImported
    }

    /// Everyone reads, every user creates, the creator writes (S-18).
    package static let defaultGrants: [RoleName: TypePermissions] = [
        .creator: .write, .anyUser: .create, .world: .read,
    ]
}

/// The record types and roles of a container.
package struct ContainerSchema: Hashable, Sendable {
    package var types: [RecordType: RecordTypeSchema] = [:]
    /// Roles in addition to the server's own.
    package var roles: Set<RoleName> = []

    package init() {}
}

/// The names of system fields in schemas, with their types. Every record has them; a schema names them to give them
/// indexes.
package enum SystemFieldName {
    package static let types: [FieldKey: ScalarType] = [
        "___createTime": .timestamp, "___createdBy": .reference, "___etag": .string, "___modTime": .timestamp,
        "___modifiedBy": .reference, "___recordID": .reference,
    ]
}
