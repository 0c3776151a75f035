// Apple's schema language: what is parsed, what is refused and where, and that schemas round-trip.

import StratusModel
import StratusTestSupport
import Testing

@Suite("the schema language")
struct SchemaLanguageTests {
    private static let sample = """
        DEFINE SCHEMA

            CREATE ROLE Editor;  // may edit

            RECORD TYPE Note (
                "___createTime" TIMESTAMP QUERYABLE SORTABLE,
                "___recordID"   REFERENCE QUERYABLE,
                "___etag"       STRING,  -- without an index, as every type has it
                title           STRING QUERYABLE SEARCHABLE,
                body            ENCRYPTED STRING,
                tags            LIST<STRING> QUERYABLE,
                secrets         LIST<ENCRYPTED BYTES>,
                photo           ASSET,
                place           LOCATION,
                owner           REFERENCE,
                "grant"         INT64 SORTABLE,
                amount          NUMBER,
                price           NUMBER PREFERRED AS DOUBLE,
                GRANT WRITE TO "_creator",
                GRANT READ, CREATE TO Editor,
                GRANT WRITE TO Editor,
                GRANT READ TO "_world"
            );

            /* A share's own type,
               with a dot in its name. */
            record type "cloudkit.share" ( "cloudkit.title" string );
            RECORD TYPE Empty ( );
        """

    @Test("[S-13] a text with every construct is parsed correctly")
    func reading() throws {
        let schema = try SchemaParser.schema(of: Self.sample)
        #expect(schema.roles == ["Editor"])
        #expect(Set(schema.types.keys) == ["Note", "cloudkit.share", "Empty"])
        let note = try #require(schema.types["Note"])
        #expect(note.fields["___createTime"] == FieldSchema(FieldType(.timestamp), indexes: [.queryable, .sortable]))
        #expect(note.fields["___etag"] == nil)
        #expect(note.fields["title"] == FieldSchema(FieldType(.string), indexes: [.queryable, .searchable]))
        #expect(note.fields["body"] == FieldSchema(FieldType(.string, isEncrypted: true)))
        #expect(note.fields["tags"] == FieldSchema(FieldType(.string, isList: true), indexes: .queryable))
        #expect(note.fields["secrets"] == FieldSchema(FieldType(.bytes, isList: true, isEncrypted: true)))
        #expect(note.fields["grant"] == FieldSchema(FieldType(.int64), indexes: .sortable))
        #expect(note.fields["amount"] == FieldSchema(FieldType(.number)))
        #expect(note.fields["price"] == FieldSchema(FieldType(.double)))
        #expect(note.grants == [.creator: .write, .world: .read, "Editor": .all])
        #expect(schema.types["cloudkit.share"]?.fields == ["cloudkit.title": FieldSchema(FieldType(.string))])
        #expect(schema.types["Empty"] == RecordTypeSchema(name: "Empty"))
    }

    @Test("[S-13] a schema is written as the recorded text, and parses to the same schema")
    func golden() throws {
        let schema = try SchemaParser.schema(of: Self.sample)
        let text = SchemaWriter.text(of: schema)
        #expect(GoldenFile("schema.ckdb").difference(from: text) == nil)
        #expect(try SchemaParser.schema(of: text) == schema)
        #expect(SchemaWriter.text(of: ContainerSchema()) == "DEFINE SCHEMA\n")
    }

