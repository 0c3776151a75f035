// A store that the first format wrote, frozen in the folder Frozen: it represents existing stores.

import Foundation
import StratusKit
import Testing

@Suite("stores of older formats")
struct MigrationTests {
    let directory: TestDirectory

    init() throws {
        directory = try TestDirectory()
        let frozen = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Frozen/format-1")
        try FileManager.default.copyItem(atPath: frozen.path, toPath: "\(directory.path)/store")
    }

    private func shell(_ script: String) async throws -> ToolRun { try await ToolRun.shell(script, in: directory) }

    private var marker: String {
        get throws { try String(contentsOfFile: "\(directory.path)/store/STRATUS", encoding: .utf8) }
    }

    @Test("[X-31] reading verbs read it without changing it; writing verbs refuse it until it is migrated")
    func verbs() async throws {
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
            run.lines == Array(repeating: ["4", "1"], count: 6).flatMap { $0 } + ["0", "stratus store", "format 1"],
            "\(run.output) \(run.errors)")
        #expect(try marker == "stratus store\nformat 1\n")
    }

    @Test("[X-31] migrate updates the format once, loses nothing, and its types count as learnt")
    func migrate() async throws {
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
        #expect(lines[0].contains("\"format\":2,\"migratedFrom\":1"))
        #expect(lines[1].contains("\"format\":2,\"migratedFrom\":null"))
        #expect(lines[2] == "same")
        #expect(lines[3] == "verify: 0 missing, 0 dangling, 0 wrong counts")
        #expect(lines[4] == "0")
        #expect(lines[5] == "\"imported\":[]")
        #expect(lines[6] == "2")
        #expect(lines[7] == "\"imported\":[\"Note\"]")
        #expect(lines[8] == lines[7])
        #expect(try marker == "stratus store\nformat 2\n")
    }

    @Test("[X-31] a host migrates it when opening it, also if a migration was interrupted before its marker")
    func host() async throws {
        for isCutOff in [false, true] {
            if isCutOff {
                try Data("stratus store\nformat 1\n".utf8).write(
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
            #expect(try marker == "stratus store\nformat 2\n")
        }
    }
}
