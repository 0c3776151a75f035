// Stores that earlier formats wrote, frozen in the folder Frozen: they represent existing stores.

import Foundation
import StratusKit
import Testing

@Suite("stores of older formats")
struct MigrationTests {
    static let formats = [1, 2]

    let directory: TestDirectory

    init() throws { directory = try TestDirectory() }

    /// Puts the store of an earlier format into the directory.
    private func thaw(_ format: Int) throws {
        let frozen = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Frozen/format-\(format)")
        try FileManager.default.copyItem(atPath: frozen.path, toPath: "\(directory.path)/store")
    }

    private func shell(_ script: String) async throws -> ToolRun { try await ToolRun.shell(script, in: directory) }

    private var marker: String {
        get throws { try String(contentsOfFile: "\(directory.path)/store/STRATUS", encoding: .utf8) }
    }

    @Test(
        "[X-31] reading verbs read it without changing it; writing verbs refuse it until it is migrated",
        arguments: formats)
    func verbs(format: Int) async throws {
        try thaw(format)
        let run = try await shell(
            """
            for verb in "get page --zone notes" "ls / --zone notes" "tree / --zone notes" "query Note --zone notes" stats \\
                verify "export -" accounts schema "share show name:folder --zone notes"; do
                "$TOOL" $verb --store store > out 2> errors || { echo "failed: $verb"; cat errors; }
            done
            for verb in "put page --set title=new --zone notes" "zones create --zone more" "rm page --force --zone notes" \\
                "compact" "rebuild --zone notes" "reset --force"; do
                "$TOOL" $verb --store store > out 2> errors; echo $?
                grep -c "migrate it first" errors
            done
            "$TOOL" backup copy --store store > out; echo $?
            cat copy/STRATUS
            """)
        #expect(
            run.lines == Array(repeating: ["4", "1"], count: 6).flatMap { $0 } + [
                "0", "stratus store", "format \(format)",
            ],
            "\(run.output) \(run.errors)")
        #expect(try marker == "stratus store\nformat \(format)\n")
    }

    @Test("[X-31] migrate updates the format once, loses nothing, and its types count as learnt", arguments: formats)
    func migrate(format: Int) async throws {
        try thaw(format)
        let run = try await shell(
            """
            "$TOOL" export - --secrets --store store 2> notes > before
            "$TOOL" migrate --json --store store; "$TOOL" migrate --json --store store
            "$TOOL" export - --secrets --store store 2> notes | cmp - before && echo same
            "$TOOL" verify --store store | tail -1
            "$TOOL" query Note --where "nothing = 1" --zone notes --store store > out; echo $?
            grep -o '"imported":[^}]*' before
            printf 'DEFINE SCHEMA RECORD TYPE Note (title STRING QUERYABLE, count INT64, file ASSET);' > schema
            "$TOOL" schema import schema --store store > out
            "$TOOL" query Note --where "nothing = 1" --zone notes --store store 2> errors; echo $?
            "$TOOL" export all --store store > out; "$TOOL" import all --store other > out
            for store in store other; do "$TOOL" export - --store $store 2> notes | grep -o '"imported":[^}]*'; done
            """)
        let lines = run.lines
        try #require(lines.count == 9, "\(run.output) \(run.errors)")
        #expect(lines[0].contains("\"format\":3,\"migratedFrom\":\(format)"))
        #expect(lines[1].contains("\"format\":3,\"migratedFrom\":null"))
        #expect(lines[2] == "same")
        #expect(lines[3] == "verify: 0 missing, 0 dangling, 0 wrong counts")
        #expect(lines[4] == "0")
        #expect(lines[5] == "\"imported\":[]")
        #expect(lines[6] == "2")
        #expect(lines[7] == "\"imported\":[\"Note\"]")
        #expect(lines[8] == lines[7])
        #expect(try marker == "stratus store\nformat 3\n")
    }

    @Test(
        "[X-31] a host migrates it when opening it, also if a migration was interrupted before its marker",
        arguments: formats)
    func host(format: Int) async throws {
        try thaw(format)
        for isCutOff in [false, true] {
            if isCutOff {
                try Data("stratus store\nformat \(format)\n".utf8).write(
                    to: URL(fileURLWithPath: "\(directory.path)/store/STRATUS"))
            }
            var options = Stratus.Options()
            options.logger = nil
            let store = try await Stratus.open(at: URL(fileURLWithPath: "\(directory.path)/store"), options: options)
            defer { store.close() }
            let account = try await store.account(externalID: "local", createIfMissing: .init())
            let database = store.container("iCloud.default", signedInAs: account).privateCloudDatabase
            let id = CKRecord.ID(recordName: "page", zoneID: CKRecordZone.ID(zoneName: "notes"))
            let record = try await database.record(for: id)
            #expect(record["title"] as? String == "Page")
            #expect(record["count"] as? Int == 3)
            let file = try #require((record["file"] as? CKAsset)?.fileURL)
            #expect(try String(contentsOf: file, encoding: .utf8) == "content\n")
            #expect(try marker == "stratus store\nformat 3\n")
        }
    }

    @Test("[X-31][D-06] a participant's feed goes on after the migration, over entries of both formats")
    func guestFeed() async throws {
        try thaw(2)
        let token = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Frozen/format-2-token")
        try FileManager.default.copyItem(atPath: token.path, toPath: "\(directory.path)/token")
        let run = try await shell(
            """
            changes() {
                "$TOOL" changes --as bob --zone notes --store store --since "$(cat token)" 2> notes | grep -v token |
                    awk '{ print $1, $NF }'
            }
            entries() { "$TOOL" keys "db 1 / zone 1 / changes" --store store 2> notes | cut -d= -f2 | cut -c3-; }
            changes; "$TOOL" migrate --store store > out; changes
            "$TOOL" put attic --set title=Loft --zone notes --store store > out
            "$TOOL" move box --under folder --zone notes --store store > out
            "$TOOL" put new --type Note --under attic --set title=New --zone notes --store store > out
            echo mixed; changes; entries | grep -v Share-; "$TOOL" verify --store store | tail -1
            "$TOOL" rebuild --zone notes --store store > out
            echo rebuilt; entries | grep -v Share-; "$TOOL" verify --store store | tail -1
            """)
        let before = ["saved page", "deleted lamp", "deleted gone"]
        let deletion = #"deleted "gone", type "Note", parent "folder""#
        let newEntries = [
            #"saved "attic", no parent"#, #"saved "box", parent "folder""#, #"saved "new", parent "attic""#,
        ]
        let verified = "verify: 0 missing, 0 dangling, 0 wrong counts"
        let mixed = ["saved page", "saved box", "deleted lamp", "deleted gone"]
        let oldEntries = [#"saved "folder""#, #"saved "page""#, #"saved "lamp""#, deletion]
        // The root of a share is looked up in any format.
        let rebuilt = [
            #"saved "folder""#, #"saved "page", parent "folder""#, #"saved "lamp", parent "attic""#, deletion,
        ]
        let wanted = [
            before, before, ["mixed"], mixed, oldEntries + newEntries, [verified], ["rebuilt"],
            rebuilt + newEntries, [verified],
        ]
        #expect(run.lines == wanted.flatMap { $0 }, "\(run.output) \(run.errors)")
    }
}
