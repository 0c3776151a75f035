// Reads the schema language:
//   DEFINE SCHEMA { CREATE ROLE role ; | RECORD TYPE type ( { field type options | GRANT rights TO role } , … ) ; } …
// Keywords are read in any case. The parser refuses definitions that occur twice; the caller checks the names
// themselves.
//
// The writer gives a text that reads back as the same schema: roles, then types, each in the byte order of its names,
// system fields first. Every type shows all its system fields, as exports of the real service do.

/// The words of the language for indexes and permissions, in the order in which they are written.
private let indexWords: [(word: String, value: FieldIndexes)] = [
    ("QUERYABLE", .queryable), ("SEARCHABLE", .searchable), ("SORTABLE", .sortable),
]
private let permissionWords: [(word: String, value: TypePermissions)] = [
    ("READ", .read), ("CREATE", .create), ("WRITE", .write),
]

/// Reads a text in the schema language.
package struct SchemaParser {
    /// The most types, fields and grants of one text. A longer text is an attack.
    private static let maximumDefinitionCount = 100_000

    private var lexer: SchemaLexer
    private var token: SchemaToken
    private var schema = ContainerSchema()
    private var definitionCount = 0

    /// The schema that a text defines, which may be in any order. System fields without indexes are left out, because
    /// every type has them.
    ///
    /// Throws `SchemaTextError` with the position of the first mistake.
    package static func schema(of text: String) throws(SchemaTextError) -> ContainerSchema {
        var parser = try SchemaParser(text)
        return try parser.parse()
    }

    private init(_ text: String) throws(SchemaTextError) {
        lexer = SchemaLexer(text)
        token = try lexer.next()
    }

    private mutating func parse() throws(SchemaTextError) -> ContainerSchema {
        try expect("DEFINE")
        try expect("SCHEMA")
        while token.kind != .end {
            if try take("CREATE") {
                try expect("ROLE")
                try parseRole()
            } else if try take("RECORD") {
                try expect("TYPE")
                try parseType()
            } else {
                throw unexpected("CREATE ROLE or RECORD TYPE")
            }
            try expect(mark: ";")
        }
        return schema
    }

    private mutating func parseRole() throws(SchemaTextError) {
        let start = token
        let role = RoleName(try name("a role"))
        guard !RoleName.systemRoles.contains(role) else { throw error(start, "The role \(role) exists already.") }
        guard schema.roles.insert(role).inserted else { throw error(start, "The role \(role) is created twice.") }
        try countDefinition(start)
    }

    private mutating func parseType() throws(SchemaTextError) {
        let start = token
        var type = RecordTypeSchema(name: RecordType(try name("a record type")))
        guard schema.types[type.name] == nil else {
            throw error(start, "The record type \(type.name) is defined twice.")
        }
        var seen: Set<FieldKey> = []
        try expect(mark: "(")
        while !isMark(")") {
            try countDefinition(token)
            if try take("GRANT") {
                try parseGrant(&type)
            } else {
                try parseField(&type, &seen)
            }
            guard try take(mark: ",") else { break }
        }
        try expect(mark: ")")
        schema.types[type.name] = type
    }

    private mutating func parseField(
        _ type: inout RecordTypeSchema, _ seen: inout Set<FieldKey>
    ) throws(SchemaTextError) {
        let start = token
        let key = FieldKey(try name("a field or GRANT"))
        guard seen.insert(key).inserted else { throw error(start, "The field \(key) is defined twice.") }
        let typeToken = token
        let fieldType = try parseFieldType()
        var indexes: FieldIndexes = []
        while let index = try take(oneOf: indexWords) { indexes.insert(index) }
        if fieldType.isEncrypted, !indexes.isEmpty {
            throw error(start, "The field \(key) is encrypted and cannot have indexes.")
        }
        if let system = SystemFieldName.types[key] {
            guard fieldType == FieldType(system) else {
                throw error(typeToken, "The system field \(key) is of the type \(system.name).")
            }
            if indexes.isEmpty { return }
        }
        type.fields[key] = FieldSchema(fieldType, indexes: indexes)
    }

    private mutating func parseFieldType() throws(SchemaTextError) -> FieldType {
        guard try take("LIST") else { return try parseScalarType() }
        try expect(mark: "<")
        var type = try parseScalarType()
        try expect(mark: ">")
        type.isList = true
        return type
    }

    private mutating func parseScalarType() throws(SchemaTextError) -> FieldType {
        let start = token
        let isEncrypted = try take("ENCRYPTED")
        guard case .word(let word) = token.kind,
            let scalar = ScalarType.allCases.first(where: { $0.name == word.uppercased() })
        else { throw unexpected("a type such as STRING or LIST<INT64>") }
        guard !isEncrypted || scalar.canBeEncrypted else {
            throw error(start, "Values of the type \(scalar.name) cannot be encrypted.")
        }
        try advance()
        guard scalar == .number, try take("PREFERRED") else { return FieldType(scalar, isEncrypted: isEncrypted) }
        try expect("AS")
        if try take("INT64") { return FieldType(.int64) }
        if try take("DOUBLE") { return FieldType(.double) }
        throw unexpected("INT64 or DOUBLE")
    }

    private mutating func parseGrant(_ type: inout RecordTypeSchema) throws(SchemaTextError) {
        var permissions: TypePermissions = []
        repeat {
            guard let permission = try take(oneOf: permissionWords) else { throw unexpected("READ, CREATE or WRITE") }
            permissions.insert(permission)
        } while try take(mark: ",")
        try expect("TO")
        type.grants[RoleName(try name("a role")), default: []].formUnion(permissions)
    }
}

