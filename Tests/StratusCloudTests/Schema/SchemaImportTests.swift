// Importing and exporting a container's schema (S-13): what may change, and what is refused with nothing changed.

import Foundation
import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("importing schemas")
struct SchemaImportTests {
    private struct Identifiers: IdentifierSource {
        func makeUUID() -> UUID { UUID() }
        func makeSalt() -> UInt32 { 1 }
        func makeSecret(byteCount: Int) -> [UInt8] { [UInt8](repeating: 0, count: byteCount) }
    }

    private static let container: ContainerName = "iCloud.com.example"
    private let store = MemoryStore()

    private func service(_ mode: SchemaEnvironment) throws -> CloudService {
        var options = CloudOptions()
        options.schemaMode = mode
        return CloudService(
            engine: try RecordEngine(store: store, incarnation: UUID()),
            environment: CloudEnvironment(clock: HandClock(), identifiers: Identifiers()), options: options)
    }

    private func admits(_ service: CloudService, _ record: Record) throws -> Bool {
        try service.engine.transact { transaction in
            try service.schemaKeeper.admit(
                [record], container: Self.container, mode: service.options.schemaMode, in: transaction
            ).isEmpty
        }
    }

    private func expectRefused(
        _ text: String, _ mode: SchemaEnvironment, _ message: String, _ location: SourceLocation = #_sourceLocation
    ) throws {
        let service = try service(mode)
        let before = try service.exportSchema(of: Self.container)
        do {
            try service.importSchema(text, into: Self.container)
            Issue.record("imported", sourceLocation: location)
        } catch {
            #expect(error.description == message, sourceLocation: location)
        }
        #expect(try service.exportSchema(of: Self.container) == before, sourceLocation: location)
    }

    @Test("[S-13] an imported schema applies at once, also in production, and can be exported again")
    func importing() throws {
        let service = try service(.production)
        #expect(try !admits(service, note("title", .string("x"))))
        try service.importSchema(
            "DEFINE SCHEMA CREATE ROLE Editor; RECORD TYPE Note ( title STRING, GRANT READ TO Editor );",
            into: Self.container)
        #expect(try admits(service, note("title", .string("x"))))
        let text = try service.exportSchema(of: Self.container)
        #expect(text.contains("CREATE ROLE Editor;"))
        try service.importSchema(text, into: "other")
        #expect(try service.exportSchema(of: "other") == text)
        #expect(try service.exportSchema(of: "empty") == "DEFINE SCHEMA\n")
    }

    @Test("[S-13] production may add types, fields, indexes and permissions, and removes nothing")
    func production() throws {
        let first = "DEFINE SCHEMA CREATE ROLE R; RECORD TYPE Note ( a STRING, b INT64 );"
        try service(.production).importSchema(first, into: Self.container)
        try service(.production).importSchema(
            "DEFINE SCHEMA CREATE ROLE R; RECORD TYPE Note ( a STRING QUERYABLE, b INT64, c ASSET, GRANT READ TO R ); RECORD TYPE New ();",
            into: Self.container)
        try expectRefused(
            "DEFINE SCHEMA CREATE ROLE R; RECORD TYPE New ();", .production,
            "12/2006: A record type cannot be removed from a production schema. (recordType=Note)")
        try expectRefused(
            "DEFINE SCHEMA CREATE ROLE R; RECORD TYPE Note ( a STRING, c ASSET ); RECORD TYPE New ();", .production,
            "12/2006: A field cannot be removed from a production schema. (field=b, recordType=Note)")
        try expectRefused(
            "DEFINE SCHEMA RECORD TYPE Note ( a STRING, b INT64, c ASSET ); RECORD TYPE New ();", .production,
            "12/2006: A role cannot be removed from a production schema. (role=R)")
    }