    @Test(
        "a mistake is reported with its line and column",
        arguments: [
            ("", "line 1, column 1: Expected DEFINE, found the end of the text."),
            ("DEFINE SCHEME", "line 1, column 8: Expected SCHEMA, found 'SCHEME'."),
            ("DEFINE SCHEMA\n RECORD T", "line 2, column 9: Expected TYPE, found 'T'."),
            ("DEFINE SCHEMA\nDROP X;", "line 2, column 1: Expected CREATE ROLE or RECORD TYPE, found 'DROP'."),
            (
                "DEFINE SCHEMA RECORD TYPE A ( x TEXT );",
                "line 1, column 33: Expected a type such as STRING or LIST<INT64>, found 'TEXT'."
            ),
            (
                "DEFINE SCHEMA RECORD TYPE A ( x LIST<LIST<STRING>> );",
                "line 1, column 38: Expected a type such as STRING or LIST<INT64>, found 'LIST'."
            ),
            ("DEFINE SCHEMA RECORD TYPE A ( x STRING )", "line 1, column 41: Expected ';', found the end of the text."),
            ("DEFINE SCHEMA RECORD TYPE A ( x STRING\ny STRING );", "line 2, column 1: Expected ')', found 'y'."),
            (
                "DEFINE SCHEMA RECORD TYPE A ( x ENCRYPTED ASSET );",
                "line 1, column 33: Values of the type ASSET cannot be encrypted."
            ),
            (
                "DEFINE SCHEMA RECORD TYPE A ( x ENCRYPTED STRING SORTABLE );",
                "line 1, column 31: The field x is encrypted and cannot have indexes."
            ),
            (
                "DEFINE SCHEMA RECORD TYPE A (\n\tx STRING,\n\tx STRING );",
                "line 3, column 2: The field x is defined twice."
            ),
            (
                "DEFINE SCHEMA RECORD TYPE A (); RECORD TYPE A ();",
                "line 1, column 45: The record type A is defined twice."
            ),
            ("DEFINE SCHEMA CREATE ROLE \"_world\";", "line 1, column 27: The role _world exists already."),
            (
                "DEFINE SCHEMA RECORD TYPE A ( \"___etag\" INT64 );",
                "line 1, column 41: The system field ___etag is of the type STRING."
            ),
            (
                "DEFINE SCHEMA RECORD TYPE A ( GRANT TO x );",
                "line 1, column 37: Expected READ, CREATE or WRITE, found 'TO'."
            ),
            (
                "DEFINE SCHEMA RECORD TYPE A ( n NUMBER PREFERRED AS STRING );",
                "line 1, column 53: Expected INT64 or DOUBLE, found 'STRING'."
            ),
            (
                "DEFINE SCHEMA RECORD TYPE \"A\n\" ();",
                "line 1, column 27: The quote that begins here does not end on its line."
            ),
            ("DEFINE SCHEMA\n\n  /* never", "line 3, column 3: The comment that begins here does not end."),
            ("DEFINE SCHEMA RECORD TYPE \"\" ();", "line 1, column 27: The name of a record type is empty."),
            (
                "DEFINE SCHEMA \u{E9}",
                "line 1, column 15: The character U+E9 cannot be part of a name without quotes."
            ),
        ])
    func mistakes(text: String, message: String) {
        do {
            let schema = try SchemaParser.schema(of: text)
            Issue.record("read as \(schema)")
        } catch { #expect("\(error)" == message) }
    }

    @Test("every written schema parses to the same schema, and no part of a text traps the parser")
    func roundTrips() throws {
        let seed = SplitMix64.announced("schema language")
        for index in 0..<300 {
            var random = seed.generator(forCase: index)
            let schema = SchemaGenerator.schema(&random)
            let text = SchemaWriter.text(of: schema)
            #expect(try SchemaParser.schema(of: text) == schema, "case \(index)")
            let scalars = Array(text.unicodeScalars)
            var part = String.UnicodeScalarView()
            part.append(contentsOf: scalars.prefix(random.below(scalars.count)))
            // A prefix that ends between two definitions is a schema too; any other is refused.
            _ = try? SchemaParser.schema(of: String(part))
        }
    }

    @Test("no mutation of a text traps the parser, and an accepted one round-trips")
    func fuzzing() {
        let report = FuzzRun(.schemaText, seed: SplitMix64.announced("schema fuzzing").seed).execute(0..<4_000)
        #expect(report.violation == nil)
        #expect(report.acceptedCount > 400)
        #expect(report.refusedCount > 400)
    }
}