extension SchemaParser {
    private mutating func take<Value>(oneOf words: [(word: String, value: Value)]) throws(SchemaTextError) -> Value? {
        for (word, value) in words where try take(word) { return value }
        return nil
    }

    /// Takes a keyword, in any case, if it comes next.
    private mutating func take(_ keyword: String) throws(SchemaTextError) -> Bool {
        guard case .word(let word) = token.kind, word.uppercased() == keyword else { return false }
        try advance()
        return true
    }

    private mutating func take(mark: Unicode.Scalar) throws(SchemaTextError) -> Bool {
        guard isMark(mark) else { return false }
        try advance()
        return true
    }

    private mutating func expect(_ keyword: String) throws(SchemaTextError) {
        guard try take(keyword) else { throw unexpected(keyword) }
    }

    private mutating func expect(mark: Unicode.Scalar) throws(SchemaTextError) {
        guard try take(mark: mark) else { throw unexpected("'\(mark)'") }
    }

    private mutating func name(_ what: String) throws(SchemaTextError) -> String {
        switch token.kind {
        case .word(let name), .quoted(let name):
            guard !name.isEmpty else { throw error(token, "The name of \(what) is empty.") }
            try advance()
            return name
        case .mark, .end: throw unexpected("the name of \(what)")
        }
    }

    private func isMark(_ mark: Unicode.Scalar) -> Bool { token.kind == .mark(mark) }

    private mutating func advance() throws(SchemaTextError) { token = try lexer.next() }

    private mutating func countDefinition(_ token: SchemaToken) throws(SchemaTextError) {
        definitionCount += 1
        guard definitionCount <= Self.maximumDefinitionCount else {
            throw error(token, "The text has more than \(Self.maximumDefinitionCount) definitions.")
        }
    }

    private func unexpected(_ expected: String) -> SchemaTextError {
        error(token, "Expected \(expected), found \(token.text).")
    }

    private func error(_ token: SchemaToken, _ message: String) -> SchemaTextError {
        SchemaTextError(line: token.line, column: token.column, message: message)
    }
}

/// Writes a schema as text.
package enum SchemaWriter {
    /// Words that are names only in quotes.
    private static let keywords: Set<String> = [
        "GRANT", "PREFERRED", "QUERYABLE", "SORTABLE", "SEARCHABLE", "LIST", "ENCRYPTED", "DEFINE", "SCHEMA", "CREATE",
        "ROLE", "RECORD", "TYPE", "TO", "AS", "READ", "WRITE",
    ]

    /// The text of a schema. Its names have neither quotes nor line breaks, which `SchemaParser` refuses.
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
                + ([fieldType(field.type)] + words(of: field.indexes, indexWords)).joined(separator: " ")
        }
        lines += type.grants.sorted { $0.key < $1.key }.compactMap { role, permissions in
            permissions.isEmpty
                ? nil : "GRANT \(words(of: permissions, permissionWords).joined(separator: ", ")) TO \(name(role.text))"
        }
        return "    RECORD TYPE \(name(type.name.text)) (\n"
            + lines.map { "        " + $0 }.joined(separator: ",\n") + "\n    );\n"
    }

    private static func fieldType(_ type: FieldType) -> String {
        let scalar = (type.isEncrypted ? "ENCRYPTED " : "") + type.scalar.name
        return type.isList ? "LIST<\(scalar)>" : scalar
    }

    private static func words<Value: OptionSet>(
        of value: Value, _ words: [(word: String, value: Value)]
    ) -> [String] where Value.Element == Value {
        words.filter { value.contains($0.value) }.map(\.word)
    }

    /// The name, in quotes if it would not be read as one without them.
    private static func name(_ name: String) -> String {
        guard let first = name.unicodeScalars.first, SchemaLexer.isWordScalar(first), first != "_", first != ".",
            !("0"..."9").contains(first), name.unicodeScalars.allSatisfy({ SchemaLexer.isWordScalar($0) && $0 != "." }),
            !keywords.contains(name.uppercased())
        else { return "\"\(name)\"" }
        return name
    }
}
