// Reports and pictures of whole stores, as the tool writes them.

import Foundation
import Testing

@testable import stratus

@Suite("reports and pictures of stores")
struct ReportTests {
    let directory: TestDirectory

    init() throws { directory = try TestDirectory() }

    private func run(_ line: String) async throws -> ToolRun {
        try await ToolRun.shell("\"$TOOL\" \(line) --store store", in: directory)
    }

    private func text(_ name: String) throws -> String {
        try String(contentsOf: URL(fileURLWithPath: "\(directory.path)/\(name)"), encoding: .utf8)
    }

    @Test("the picture in the README is what the tool draws")
    func household() async throws {
        try await PictureStore.makeHousehold(at: "\(directory.path)/store")
        let drawn = try await run("tree / --owner anna --zone home --format svg --nodes 40")
        #expect(drawn.status == 0, "\(drawn.errors)")
        var file = URL(fileURLWithPath: #filePath)
        for _ in 0..<3 { file.deleteLastPathComponent() }
        file.append(path: "Docs/Pictures/household.svg")
        if ProcessInfo.processInfo.environment["STRATUS_RECORD"] == "1" {
            try Data(drawn.output.utf8).write(to: file)
        }
        #expect(try String(contentsOf: file, encoding: .utf8) == drawn.output)
        _ = try MarkupScanner(drawn.output)
    }

    @Test("hostile names appear unchanged in every format, and never as markup")
    func hostileNames() async throws {
        try await PictureStore.makeHostile(at: "\(directory.path)/store")
        let place = "--owner anna --zone home"
        let page = try MarkupScanner(try await run("tree / \(place) --format html --nodes 2400").output)
        let picture = try await run("tree / \(place) --format svg --nodes 400")
        let drawn = try MarkupScanner(picture.output)
        let graph = try await run("tree / \(place) --format dot --nodes 400")
        let strings = try DOTScanner(graph.output).strings.joined(separator: "\n")
        let report = try MarkupScanner(try await run("report --verify").output)
        for name in PictureStore.hostileNames {
            #expect(page.text.contains(name.shown), "\(name.shown)")
            #expect(drawn.text.contains(name.shown), "\(name.shown)")
            #expect(strings.contains(name.shown), "\(name.shown)")
        }
        for words in [page, report] {
            #expect(Set(words.elements).isDisjoint(with: ["script", "img", "i", "b"]))
            #expect(words.text.contains("<i>eve</i> \"quoted\""))
            #expect(words.text.contains("S\"2'&"))
        }
        let seen = try await run(#"report --as 'id:<i>eve</i> "quoted"'"#)
        let hers = try MarkupScanner(seen.output)
        #expect(Set(hers.elements).isDisjoint(with: ["script", "img", "i", "b"]))
        #expect(hers.text.contains("What id:<i>eve</i> \"quoted\" sees"))
        #expect(hers.text.contains("S\"2'&"))
        #expect(!hers.text.contains("mallory"))
        #expect(!hers.text.contains("a record name with markup"))
        #expect(page.text.contains("… "))
        #expect(page.text.contains("stratus tree "))
        #expect(report.text.contains("✓ Verified"))
        let drawing = try await ToolRun.shell(
            "command -v dot > /dev/null || exit 0; \"$TOOL\" tree / \(place) --format dot --store store | dot -Tsvg > g.svg",
            in: directory)
        #expect(drawing.status == 0, "\(drawing.errors)")
        #expect(!drawing.errors.contains("Error"), "\(drawing.errors)")
    }

    @Test("a report counts the contents of assets by owner, each content once")
    func contents() async throws {
        let made = try await ToolRun.shell(
            """
            printf 1234567890 > ten; printf 12345 > five
            for owner in anna '<b>'; do
              "$TOOL" zones create --owner "$owner" --store store
              for name in a b; do "$TOOL" put $name --type T --set x:asset=ten --owner "$owner" --store store; done
            done
            "$TOOL" put c --type T --set x:asset=five --owner anna --store store
            """, in: directory)
        try #require(made.status == 0, "\(made.errors)")
        let told = try await run("report --output report.html --json").object()
        #expect(told["contents"] as? Int == 3)
        #expect(told["contentBytes"] as? Int == 25)
        let page = try MarkupScanner(try text("report.html"))
        #expect(page.text.contains("Asset contents"))
        #expect(page.text.contains("<b>"))
        #expect(!page.elements.contains("b"))
        // The largest first: anna has 15 bytes, the other 10.
        let (anna, other) = (page.text.range(of: "anna2"), page.text.range(of: "<b>1"))
        #expect(try #require(anna).lowerBound < #require(other).lowerBound, "\(page.text)")
    }

    @Test("the acting person's picture contains what they see and nothing else")
    func sight() async throws {
        try await PictureStore.makeHousehold(at: "\(directory.path)/store")
        let dora = try MarkupScanner(try await run("tree / --owner anna --zone home --as dora --format html").output)
        #expect(dora.text.contains("Photos of the coast"))
        #expect(dora.text.contains("share-photos"))
        for secret in ["Groceries", "Holiday", "Diary", "share-groceries", "cleo", "ben@", "id:anna"] {
            #expect(!dora.text.contains(secret), "\(secret)")
        }
        #expect(dora.text.contains("61 records"))
        let nobody = try await run("tree / --owner anna --zone home --as mallory --format svg")
        #expect(nobody.status == 3)
        let cleo = try await run("tree / --owner anna --zone home --as cleo --format dot")
        #expect(cleo.output.contains("0 records, no share"))
    }

    @Test("[X-15] a report for a person shows what they see, and no other name, zone, person or count")
    func seenByOne() async throws {
        try await PictureStore.makeHousehold(at: "\(directory.path)/store")
        let made = try await run("report --as dora --output dora.html --json")
        #expect(made.status == 0, "\(made.errors)")
        let told = try made.object()
        #expect(told["as"] as? String == "dora")
        #expect(told["accounts"] == nil)
        #expect(told["contents"] == nil)
        #expect(told["records"] as? Int == 62)
        #expect(told["zones"] as? Int == 1)
        #expect(told["shares"] as? Int == 1)
        let page = try MarkupScanner(try text("dora.html")).text
        for expected in [
            "What dora sees", "Photos of the coast", "share-photos", "Photo", "Album", "read only",
            "The deepest record is at level 1",
        ] {
            #expect(page.contains(expected), "\(expected)")
        }
        let hidden = [
            "Groceries", "groceries", "Holiday", "Packing", "Diary", "List", "Folder", "Item", "id:anna", "cleo",
            "ben@", "anna@", "account", "Deleted", "deletion", "Sequence", "writes", "Horizon", "LevelDB", "verified",
            "Asset contents", directory.path,
        ]
        for word in hidden { #expect(!page.contains(word), "\(word)") }
        let users = try await userNames()
        let (anna, ben, cleo) = (users["anna"] ?? "?", users["ben"] ?? "?", users["cleo"] ?? "?")
        #expect(page.contains("user:\(anna)"))
        #expect(page.contains("user:\(ben)"))
        #expect(cleo.hasPrefix("_"))
        #expect(!page.contains(cleo))
        // She may know her own identifier, and no one else may.
        #expect(page.contains("dora"))
        #expect(!page.contains("id:ben"))

        // Changes outside her view do not change the page.
        try await PictureStore.changeBeside(at: "\(directory.path)/store")
        #expect(try await run("report --as dora --output later.html").status == 0)
        let (before, after) = (try text("dora.html"), try text("later.html"))
        #expect(Self.withoutDate(before) == Self.withoutDate(after))
        #expect(try await run("report").output.contains("Secret plans"))
    }

    @Test("a report for a person ends with their view: the invited see nothing, the owner all that is theirs")
    func seenByOthers() async throws {
        try await PictureStore.makeHousehold(at: "\(directory.path)/store")
        #expect(try await seenCounts("cleo") == [0, 0, 0])
        #expect(try !text("page.html").contains("roceries"))
        #expect(try await seenCounts("ben") == [67, 1, 2])
        // A participant sees people who have accepted, and not cleo, who has not.
        let cleo = try #require(try await userNames()["cleo"])
        #expect(try !text("page.html").contains(cleo))
        #expect(try await seenCounts("anna") == [85, 1, 2])
        let anna = try MarkupScanner(try text("page.html")).text
        #expect(anna.contains("db://iCloud.default/id:anna/home"))
        #expect(anna.contains("cleo@example.com"))
        #expect(!anna.contains("LevelDB"))
        #expect(!anna.contains("id:ben"))
        #expect(try await run("accounts suspend ben").status == 0)
        #expect(try await seenCounts("ben") == [0, 0, 0])
        #expect(try await run("report --as mallory").status == 3)
        #expect(try await run("report --as anna --verify").status == 2)
    }

    @Test("a report for a person counts the public data that they can read, wherever it is")
    func seenOfPublic() async throws {
        let made = try await ToolRun.shell(
            """
            cat > schema <<'END'
            DEFINE SCHEMA
                RECORD TYPE Board (name STRING, GRANT WRITE TO "_creator", GRANT CREATE TO "_icloud", GRANT READ TO "_world");
                RECORD TYPE Draft (name STRING, GRANT READ, WRITE TO "_creator", GRANT CREATE TO "_icloud");
            END
            set -e
            for one in anna dora; do "$TOOL" init --create-account $one --store store; done
            "$TOOL" schema import schema --store store
            at="--public --zone _defaultZone --store store"
            "$TOOL" put board --type Board --as anna $at
            "$TOOL" put annas-draft --type Draft --under name:board --as anna $at
            "$TOOL" put doras-draft --type Draft --under name:board --as dora $at
            """, in: directory)
        try #require(made.status == 0, "\(made.errors)")
        for (person, count) in [("anna", 2), ("dora", 2)] {
            let told = try await run("report --as \(person) --force --output page.html --json").object()
            #expect(told["records"] as? Int == count)
            #expect(told["zones"] as? Int == 1)
            let page = try MarkupScanner(try text("page.html")).text
            #expect(page.contains("Draft1"), "\(page)")
            #expect(page.contains("Board1"), "\(page)")
            #expect(!page.contains("draft"), "\(page)")
        }
        #expect(try await run("report").output.contains("public"))
    }

    /// Records, zones and shares of a person's report in page.html.
    private func seenCounts(_ person: String) async throws -> [Int?] {
        let told = try await run("report --as \(person) --force --output page.html --json").object()
        return ["records", "zones", "shares"].map { told[$0] as? Int }
    }

    private func userNames() async throws -> [String: String] {
        let accounts = try await run("accounts --json").objects()
        return Dictionary(
            accounts.compactMap { one in
                (one["externalID"] as? String).flatMap { id in (one["user"] as? String).map { (id, $0) } }
            }, uniquingKeysWith: { first, _ in first })
    }

    /// The page without the line with its date.
    private static func withoutDate(_ page: String) -> [Substring] {
        page.split(separator: "\n").filter { !$0.contains("as of 20") }
    }

    @Test("a report counts what exists, and shows URLs of shares only on request")
    func report() async throws {
        try await PictureStore.makeHousehold(at: "\(directory.path)/store")
        let made = try await run("report --output report.html --json")
        #expect(made.status == 0, "\(made.errors)")
        let told = try made.object()
        #expect(told["records"] as? Int == 85)
        #expect(told["shares"] as? Int == 2)
        #expect(told["zones"] as? Int == 1)
        #expect(told["verified"] as? Bool == false)
        #expect(told["clean"] is NSNull)
        let page = try text("report.html")
        let words = try MarkupScanner(page).text
        for expected in [
            "Not verified", "read, write", "read only", "invited", "Photo", "db://iCloud.default/id:anna/home",
            "The deepest record is at level 3", "cloudkit.share",
        ] {
            #expect(words.contains(expected), "\(expected)")
        }
        let shares = try await run("share show name:share-photos --url --json --owner anna --zone home").object()
        let url = try #require(shares["url"] as? String)
        let secret = try #require(url.split(separator: "/").last)
        #expect(!page.contains(secret))
        #expect(try await run("report --url").output.contains(secret))
        for format in ["svg", "html", "dot"] {
            let drawn = try await run("tree / --owner anna --zone home --format \(format)")
            #expect(drawn.status == 0)
            #expect(!drawn.output.contains(secret))
        }
    }

    @Test("a page allows only its own style, and loads nothing")
    func policy() async throws {
        try await PictureStore.makeHousehold(at: "\(directory.path)/store")
        for line in ["report", "tree / --owner anna --zone home --format html"] {
            let page = try await run(line).output
            let scanned = try MarkupScanner(page)
            let policy = try #require(scanned.attributes["meta.content"]?.first)
            #expect(policy.hasPrefix("default-src 'none'; style-src 'sha256-"))
            #expect(!policy.contains("unsafe"))
            for attribute in scanned.attributes.keys {
                #expect(!["src", "href", "style"].contains(attribute.split(separator: ".").last), "\(attribute)")
            }
            #expect(!page.contains("url("))
            #expect(!page.contains("@import"))
            #expect(!page.contains("http:"))
        }
    }

    @Test("a file is created completely or not at all, replaced only on request, and private")
    func files() async throws {
        try await PictureStore.makeHousehold(at: "\(directory.path)/store")
        let line = "tree / --owner anna --zone home --format svg --output picture.svg"
        #expect(try await run(line).status == 0)
        let first = try text("picture.svg")
        let facts = try Disk.facts(of: directory.bytes(of: "picture.svg"))
        #expect(facts.permissions == 0o600)
        let refused = try await run(line)
        #expect(refused.status == 1)
        #expect(refused.errors.contains("--force"))
        #expect(try await run("\(line) --force --nodes 1").status == 0)
        #expect(try text("picture.svg") != first)
        #expect(try await run("report --output store").status == 1)
        #expect(try await run("report --output none/report.html").status == 3)
        let left = try FileManager.default.contentsOfDirectory(atPath: directory.path)
        #expect(left.sorted() == ["picture.svg", "store"])
    }

    @Test("contradictory arguments are refused before anything is read")
    func usage() async throws {
        for line in [
            "tree / --format png", "tree / --nodes 5", "tree / --output x", "tree / --format svg --json",
            "tree / --format svg --nodes 0", "tree / --format svg --nodes 20001", "tree / --format svg --open 1",
            "report --json",
        ] {
            #expect(try await run(line).status == 2, "\(line)")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
    }

    // MARK: Pure parts

    @Test("levels and widths are counted as records stream by")
    func shape() {
        var shape = HierarchyShape()
        for depth in [0, 1, 2, 2, 2, 1, 0, 0, 1] { shape.note(depth: depth) }
        shape.finish()
        #expect(shape.levels == [3, 3, 3])
        #expect(shape.folderCount == 3)
        #expect(shape.widest == 3)
        #expect(shape.deepestLevel == 2)
        #expect(shape.fanOutRows.map(\.title) == ["1", "2 to 3"])
        #expect(shape.fanOutRows.map(\.count) == [1, 2])
        for depth in 0..<200 { shape.note(depth: depth) }
        shape.finish()
        #expect(shape.levelRows.count == HierarchyShape.toldLevelCount + 1)
        #expect(shape.levelRows.map(\.count).reduce(0, +) == 209)
    }

    @Test("the descendants of an uncounted record begin at the first level, and are no one's children")
    func shapeWithGaps() {
        var shape = HierarchyShape()
        let records: [(depth: Int, counts: Bool)] = [
            (0, true), (1, false), (2, true), (3, true), (2, true), (1, true), (0, false), (1, false), (2, true),
        ]
        for record in records { shape.note(depth: record.depth, counts: record.counts) }
        shape.finish()
        #expect(shape.levels == [4, 2])
        #expect(shape.recordCount == 6)
        #expect(shape.folderCount == 2)
        #expect(shape.widest == 1)
    }

    @Test("a histogram of any dates has a bounded number of bars and loses nothing")
    func histogram() {
        let day = 86_400.0
        for span in [0.5, 59, 3_600, day * 9, day * 365 * 30, day * 365 * 5_000] as [Double] {
            var histogram = TimeHistogram()
            for step in 0..<1_000 {
                let place = Double((step * 7_919) % 1_000) / 1_000 - 0.5
                let date = Date(timeIntervalSinceReferenceDate: span * place)
                histogram.note(date, isDeletion: step.isMultiple(of: 10))
            }
            let rows = histogram.rows
            #expect(rows.count <= TimeHistogram.barCount, "\(span)")
            #expect(rows.reduce(0) { $0 + $1.bar.saved } == 900)
            #expect(rows.reduce(0) { $0 + $1.bar.deleted } == 100)
            #expect(zip(rows, rows.dropFirst()).allSatisfy { $0.start < $1.start })
        }
        var extremes = TimeHistogram()
        for seconds in [Double.infinity, -.infinity, .nan, 1e300, 0] {
            extremes.note(Date(timeIntervalSinceReferenceDate: seconds))
        }
        #expect(extremes.rows.reduce(0) { $0 + $1.bar.saved } == 5)
        #expect(
            TimeHistogram.widths.indices.dropFirst().allSatisfy { index in
                TimeHistogram.widths[index].isMultiple(of: TimeHistogram.widths[index - 1])
            })
    }

    @Test("LevelDB's list of tables is summed up by level, for any keys")
    func levels() {
        let list = """
            --- level 0 ---
             12:1000['a:9[' @ 5 : 1 .. '--- level 3 ---' @ 3 : 1]
             13:24['b' @ 5 : 1 .. 'c' @ 3 : 1]
            --- level 1 ---
            --- level 2 ---
             7:5['\\n 9:99[' @ 1 : 1 .. 'z' @ 1 : 1]

            """
        #expect(StoreFiles.bytesByLevel(list, levelCount: 3) == [1_024, 0, 5])
    }

    @Test("zones beyond the number listed individually are reported together, the smallest ones")
    func manyZones() {
        var report = StoreReport(path: "p", date: Date(timeIntervalSinceReferenceDate: 0), isCopy: false)
        for number in 0..<(StoreReport.zoneCount + 25) {
            report.add(
                StoreReport.Zone(address: "z\(number)", recordCount: number, fileByteCount: 1, sequence: 2, horizon: 0))
        }
        #expect(report.zones.count == StoreReport.zoneCount)
        #expect(report.otherZoneCount == 25)
        #expect(report.otherZones.recordCount == (0..<25).reduce(0, +))
        #expect(report.otherZones.sequence == 50)
        #expect(report.recordCount == (0..<75).reduce(0, +))
        #expect(throws: Never.self) { try MarkupScanner(ReportPage.text(of: report)) }
    }
}
