// Lines: one key is one safe line, and the line is the key.

import StratusLayout
import StratusModel
import StratusStore
import StratusTestSupport
import Testing

@Suite("keys as lines")
struct KeyDescriptionTests {
    @Test("lines have the documented format")
    func examples() throws {
        let zone = ZoneKeys(database: DatabaseNumber(3), zone: ZoneNumber(7))
        let lines: [([UInt8], String)] = [
            (zone.child(parent: "folder", name: "file.txt"), #"db 3 / zone 7 / children / "folder" / "file.txt""#),
            (zone.header(), "db 3 / zone 7 / header"),
            (zone.recordChunk("a", index: 2), #"db 3 / zone 7 / records / "a" / chunk 2"#),
            (GlobalKeys.zone(DatabaseNumber(3), ZoneNumber(7), in: .purges), "global / purges / db 3 / zone 7"),
            (zone.record("a\n\"\\\u{202E}e\u{301}"), #"db 3 / zone 7 / records / "a\u{a}\"\\\u{202e}e\u{301}""#),
        ]
        for (key, line) in lines {
            #expect(KeyDescription.text(of: key) == line)
            #expect(try KeyDescription.bytes(of: line) == key)
        }
    }

    @Test("every key parses from its line, and the line contains only visible characters")
    func roundTrips() throws {
        let seed = SplitMix64.announced("keys as lines")
        for key in LayoutSamples.allKeys { #expect(try KeyDescription.bytes(of: KeyDescription.text(of: key)) == key) }
        let zone = LayoutSamples.zone
        for index in 0..<1_000 {
            var random = seed.generator(forCase: index)
            let (a, b) = (RecordGenerator.name(&random), RecordGenerator.name(&random))
            let key = zone.child(parent: a, name: b)
            #expect(LayoutChecks.key(key) == nil)
            #expect(try KeyDescription.bytes(of: KeyDescription.text(of: key)) == key)
            let field = zone.field(type: "T", field: "f", value: random.tupleElement(), name: a)
            #expect(LayoutChecks.key(field) == nil)
        }
    }

    @Test("the check of a line detects invalid characters")
    func checkFails() {
        #expect(LayoutChecks.unsafeScalar(in: "a\nb") != nil)
        #expect(LayoutChecks.unsafeScalar(in: "\u{1B}[31m") != nil)
        #expect(LayoutChecks.unsafeScalar(in: "\u{202E}") != nil)
        #expect(LayoutChecks.unsafeScalar(in: "\u{E0041}") != nil)
        #expect(LayoutChecks.unsafeScalar(in: "db 3 / \u{E9}") == nil)
    }

    @Test("a bound of a range is described as far as its parts go")
    func bounds() throws {
        let zone = ZoneKeys(database: DatabaseNumber(3), zone: ZoneNumber(7))
        let child = zone.child(parent: "folder", name: "file")
        let large = zone.recordChunk("a", index: 2)
        let bounds: [([UInt8], String)] = [
            ([], "start of the store"),
            ([0xFF], "end of the store"),
            ([UInt8](repeating: 0xFF, count: 5_000), "end of the store"),
            (child, #"db 3 / zone 7 / children / "folder" / "file""#),
            (child + [0], #"after db 3 / zone 7 / children / "folder" / "file""#),
            (large + [0], #"after db 3 / zone 7 / records / "a" / chunk 2"#),
            (zone.children(of: "folder").lower, #"db 3 / zone 7 / children / "folder" / …"#),
            (zone.keyspace(.children).lower, "db 3 / zone 7 / children / …"),
            (zone.keyspace(.children).upper, "db 3 / zone 7 / shareRoots / …"),
            (zone.all.lower, "db 3 / zone 7 / …"),
            (zone.all.upper, "db 3 / zone 8 / …"),
            (DatabaseKeys(DatabaseNumber(3)).all.upper, "db 4 / …"),
            (GlobalKeys.keyspace(.databases).lower, "global / databases / …"),
            (GlobalKeys.all.lower, "global / …"),
        ]
        for (bound, line) in bounds { #expect(KeyDescription.text(ofBound: bound) == line) }
        for key in LayoutSamples.allKeys {
            #expect(KeyDescription.text(ofBound: key) == KeyDescription.text(of: key))
            #expect(KeyDescription.text(ofBound: key + [0]) == "after " + KeyDescription.text(of: key))
            // However a key is cut, its line is one safe line.
            for count in 0..<key.count {
                let line = KeyDescription.text(ofBound: Array(key[..<count]))
                #expect(LayoutChecks.unsafeScalar(in: line) == nil, "\(line)")
                #expect(!line.contains("damaged"), "\(line)")
            }
        }
        #expect(KeyDescription.text(ofBound: [0x80, 1]) == "x'8001'")
    }

    @Test("a prefix of a line is a prefix of the matching keys")
    func ranges() throws {
        let zone = ZoneKeys(database: DatabaseNumber(3), zone: ZoneNumber(7))
        #expect(try KeyDescription.range(of: "global") == GlobalKeys.all)
        #expect(try KeyDescription.range(of: "db 3") == DatabaseKeys(DatabaseNumber(3)).all)
        #expect(try KeyDescription.range(of: "db 3 / zone 7") == zone.all)
        #expect(try KeyDescription.range(of: "db 3 / zone 7 / children") == zone.keyspace(.children))
        #expect(try KeyDescription.range(of: #"db 3 / zone 7 / children / "folder""#) == zone.children(of: "folder"))
    }

    @Test("unknown and damaged keys are shown as hexadecimal with the reason")
    func damage() {
        let zone = LayoutSamples.zone
        var unknown = zone.prefix
        TupleWriter.appendInteger(UInt64(99), to: &unknown)
        let line = KeyDescription.text(of: unknown)
        #expect(line.hasPrefix("damaged key x'\(Hex.text(unknown))': No keyspace has this tag."))
        #expect(KeyDescription.text(of: []).hasPrefix("damaged key x'': "))
        #expect(KeyDescription.text(of: zone.header() + [1]).hasPrefix("damaged key x'"))
        #expect(ValueDescription.text(of: [1, 2], forKey: []) == "unknown value x'0102'")
        #expect(ValueDescription.text(of: [1, 2], forKey: zone.header()).hasPrefix("damaged value x'0102': "))
    }

    @Test(
        "an invalid line is refused with the position",
        arguments: [
            "", "db", "db 0", "db x", "db 3 / zone 0", "db 3 / nowhere", "db 3 / zone 7 / childrens", "globals",
            #"db 3 / zone 7 / records / "a"#, #"db 3 / zone 7 / records / "\u{110000}""#,
            #"db 3 / zone 7 / records / "\q""#, #"db 3 / zone 7 / records / "a" / 5"#,
            #"db 3 / zone 7 / parents / "a" / "b""#, "db 3 / zone 7 / changes / -1", "global / receipts / x'0'",
            #"global / acceptances / "u" / 5"#, "db 3 / zone 7 / references / \"a\" / \"b\" / \"c\" / action all",
            "db 3 / zone 7 / fields / \"a\" / \"b\" / (((1)", "db 3 / ",
        ])
    func refusals(line: String) {
        let error = #expect(throws: StoreError.self) { try KeyDescription.bytes(of: line) }
        #expect(error?.code == .invalidRequest)
        #expect(error?.fields["position"] != nil)
    }
}
