// Imports and exports schemas in Apple's schema language, and warns of unknown fields in queries.

import FoundationEssentials
package import StratusModel
import StratusRecords
import StratusStore

extension CloudService {
    /// The maximum number of bytes of a schema's text; a longer one is not parsed.
    static let maximumSchemaByteCount = 8 << 20

    /// Replaces the schema of a container with the schema in a text (the content of a `.ckdb` file). The text is the
    /// whole schema. In production a schema may only grow; a field's type never changes. Its grants apply to the public
    /// database; roles that it creates have no members.
    ///
    /// Marks the types in `marking` as imported, or all if it is nil.
    ///
    /// Throws `invalidArguments` with the line and column of a mistake, or with the conflicting type and field, and
    /// `limitExceeded` for a text or type that is too large. Then nothing changes.
    package func importSchema(
        _ text: String, into container: ContainerName, marking imported: Set<RecordType>? = nil
    ) throws(CloudError) {
        guard text.utf8.count <= Self.maximumSchemaByteCount else {
            throw CloudError(
                .limitExceeded, "The schema's text is too long.", ["limit": "\(Self.maximumSchemaByteCount)"])
        }
        var schema: ContainerSchema
        do throws(SchemaTextError) { schema = try SchemaParser.schema(of: text) } catch {
            throw CloudError(
                .invalidArguments, text: "The text is not a schema: \(error)",
                ["column": "\(error.column)", "line": "\(error.line)"])
        }
        for type in schema.types.keys { schema.types[type]?.isImported = imported?.contains(type) ?? true }
        let (mode, wanted) = (options.schemaMode, schema)
        try writing { transaction in
            try schemaKeeper.replaceSchema(of: container, with: wanted, mode: mode, in: transaction)
        }
    }

    /// The schema of a container as importable text, and the types that were imported.
    ///
    /// Throws the errors of reading the store.
    package func markedSchema(
        of container: ContainerName
    ) throws(CloudError) -> (text: String, imported: Set<RecordType>) {
        let schema = try reading { reader in try schemaKeeper.schema(of: container, in: reader) }
        return (SchemaWriter.text(of: schema), Set(schema.types.values.lazy.filter(\.isImported).map(\.name)))
    }

    /// The text alone.
    package func exportSchema(of container: ContainerName) throws(CloudError) -> String {
        try markedSchema(of: container).text
    }
}

/// Collects the fields in queries and subscriptions that no record has had, so that the host gets a warning, once per
/// type and field. A misspelled field finds nothing, without an error, until the schema is deployed to
/// production, which refuses it. The host's hook is called after the request, when no lock or snapshot is held.
final class UnknownFields: Sendable {
    struct Name: Hashable {
        /// The store's, because a process may have several.
        var incarnation: UUID
        var container: ContainerName
        var type: RecordType
        var field: FieldKey
    }

    /// The fields with a warning already. The least recently used field is dropped.
    final class Memory: Sendable {
        static let ofProcess = Memory()

        fileprivate let warned = Locked(RecentEntries<Name, Bool>(room: 1_000))
    }

    private let incarnation: UUID
    private let memory: Memory
    private let pending = Locked<[Name]>([])

    init(incarnation: UUID, memory: Memory = .ofProcess) {
        self.incarnation = incarnation
        self.memory = memory
    }

    func note(_ fields: [FieldKey], of type: RecordType, in container: ContainerName) {
        guard !fields.isEmpty else { return }
        let names = fields.map { Name(incarnation: incarnation, container: container, type: type, field: $0) }
        let new = memory.warned.withLock { warned in
            names.filter { name in
                if warned.find(name) != nil { return false }
                warned.insert(name, true)
                return true
            }
        }
        if !new.isEmpty { pending.withLock { $0 += new } }
    }

    /// The new warnings.
    func takeWarnings() -> [CloudEvent] {
        let names = pending.withLock { pending in
            defer { pending = [] }
            return pending
        }
        return names.map { name in
            CloudEvent(
                kind: .queryUnknownField, caller: Caller(container: name.container, account: nil),
                error: CloudError(
                    .invalidArguments,
                    "A query names a field that no record has had. Check its spelling, or import the schema.",
                    ["field": name.field.text, "recordType": name.type.text]))
        }
    }
}
