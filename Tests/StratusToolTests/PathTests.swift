// Records that are addressed by paths: the progress and the cost of looking them up.

import StratusModel
import StratusRecords
import StratusStore
import Testing

@testable import stratus

@Suite("records by their paths")
struct PathTests {
    private static let childCount = 300
    /// Two folders at the top, and in two folders the children.
    private static let recordCount = 2 + 2 * childCount

    private let directory: TestDirectory

    init() async throws {
        directory = try TestDirectory()
        try await PictureStore.makeWide(at: "\(directory.path)/store", childCount: Self.childCount)
    }

    /// Runs `body` in the zone and counts its cost.
    private func measure(_ body: (ZoneReader) throws -> Void) throws -> StepCost {
        let choice = DatabaseChoice(
            container: "iCloud.default", owner: PersonArgument("anna"), isPublic: false, zone: nil)
        let session = try StoreSession(at: "\(directory.path)/store", choice, .reading)
        defer { session.close() }
        let zone = try session.zone(ZoneName("home"))
        // From here on the zone is found without a read.
        try session.read(zone) { _ in }
        return try StepCost.measuring(session) { try session.read(zone, body) }.cost
    }

    @Test("looking up a path reports how many records of each folder on the way were read, and of how many at most")
    func told() throws {
        let expected: [(path: String, told: [String])] = [
            ("/wide/child 9", ["/wide/child 9: 256 of 602"]),
            ("/wide/child 7/child 9", ["/wide/child 7: 256 of 602", "/wide/child 7/child 9: 256 of 602"]),
            // Records without parent have no list of their own, so all records are read.
            ("/Aside", ["/Aside: 256 of 602", "/Aside: 512 of 602"]),
        ]
        #expect(Self.recordCount == 602)
        for (path, lines) in expected {
            var told: [String] = []
            _ = try measure { zone in
                _ = try zone.resolve(RecordArgument(path: path)) { told.append("\($0): \($1) of \($2)") }
            }
            #expect(told == lines, "\(path)")
        }
        var told: [String] = []
        #expect(throws: ToolError.self) {
            _ = try measure { zone in
                _ = try zone.resolve(RecordArgument(path: "/wide/none/child 9")) {
                    told.append("\($0): \($1) of \($2)")
                }
            }
        }
        #expect(told == ["/wide/none: 256 of 602"])
    }

    @Test("a record name, and a top-level record with that name, cost one read and report nothing")
    func foundAtOnce() throws {
        for text in ["wide-7-9", "name:wide-7-9", "/wide"] {
            let address = try #require(RecordArgument(argument: text))
            var told: [String] = []
            let cost = try measure { zone in
                let name = try zone.resolve(address) { told.append("\($0): \($1) of \($2)") }
                #expect(name.text == (text == "/wide" ? "wide" : "wide-7-9"))
            }
            #expect(cost.work.reads == 1, "\(text)")
            #expect(cost.work.cursorSteps == 0, "\(text)")
            #expect(told.isEmpty, "\(text)")
        }
    }

    @Test("descendants of a path are listed without reading the folders on the way again")
    func goneOverOnce() throws {
        let folder = RecordArgument(path: "/wide/child 7")
        let console = Console(usesJSON: false)
        // Those of `wide`, to find the folder, and those of the folder itself.
        let lookedCount = 2 * Self.childCount
        for recursive in [false, true] {
            var children = Children()
            (children.record, children.recursive, children.count) = (folder, recursive, true)
            let cost = try measure { zone in
                let listedCount = try children.list(zone, .all, console)
                #expect(listedCount == Self.childCount)
            }
            #expect(cost.work.cursorSteps == lookedCount, "children, recursive: \(recursive)")
        }
        var list = List()
        (list.record, list.names) = (folder, false)
        let cost = try measure { try list.list($0, .all, console) }
        #expect(cost.work.cursorSteps == lookedCount, "ls")
    }
}
