// Importing and exporting schemas in Apple's schema language.

package import StratusModel
import StratusRecords

extension CloudService {
    /// Bytes of a schema's text; a longer one is refused unread.
    static let maximumSchemaByteCount = 8 << 20

    /// Replaces the schema of a container with what a text (the content of a `.ckdb` file) defines. The text is the
    /// whole schema. In production a schema may only grow; a field's type never changes. What it grants holds in the
    /// public database; roles that it creates have no members.
    ///
    /// With `marking` only these types are marked as imported, else all of them.
    ///
    /// Throws `CloudError` with `invalidArguments`, which names the line and column of a mistake or the type and field in
    /// the way, and `limitExceeded` for a text or type that is too large. Nothing is changed then.
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
                .invalidArguments, text: "The text is no schema: \(error)",
                ["column": "\(error.column)", "line": "\(error.line)"])
        }
        for type in schema.types.keys { schema.types[type]?.isImported = imported?.contains(type) ?? true }
        let (mode, wanted) = (options.schemaMode, schema)
        try answering {
            try engine.transact { transaction in
                try schemaKeeper.replaceSchema(of: container, with: wanted, mode: mode, in: transaction)
            }
        }
    }

    /// The schema of a container as text, which can be imported again, and the types that were imported.
    ///
    /// Throws what reading the store throws.
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
