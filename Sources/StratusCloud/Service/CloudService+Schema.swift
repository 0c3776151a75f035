// Imports and exports schemas in Apple's schema language.

package import StratusModel
package import StratusRecords

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
        try reading { reader in try markedSchema(of: container, in: reader) }
    }

    /// The same in a snapshot that reads more.
    package func markedSchema(
        of container: ContainerName, in reader: RecordReader
    ) throws -> (text: String, imported: Set<RecordType>) {
        let schema = try schemaKeeper.schema(of: container, in: reader)
        return (SchemaWriter.text(of: schema), Set(schema.types.values.lazy.filter(\.isImported).map(\.name)))
    }

    /// The text alone.
    package func exportSchema(of container: ContainerName) throws(CloudError) -> String {
        try markedSchema(of: container).text
    }
}
