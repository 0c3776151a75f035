// Learning and refusing types and fields (S-13, S-14, C-08, C-21, L-06, L-09).

import Foundation
import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("the schema keeper")
struct SchemaKeeperTests {
    private let fixture: SchemaFixture

    init() throws { fixture = try SchemaFixture(on: TwiceRunningStore(MemoryStore())) }

    private static let date = Date(timeIntervalSinceReferenceDate: 1)
    private static let reference = RecordReference(target: "x", action: .none)
    private static let asset = AssetDescriptor(digest: [UInt8](repeating: 1, count: 32), byteCount: 1)
    /// A value of every type of the server.
    private static let values: [(value: FieldValue, type: ScalarType)] = [
        (.string("a"), .string), (.int64(1), .int64), (.double(1), .double), (.date(date), .timestamp),
        (.bytes([1]), .bytes),
        (.location(Location(latitudeDegrees: 1, longitudeDegrees: 1, timestamp: date)), .location),
        (.reference(reference), .reference), (.asset(asset), .asset),
    ]

    @Test("[S-13][C-21] in development a save teaches a field of every server type, as a single value and as a list")
    func learning() throws {
        for (value, type) in Self.values {
            let key = FieldKey("f\(type)")
            #expect(try fixture.admit(note(key, value)).isEmpty)
            #expect(try fixture.fieldType(key) == FieldType(type))
            let listKey = FieldKey("l\(type)")
            #expect(try fixture.admit(note(listKey, .list([value, value]))).isEmpty)
            #expect(try fixture.fieldType(listKey) == FieldType(type, isList: true))
        }
        #expect(try fixture.schema().types["Note"]?.grants == RecordTypeSchema.defaultGrants)
    }

    @Test("[S-13] what one container learns, the others do not know")
    func containers() throws {
        try fixture.admit(note("a", .string("x")))
        #expect(try fixture.admit(note("a", .int64(1)), container: "other").isEmpty)
        #expect(try fixture.schema(of: "other").types["Note"]?.fields["a"]?.type == FieldType(.int64))
        #expect(try fixture.fieldType("a") == FieldType(.string))
    }

