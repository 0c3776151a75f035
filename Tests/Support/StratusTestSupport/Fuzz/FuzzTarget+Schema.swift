// Fuzzing the reader of the schema language: any text is refused with a position, or round-trips to the same schema.
// And the schema's value in the store: any bytes are refused or canonical.

import StratusLayout
import StratusModel

extension FuzzTarget {
    package static let schemaText = FuzzTarget(
        name: "schema",
        dictionary: [
            "DEFINE SCHEMA", "RECORD TYPE", "CREATE ROLE", "GRANT READ, WRITE TO", "LIST<", ">", "ENCRYPTED", "NUMBER",
            "PREFERRED AS INT64", "STRING", "REFERENCE", "QUERYABLE", "SORTABLE", "\"", "\"___etag\"", "(", ")", ",",
            ";",
            "//", "--", "/*", "*/", "\n", "\r", "\u{301}", "\u{E9}", "x", "y STRING,", ");",
        ].map { Array($0.utf8) },
        validInput: { random in Array(SchemaWriter.text(of: SchemaGenerator.schema(&random)).utf8) },
        check: { input in
            let text = String(decoding: input, as: UTF8.self)
            do throws(SchemaTextError) {
                let schema = try SchemaParser.schema(of: text)
                let again = try? SchemaParser.schema(of: SchemaWriter.text(of: schema))
                return again == schema ? .accepted : .violation("read, but written otherwise")
            } catch {
                let lineCount = text.unicodeScalars.count { $0 == "\n" } + 1
                let isInside = (1...lineCount).contains(error.line) && error.column >= 1
                return isInside ? .refused : .violation("a mistake outside the text: \(error)")
            }
        })

    package static let schemaEntry = FuzzTarget(
        name: "schema-entry",
        dictionary: (UInt8(0)...0x10).map { [$0] } + [
            [0x01, 0x01, 0x00, 0x00], [0x01, 0x02, 0x00], [0x80, 0x00], [0xFF, 0xFF], [0xC1, 0xBF], [0x01, 0x61],
        ],
        validInput: { random in
            let schema = SchemaGenerator.schema(&random)
            guard let type = schema.types.values.min(by: { $0.name < $1.name }) else {
                return SchemaEntry.roles(schema.roles).encoded()
            }
            return SchemaEntry.type(fields: type.fields, grants: type.grants, isImported: random.isOne(in: 2)).encoded()
        },
        check: { input in
            let keys = [GlobalKeys.schema("c", "T"), GlobalKeys.asset(owner: "o", digest: [1])]
            for key in keys {
                let line = ValueDescription.text(of: input, forKey: key)
                if let problem = LayoutChecks.unsafeScalar(in: line) { return .violation("\(problem) in \(line)") }
            }
            if let problem = LayoutChecks.record(input) { return .violation(problem) }
            return (try? SchemaEntry(decoding: input.span)) == nil ? .refused : .accepted
        })
}
