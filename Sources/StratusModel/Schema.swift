// What a container knows of its record types: the fields with their types and indexes, and who may do what.

/// The kinds of values the server keeps (C-21). The raw values are stored; they never change.
package enum ScalarType: UInt8, Hashable, Sendable, CaseIterable {
    case string = 1
    case int64 = 2
    case double = 3
    case timestamp = 4
    case bytes = 5
    case location = 6
    case reference = 7
    case asset = 8
    /// A number of either kind, which a schema may name for fields whose kind is not decided yet.
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

/// The type of a field: it never changes once records hold values of it.
package struct FieldType: Hashable, Sendable, CustomStringConvertible {
    package var scalar: ScalarType
    package var isList: Bool
    /// Whether the values come through `encryptedValues`: a key is either plain or encrypted (C-08).
    package var isEncrypted: Bool

    package init(_ scalar: ScalarType, isList: Bool = false, isEncrypted: Bool = false) {
        self.scalar = scalar
        self.isList = isList
        self.isEncrypted = isEncrypted
    }

    /// The type as the server's errors name it: `STRING`, `STRING_LIST`, `ENCRYPTED_STRING`.
    package var description: String {
        (isEncrypted ? "ENCRYPTED_" : "") + scalar.name + (isList ? "_LIST" : "")
    }
}

/// What a field can be asked for in queries. The bits are stored; they never change.
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

/// What a role may do with the records of a type in the public database (S-18). The bits are stored; they never change.
package struct RecordPermissions: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let read = RecordPermissions(rawValue: 1 << 0)
    package static let create = RecordPermissions(rawValue: 1 << 1)
    package static let write = RecordPermissions(rawValue: 1 << 2)
    /// What whoever may change a share's records has. Made once: a literal is made anew wherever it stands.
    package static let readWrite: RecordPermissions = [.read, .write]
    package static let all: RecordPermissions = [.read, .create, .write]
}

/// A group of people to whom permissions are granted: one the server knows, or one a schema creates.
package struct RoleName: ByteComparedName {
    package static let creator: RoleName = "_creator"
    package static let anyUser: RoleName = "_icloud"
    package static let world: RoleName = "_world"
    package static let systemRoles: Set<RoleName> = [creator, anyUser, world]

    package let text: String
    package init(_ text: String) { self.text = text }
}

/// A record type as its container knows it.
package struct RecordTypeSchema: Hashable, Sendable {
    package var name: RecordType
    /// System fields (`___createTime` and the like) are here only where they have indexes.
    package var fields: [FieldKey: FieldSchema]
    package var grants: [RoleName: RecordPermissions]
    /// Whether the type came with a schema that was imported, and was not only learnt from records.
    package var isImported: Bool

    package init(
        name: RecordType, fields: [FieldKey: FieldSchema] = [:], grants: [RoleName: RecordPermissions] = [:],
        isImported: Bool = false
    ) {
        self.name = name
        self.fields = fields
        self.grants = grants
        self.isImported = isImported
    }

    /// The world reads, every user creates, the creator writes (S-18).
    package static let defaultGrants: [RoleName: RecordPermissions] = [
        .creator: .write, .anyUser: .create, .world: .read,
    ]
}

/// All that a container knows of its record types.
package struct ContainerSchema: Hashable, Sendable {
    package var types: [RecordType: RecordTypeSchema]
    /// Roles beyond those the server knows.
    package var roles: Set<RoleName>

    package init(types: [RecordType: RecordTypeSchema] = [:], roles: Set<RoleName> = []) {
        self.types = types
        self.roles = roles
    }
}

// The fields every record has without its owner's doing. A schema names them to give them indexes.

/// The names of system fields in schemas, with their types.
package enum SystemFieldName {
    package static let types: [FieldKey: ScalarType] = [
        "___createTime": .timestamp, "___createdBy": .reference, "___etag": .string, "___modTime": .timestamp,
        "___modifiedBy": .reference, "___recordID": .reference,
    ]
}