    @Test("[S-13] production refuses an unknown field and an unknown type, and saves known ones")
    func production() throws {
        try fixture.admit(note("a", .string("x")))
        let before = try fixture.schema()
        let errors = try fixture.admit(
            note("a", .string("y")), note("b", .string("x")), note("c", .string("x"), type: "Other"), mode: .production)
        #expect(Set(errors.keys) == ["b", "c"])
        #expect(
            errors["b"]?.description
                == "12/2006: Cannot create or modify field 'b' in record 'Note' in production schema "
                + "(field=b, recordType=Note)")
        #expect(
            errors["c"]?.description
                == "12/2006: Cannot create new type Other in production schema (recordType=Other)")
        #expect(try fixture.schema() == before)
    }

    @Test("[S-13] production refuses a share with 15 until its type is deployed; user records need no deployment")
    func systemTypes() throws {
        let share = Record(name: "s", type: "cloudkit.share", fields: ["cloudkit.title": Field(.string("t"))])
        let error = try fixture.admit(share, mode: .production)["s"]
        #expect(error?.code == .serverRejectedRequest)
        #expect(error?.message == "Cannot create new type cloudkit.share in production schema")
        #expect(try fixture.admit(Record(name: "u", type: "Users"), mode: .production).isEmpty)
        #expect(try fixture.admit(share).isEmpty)
        #expect(try fixture.admit(share, mode: .production).isEmpty)
    }

    @Test(
        "[S-14] a value of another type is refused in both modes, and the message names both types",
        arguments: SchemaEnvironment.allCases)
    func wrongType(mode: SchemaEnvironment) throws {
        for (value, type) in Self.values { try fixture.admit(note(FieldKey("\(type)"), value)) }
        for (value, type) in Self.values {
            for (_, defined) in Self.values where defined != type {
                let error = try fixture.admit(note(FieldKey("\(defined)"), value), mode: mode)[RecordName("\(defined)")]
                #expect(error?.code == .invalidArguments)
                #expect(error?.innerCode == 2006)
                #expect(
                    error?.message
                        == "invalid attempt to set value type \(type.name) for field '\(defined)' for type 'Note', "
                        + "defined to be: \(defined.name)")
            }
        }
    }

    @Test(
        "[S-14] a list and a single value are two types; an empty list fits every list type, and is refused without one"
    )
    func lists() throws {
        try fixture.admit(note("tags", .list([.string("a")])), note("one", .string("a")))
        #expect(try fixture.admit(note("tags", .list([]))).isEmpty)
        let new = try fixture.admit(note("new", .list([])))["new"]
        #expect(
            new?.description
                == "12/2006: cannot use an empty list to initialize a new field (field=new, recordType=Note)")
        #expect(try fixture.fieldType("new") == nil)
        #expect(try fixture.admit(note("hidden", .list([]), isEncrypted: true))["hidden"]?.innerCode == 2006)
        #expect(try fixture.admit(note("new", .list([])), mode: .production)["new"]?.code == .invalidArguments)
        let errors = try fixture.admit(
            note("one", .list([])), note("tags", .string("a")), note("mixed", .list([.string("a"), .int64(1)])),
            note("deep", .list([.list([.int64(1)])])))
        #expect(errors["one"]?.message.contains("value type EMPTY_LIST") == true)
        #expect(
            errors["tags"]?.message.hasSuffix(
                "value type STRING for field 'tags' for type 'Note', defined to be: STRING_LIST") == true)
        #expect(Set(errors.keys) == ["one", "tags", "mixed", "deep"])
    }

    @Test(
        "[S-14] an empty list creates a field if another record of the request gives its type, in any order, if that one is saved"
    )
    func emptyLists() throws {
        func record(_ name: RecordName, _ values: [FieldKey: FieldValue]) -> Record {
            var record = Record(name: name, type: "Note")
            for (key, value) in values { record.fields[key] = Field(value) }
            return record
        }
        let (empty, full) = (record("empty", ["a": .list([])]), record("full", ["a": .list([.int64(1)])]))
        #expect(try fixture.admit(empty, full).isEmpty)
        #expect(try fixture.fieldType("a") == FieldType(.int64, isList: true))
        let single = try fixture.admit(record("e", ["b": .list([])]), record("f", ["b": .int64(1)]))
        #expect(single["e"]?.message.contains("value type EMPTY_LIST for field 'b'") == true)
        #expect(single.count == 1)
        // A refused record teaches nothing, so the next has no type either.
        let errors = try fixture.admit(
            record("1", ["c": .list([]), "d": .list([.int64(1)])]), record("2", ["d": .list([])]),
            record("3", ["e": .list([.string("x")])]))
        #expect(Set(errors.keys) == ["1", "2"])
        #expect(try fixture.fieldType("d") == nil)
        #expect(try fixture.fieldType("e") == FieldType(.string, isList: true))
    }

    @Test(
        "[S-14] of two records of one request the first decides a new field's type; a refused record teaches nothing"
    )
    func order() throws {
        let first = Record(name: "1", type: "Note", fields: ["f": Field(.int64(1))])
        let second = Record(name: "2", type: "Note", fields: ["f": Field(.string("x")), "g": Field(.string("x"))])
        let errors = try fixture.admit(first, second)
        #expect(Set(errors.keys) == ["2"])
        #expect(try fixture.fieldType("f") == FieldType(.int64))
        #expect(try fixture.fieldType("g") == nil)
    }

    @Test("[C-08] a field is plain or encrypted, permanently")
    func encryption() throws {
        try fixture.admit(note("plain", .string("x")), note("secret", .string("x"), isEncrypted: true))
        #expect(try fixture.fieldType("secret") == FieldType(.string, isEncrypted: true))
        let errors = try fixture.admit(
            note("plain", .string("x"), isEncrypted: true), note("secret", .string("x")))
        #expect(errors["plain"]?.message.contains("ENCRYPTED_STRING for field 'plain'") == true)
        #expect(errors["secret"]?.message.hasSuffix("defined to be: ENCRYPTED_STRING") == true)
    }

    @Test("[C-08] encrypted assets and references are refused; every other type is accepted and has no index")
    func encryptedTypes() throws {
        for (value, type) in Self.values {
            let key = FieldKey("f\(type)")
            let isRefused = type == .asset || type == .reference
            #expect(try fixture.admit(note(key, value, isEncrypted: true)).isEmpty != isRefused)
            #expect(try fixture.schema().types["Note"]?.fields[key]?.indexes == (isRefused ? nil : []))
        }
    }

    @Test("[C-08] encrypted values are refused in the public database, known or new")
    func encryptedInPublic() throws {
        try fixture.admit(note("known", .string("x"), isEncrypted: true))
        for key: FieldKey in ["known", "new"] {
            let errors = try fixture.admit(note(key, .string("x"), isEncrypted: true), isPublic: true)
            #expect(errors.count == 1)
        }
        #expect(try fixture.admit(note("plain", .string("x")), isPublic: true).isEmpty)
    }

    @Test("[L-06] a record type accepts 256 fields and no more")
    func fieldCount() throws {
        func record(_ numbers: Range<Int>) -> Record {
            let fields = numbers.map { (FieldKey("f\($0)"), Field(.int64(1))) }
            return Record(name: "r", type: "Note", fields: RecordFields(Dictionary(uniqueKeysWithValues: fields)))
        }
        #expect(try fixture.admit(record(0..<200)).isEmpty)
        #expect(try fixture.admit(record(200..<257))["r"]?.description.hasPrefix("27/2023") == true)
        #expect(try fixture.admit(record(200..<256)).isEmpty)
        #expect(try fixture.admit(record(256..<257))["r"]?.code == .limitExceeded)
    }

    @Test(
        "[L-09] types and fields begin with a letter, and contain only letters, digits and underscores",
        arguments: [
            "", "_a", "1a", "a-b", "a b", "a.b", "\u{E9}", "a$", "a\0", "___createTime",
            String(repeating: "a", count: 256),
        ])
    func invalidNames(name: String) throws {
        #expect(try fixture.admit(note(FieldKey(name), .int64(1))).count == 1)
        #expect(try fixture.admit(note("a", .int64(1), type: RecordType(name)))["a"]?.code == .invalidArguments)
        #expect(try fixture.schema().types.isEmpty)
    }

    @Test("[L-09] the longest names are accepted, and the system fields with their own types")
    func validNames() throws {
        let long = String(repeating: "a", count: 255)
        #expect(try fixture.admit(note(FieldKey(long), .int64(1), type: RecordType(long))).isEmpty)
        #expect(try fixture.admit(note("A_1b", .int64(1))).isEmpty)
        let share: RecordType = "cloudkit.share"
        #expect(try fixture.admit(note("cloudkit.title", .string("t"), type: share)).isEmpty)
        #expect(try fixture.admit(note("cloudkit.thumbnailImageData", .bytes([1]), type: share)).isEmpty)
        #expect(try fixture.admit(note("cloudkit.type", .string("t"), type: share)).isEmpty)
        #expect(try fixture.admit(note("cloudkit.title", .int64(1), type: "Other"))["cloudkit.title"] != nil)
    }

    @Test("a number of either kind fits a field of the type NUMBER, and nothing else does")
    func numbers() throws {
        let schema = try SchemaParser.schema(of: "DEFINE SCHEMA RECORD TYPE Note ( n NUMBER );")
        try fixture.engine.transact {
            try fixture.keeper.replaceSchema(of: SchemaFixture.container, with: schema, mode: .production, in: $0)
        }
        #expect(try fixture.admit(note("n", .int64(1)), mode: .production).isEmpty)
        #expect(try fixture.admit(note("n", .double(1)), mode: .production).isEmpty)
        #expect(try fixture.admit(note("n", .string("1")), mode: .production).count == 1)
    }
}