    @Test(
        "[S-13][S-14] a field's type never changes, in either mode; a NUMBER may get its kind",
        arguments: SchemaEnvironment.allCases)
    func types(mode: SchemaEnvironment) throws {
        try service(mode).importSchema("DEFINE SCHEMA RECORD TYPE Note ( a STRING, n NUMBER );", into: Self.container)
        for type in ["INT64", "ENCRYPTED STRING", "LIST<STRING>"] {
            let wanted = type == "INT64" ? "INT64" : type == "LIST<STRING>" ? "STRING_LIST" : "ENCRYPTED_STRING"
            try expectRefused(
                "DEFINE SCHEMA RECORD TYPE Note ( a \(type), n NUMBER );", mode,
                "12/2006: The type of a field cannot change. Give the new field another name. "
                    + "(definedToBe=STRING, field=a, recordType=Note, wanted=\(wanted))")
        }
        try service(mode).importSchema(
            "DEFINE SCHEMA RECORD TYPE Note ( a STRING, n NUMBER PREFERRED AS INT64 );", into: Self.container)
        try expectRefused(
            "DEFINE SCHEMA RECORD TYPE Note ( a STRING, n NUMBER );", mode,
            "12/2006: The type of a field cannot change. Give the new field another name. "
                + "(definedToBe=INT64, field=n, recordType=Note, wanted=NUMBER)")
    }

    @Test("[S-13] development forgets what an import omits, and learns it again")
    func development() throws {
        let service = try service(.development)
        #expect(try admits(service, note("a", .string("x"))))
        #expect(try admits(service, note("b", .string("x"), type: "Gone")))
        try service.importSchema("DEFINE SCHEMA RECORD TYPE Note ( c STRING );", into: Self.container)
        #expect(!(try service.exportSchema(of: Self.container)).contains("Gone"))
        #expect(try admits(service, note("a", .int64(1))))
        #expect(try admits(service, note("b", .int64(1), type: "Gone")))
    }

    @Test("[L-06][L-09] an import checks names, field counts and roles like those of records")
    func checks() throws {
        try expectRefused(
            "DEFINE SCHEMA RECORD TYPE _a ();", .development,
            "12/2006: The record type's name is invalid. Use a letter, then letters, digits and underscores, at most 255. "
                + "(recordType=_a)")
        try expectRefused(
            "DEFINE SCHEMA RECORD TYPE A ( \"x y\" STRING );", .development,
            "12/2006: The field's name is invalid. Use a letter, then letters, digits and underscores, at most 255. "
                + "(field=x y, recordType=A)")
        try expectRefused(
            "DEFINE SCHEMA RECORD TYPE A ( x BYTES SORTABLE );", .development,
            "12/2006: A field of this type cannot have these indexes. (field=x, recordType=A)")
        try expectRefused(
            "DEFINE SCHEMA RECORD TYPE A ( GRANT READ TO nobody );", .development,
            "12/2006: A permission is granted to a role that the schema does not create. (recordType=A, role=nobody)")
        let fields = (0..<257).map { "f\($0) STRING" }.joined(separator: ", ")
        try expectRefused(
            "DEFINE SCHEMA RECORD TYPE A ( \(fields) );", .development,
            "27/2023: The record type has too many fields. Use another type. (limit=256, recordType=A)")
    }

    @Test("a text that is not a schema is refused with its line and column, and a huge one without reading it")
    func mistakes() throws {
        try expectRefused(
            "DEFINE SCHEMA\nRECORD TYPE A ( x TEXT );", .development,
            "12: The text is not a schema: line 2, column 19: Expected a type such as STRING or LIST<INT64>, found 'TEXT'. "
                + "(column=19, line=2)")
        try expectRefused(
            String(repeating: " ", count: 8 << 20 + 1), .development,
            "27: The schema's text is too long. (limit=8388608)")
    }

    @Test("[S-13] a learnt schema exports as text that imports into another container as the same schema")
    func learntRoundTrip() throws {
        let service = try service(.development)
        let seed = SplitMix64.announced("learnt schemas")
        for index in 0..<60 {
            var random = seed.generator(forCase: index)
            let value = RecordGenerator.value(kind: random.below(9), &random)
            let isEncrypted = random.isOne(in: 3)
            _ = try admits(
                service, note(FieldKey("f\(index)"), value, isEncrypted: isEncrypted, type: RecordType("T\(index % 5)"))
            )
        }
        let text = try service.exportSchema(of: Self.container)
        try service.importSchema(text, into: "copy")
        #expect(try service.exportSchema(of: "copy") == text)
        #expect(text.utf8.count > 2_000)
    }
}
