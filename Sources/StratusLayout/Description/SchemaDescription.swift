// A schema's entry as one line, in the words of the schema language.

import StratusModel

extension ValueDescription {
    static func text(_ entry: SchemaEntry) -> String {
        switch entry {
        case .type(let fields, let grants, let isImported):
            let fieldTexts = fields.sorted { $0.key < $1.key }.map { key, field in
                ([ReadableText.quoted(key.text), "\(field.type)"] + names(field.indexes)).joined(separator: " ")
            }
            let grantTexts = grants.sorted { $0.key < $1.key }.map { role, permissions in
                "grant \(names(permissions).joined(separator: " ")) to \(ReadableText.quoted(role.text))"
            }
            return ([isImported ? "imported type" : "type"] + fieldTexts + grantTexts).joined(separator: ", ")
        case .roles(let roles):
            return (["roles"] + roles.sorted().map { ReadableText.quoted($0.text) }).joined(separator: ", ")
        }
    }

    private static func names(_ indexes: FieldIndexes) -> [String] {
        let all: [(FieldIndexes, String)] = [
            (.queryable, "queryable"), (.sortable, "sortable"), (.searchable, "searchable"),
        ]
        return all.filter { indexes.contains($0.0) }.map(\.1)
    }

    private static func names(_ permissions: RecordPermissions) -> [String] {
        let all: [(RecordPermissions, String)] = [(.read, "read"), (.create, "create"), (.write, "write")]
        return all.filter { permissions.contains($0.0) }.map(\.1)
    }
}
