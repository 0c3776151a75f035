// The example of the architecture page, copied from there.

import Foundation
import StratusLevelDB
import StratusModel
@testable import StratusRecords
import Testing

@Suite("The architecture page")
struct EngineExampleTests {
    @Test("the example compiles and prints that the milk is in the family's share")
    func example() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path(of: "store")
        // page: from here
        let store = try LevelDBStore.open(at: path, options: .init())
        defer { store.close() }
        var random = SystemRandomNumberGenerator()
        let engine = try RecordEngine(store: store, incarnation: .drawn(from: &random))
        let database = DatabaseID(container: "com.example.app", owner: "alice", scope: .private)
        let zone = ZoneID(database: database, name: "notes")
        let now = Stamp(date: Date(), user: "alice")

        let birth = ZoneBirth(
            identity: .drawn(from: &random), incarnation: .drawn(from: &random), stamp: now,
            databaseIdentity: .drawn(from: &random))
        try engine.transact { try $0.createZone(zone, birth) }

        let request = MutationRequest(
            [
                .save(
                    Record(name: "list", type: "List", share: "family", fields: ["title": Field(.string("Groceries"))])),
                .save(Record(name: "milk", type: "Item", parent: "list", fields: ["count": Field(.int64(2))])),
            ], stamp: now, tagSalt: .random(in: 0 ... .max))
        try engine.transact { try $0.apply(request, in: zone) }

        let share = try engine.read { try $0.existingZone(zone).shareMembership(of: "milk") }
        // page: to here
        #expect(share == ShareMembership(root: "list", share: "family"))
    }

    @Test("the page's example equals the one above, except for white space and comments")
    func sameText() throws {
        let own = try String(contentsOfFile: #filePath, encoding: .utf8)
        let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Docs/ARCHITECTURE.md").standardizedFileURL
        let text = try String(contentsOf: page, encoding: .utf8)
        let tested = try Self.code(in: own, from: "// page: from here\n", to: "// page: to here\n")
        let shown = try Self.code(in: text, from: "## The engine from Swift\n", "\n```swift\n", to: "\n```\n")
        #expect(shown == tested)
        #expect(shown.contains("RecordEngine("))
    }

    /// The text after the openings and before the end, without white space and without comments at the ends of lines.
    private static func code(in text: String, from openings: String..., to end: String) throws -> String {
        var rest = text[...]
        for opening in openings { rest = rest[try #require(rest.range(of: opening)).upperBound...] }
        let lines = rest[..<(try #require(rest.range(of: end))).lowerBound].split(separator: "\n")
        return lines.map { line in
            line.range(of: " // ").map { line[..<$0.lowerBound] } ?? line
        }.joined().filter { !$0.isWhitespace }
    }
}
