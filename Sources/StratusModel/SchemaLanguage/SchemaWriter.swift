// Writes the schema language, so that reading the text gives the same schema: roles, then types, each in the byte order
// of its names, system fields first. Every type shows all its system fields, as the real service's exports do.

/// Writes a schema as text.
package enum SchemaWriter {
    /// Words that are no names unless they are quoted.
    private static let keywords: Set<String> = [
        "GRANT", "PREFERRED", "QUERYABLE", "SORTABLE", "SEARCHABLE", "LIST", "ENCRYPTED", "DEFINE", "SCHEMA", "CREATE",
        "ROLE", "RECORD", "TYPE", "TO", "AS", "READ", "WRITE",
    ]

    /// The text of a schema. Names hold neither quotes nor line breaks: `SchemaParser` reads none that do.
    package static func text(of schema: ContainerSchema) -> String {
        var text = "DEFINE SCHEMA\n"
        if !schema.roles.isEmpty { text += "\n" }
        for role in schema.roles.sorted() { text += "    CREATE ROLE \(name(role.text));\n" }
        for type in schema.types.values.sorted(by: { $0.name < $1.name }) { text += "\n" + self.text(of: type) }
        return text
    }

    private static func text(of type: RecordTypeSchema) -> String {
        let system = SystemFieldName.types.sorted { $0.key < $1.key }.map { key, scalar in
            (name(key.text), type.fields[key] ?? FieldSchema(FieldType(scalar)))
        }
        let own = type.fields.filter { SystemFieldName.types[$0.key] == nil }.sorted { $0.key < $1.key }
            .map { key, field in (name(key.text), field) }
        let width = (system + own).map(\.0.utf8.count).max() ?? 0
        var lines = (system + own).map { name, field in
            name + String(repeating: " ", count: width - name.utf8.count + 1)
                + ([fieldType(field.type)] + indexes(field.indexes)).joined(separator: " ")
        }
        lines += type.grants.sorted { $0.key < $1.key }.compactMap { role, permissions in
            permissions.isEmpty ? nil : "GRANT \(rights(permissions)) TO \(name(role.text))"
        }
        return "    RECORD TYPE \(name(type.name.text)) (\n"
            + lines.map { "        " + $0 }.joined(separator: ",\n") + "\n    );\n"
    }

    private static func fieldType(_ type: FieldType) -> String {
        let scalar = (type.isEncrypted ? "ENCRYPTED " : "") + type.scalar.name
        return type.isList ? "LIST<\(scalar)>" : scalar
    }

    private static func indexes(_ indexes: FieldIndexes) -> [String] {
        let all: [(FieldIndexes, String)] = [
            (.queryable, "QUERYABLE"), (.searchable, "SEARCHABLE"), (.sortable, "SORTABLE"),
        ]
        return all.filter { indexes.contains($0.0) }.map(\.1)
    }

    private static func rights(_ permissions: RecordPermissions) -> String {
        let all: [(RecordPermissions, String)] = [(.read, "READ"), (.create, "CREATE"), (.write, "WRITE")]
        return all.filter { permissions.contains($0.0) }.map(\.1).joined(separator: ", ")
    }

    /// The name as it is, or in quotes where it would not be read as one.
    private static func name(_ name: String) -> String {
        guard let first = name.unicodeScalars.first, SchemaLexer.isWordScalar(first), first != "_", first != ".",
            !("0"..."9").contains(first), name.unicodeScalars.allSatisfy({ SchemaLexer.isWordScalar($0) && $0 != "." }),
            !keywords.contains(name.uppercased())
        else { return "\"\(name)\"" }
        return name
    }
}
