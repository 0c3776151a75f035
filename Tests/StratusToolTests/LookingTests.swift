// The progress of verbs over the records that they read: each is reported once, whether or not the person sees it.

import Foundation
import StratusKit
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@testable import stratus

@Suite("records that verbs read")
struct LookingTests {
    /// Records of the household with its two shares, and those below its home.
    private static let recordCount = 85
    private static let belowHomeCount = 82
    private static let photoCount = 60
    /// The home and the shares have nothing above them.
    private static let topCount = 3
    /// Roots of shares below the home, which a participant does not see.
    private static let rootCount = 2

    private let directory: TestDirectory
    private var path: String { "\(directory.path)/store" }

    init() throws { directory = try TestDirectory() }

    private static func open(_ path: String) throws -> StoreSession {
        let choice = DatabaseChoice(
            container: "iCloud.default", owner: PersonArgument("anna"), isPublic: false, zone: nil)
        return try StoreSession(at: path, choice, .readingAsClient)
    }

    /// Opens the household, and passes to `body` what everyone, or one person, sees of it.
    private func look(
        as person: String?, _ body: (_ zone: ZoneReader, _ sight: Sight) throws -> Void
    ) throws {
        let session = try Self.open(path)
        defer { session.close() }
        let zone = try session.zone(ZoneName("home"))
        var sight = Sight.all
        if let person {
            let user = try session.person(PersonArgument(person)).userName
            sight = Sight(service: try session.service, zone: zone, user: user)
        }
        try session.read(zone) { try body($0, sight) }
    }

    @Test("a picture for a participant reads each top and each root of a share once, and reports it")
    func tops() async throws {
        try await PictureStore.makeHousehold(at: path)
        let expected: [(person: String?, tops: [String], lookedCount: Int)] = [
            (nil, ["home"], Self.topCount), ("anna", ["home"], Self.topCount),
            ("dora", ["photos"], Self.topCount + Self.rootCount), ("cleo", [], Self.topCount + Self.rootCount),
        ]
        for (person, tops, lookedCount) in expected {
            var looked = 0
            var seen: [String] = []
            try look(as: person) { zone, sight in
                let source = ZonePictures(zone: zone, sight: sight)
                try source.visitChildren(of: nil, didLook: { looked += 1 }) { child in
                    seen.append(child.name.text)
                }
            }
            #expect(seen == tops, "\(person ?? "everybody")")
            #expect(looked == lookedCount, "\(person ?? "everybody")")
        }
    }

    @Test("a picture counts a record's descendants, including its children, and reports each that it reads")
    func below() async throws {
        try await PictureStore.makeHousehold(at: path)
        let expected: [(person: String?, name: String, children: Int, all: Int, lookedCount: Int)] = [
            (nil, "home", 3, Self.belowHomeCount, Self.belowHomeCount),
            (nil, "photos", Self.photoCount, Self.photoCount, Self.photoCount),
            ("dora", "photos", Self.photoCount, Self.photoCount, Self.photoCount), ("dora", "home", 0, 0, 3),
        ]
        for (person, name, children, all, lookedCount) in expected {
            var (counted, visited) = (0, 0)
            try look(as: person) { zone, sight in
                let source = ZonePictures(zone: zone, sight: sight)
                let count = try source.recordCount(below: RecordName(name)) { counted += 1 }
                #expect(count.children == children, "\(name)")
                #expect(count.all == all, "\(name)")
                try source.visitChildren(of: RecordName(name), didLook: { visited += 1 }) { _ in }
            }
            #expect(counted == lookedCount, "\(name)")
            #expect(visited == (name == "home" ? 3 : Self.photoCount), "\(name)")
        }
    }

    @Test("listing below an address at any depth reports each record that is read, up to all of them")
    func allBelow() async throws {
        try await PictureStore.makeHousehold(at: path)
        let guestsLookedCount = Self.topCount + Self.rootCount + Self.photoCount
        let expected: [(person: String?, listedCount: Int, lookedCount: Int)] = [
            (nil, Self.recordCount, Self.recordCount), ("dora", 2 + Self.photoCount, guestsLookedCount),
        ]
        for (person, listedCount, lookedCount) in expected {
            var looked = 0
            var listed: [String] = []
            try look(as: person) { zone, sight in
                try zone.visitAllSeen(below: nil, sight, looking: { looked += 1 }) { child, parent, _ in
                    listed.append("\(parent?.text ?? "") / \(child.name.text)")
                }
            }
            #expect(looked == lookedCount)
            #expect(listed.count == listedCount)
            #expect(Set(listed).count == listedCount)
            #expect(listed.contains("photos / photo-101"))
            #expect(listed.contains(" / share-photos"))
            #expect(listed.contains(person == nil ? "holiday / photos" : " / photos"))
        }
        var listed: [String] = []
        try look(as: nil) { zone, sight in
            let folder = try zone.resolve(RecordArgument(path: "/Home/Holiday"), looking: { _, _, _ in })
            try zone.visitAllSeen(below: folder, sight) { child, parent, _ in
                if parent?.text == "holiday" { listed.append(child.name.text) }
            }
        }
        #expect(listed == ["packing", "photos"])
    }

    /// A query's progress over the items for each page, done and bound, and how many it finds of how many records.
    private func pages(
        where format: String, isBackward: Bool = false, limit: Int = 0
    ) async throws -> (told: [[Int]], foundCount: Int, recordCount: Int) {
        try await TestThreads.offPool { [path] () -> (told: [[Int]], foundCount: Int, recordCount: Int) in
            let session = try Self.open(path)
            defer { session.close() }
            let zone = try session.zone(ZoneName("home"))
            let recordCount = try session.read(zone) { try Int(clamping: $0.header().recordCount) }
            let client = try session.client(of: zone)
            let query = CKQuery(recordType: "Item", predicate: NSPredicate(format: format, argumentArray: []))
            if isBackward { query.sortDescriptors = [NSSortDescriptor(key: "recordName", ascending: false)] }
            var told: [[Int]] = []
            var foundCount = 0
            try client.visitResults(
                of: query, limit: limit, recordCount: recordCount, didFetch: { told.append([$0, $1]) }
            ) { _ in
                foundCount += 1
            }
            return (told, foundCount, recordCount)
        }
    }

    @Test("[Q-14] a query reports after each page how many records are done, of at most those of the zone")
    func queryInOrder() async throws {
        try await PictureStore.makeHostile(at: path)
        let itemCount = 300 + PictureStore.hostileNames.count
        // A page has 200 results unless another number is requested.
        let all = try await pages(where: "TRUEPREDICATE")
        #expect(all.recordCount > itemCount)
        #expect(all.told == [[200, all.recordCount], [itemCount, all.recordCount]])
        #expect(all.foundCount == itemCount)
        // Without 1, 10 to 19 and 100 to 199: all items behind the two hundredth result are results.
        let some = try await pages(where: "NOT name BEGINSWITH 'one of many 1'")
        #expect(some.foundCount == itemCount - 111)
        let firstDone = itemCount - (some.foundCount - 200)
        #expect(some.told == [[firstDone, some.recordCount], [itemCount, some.recordCount]])
        let first = try await pages(where: "TRUEPREDICATE", limit: 250)
        #expect(first.told == [[250, first.recordCount]])
        #expect(first.foundCount == 250)
        let none = try await pages(where: "FALSEPREDICATE")
        #expect(none.told == [[0, none.recordCount]])
        #expect(none.foundCount == 0)
    }

    @Test("[Q-13] a query in an order without an index reports its results, and the most that each page may read")
    func queryPickedFromAll() async throws {
        try await PictureStore.makeHostile(at: path)
        let itemCount = 300 + PictureStore.hostileNames.count
        let all = try await pages(where: "TRUEPREDICATE", isBackward: true)
        #expect(all.told == [[200, itemCount], [itemCount, itemCount]])
        #expect(all.foundCount == itemCount)
        let first = try await pages(where: "TRUEPREDICATE", isBackward: true, limit: 250)
        #expect(first.told == [[250, 250]])
        #expect(first.foundCount == 250)
    }
}
