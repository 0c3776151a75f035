// Verbs on a store on PostgreSQL: copies in both directions, reading beside a host, and what waits for the lease.

import Foundation
import StratusKit
import StratusLayout
import StratusPostgres
import StratusStore
import StratusTestSupport
import Testing

@testable import stratus

@Suite("verbs on PostgreSQL", .enabled(if: PostgresTestStore.isServerThere))
struct ServerVerbTests {
    private let directory: TestDirectory
    private let place: PostgresTestStore

    init() async throws {
        directory = try TestDirectory()
        place = try PostgresTestStore()
    }

    /// Runs a script in which $URL is the store on the server.
    private func shell(_ script: String) async throws -> ToolRun {
        try await ToolRun.shell("URL='\(place.url)'\n\(script)", in: directory)
    }

    private func fill() async throws {
        try await directory.importTree()
        let done = try await shell(
            """
            "$TOOL" accounts create bob --email bob@example.com --store store > done &&
            "$TOOL" invite /tree/a bob@example.com --store store >> done &&
            "$TOOL" zones create --zone notes --store store >> done &&
            "$TOOL" put note-1 --type Note --set title=x --zone notes --store store >> done
            """)
        try #require(done.status == 0, "\(done.errors)")
    }

    @Test("a store goes to a server and comes back, and exports to the same bytes everywhere")
    func copies() async throws {
        try await fill()
        let there = try await shell("\"$TOOL\" copy store \"$URL\" --json")
        #expect(there.status == 0, "\(there.errors)")
        let back = try await shell("\"$TOOL\" copy \"$URL\" other --json")
        #expect(back.status == 0, "\(back.errors)")
        #expect(try back.object()["entries"] as? Int == there.object()["entries"] as? Int)
        let compared = try await shell(
            """
            for s in store other; do "$TOOL" export $s.out --secrets --store $s > done || exit 1; done
            "$TOOL" export server.out --secrets --store "$URL" > done || exit 1
            cmp store.out other.out && cmp store.out server.out && "$TOOL" verify --store other
            """)
        #expect(compared.status == 0, "\(compared.output) \(compared.errors)")
    }

    @Test("verbs that read need no lease, and one that writes names the host that has it")
    func besideHost() async throws {
        try await fill()
        try #require(try await shell("\"$TOOL\" copy store \"$URL\"").status == 0)
        let host = try place.open()
        defer { host.close() }
        for line in [
            "stats --count", "report", "verify", "keys", "export out", "accounts", "containers",
            "databases", "zones", "ls /tree", "tree /tree", "get /tree/a", "path /tree/a/one",
            "children /tree", "query Note --zone notes", "participants /tree/a", "who /tree/a",
            "explain /tree/a --as bob", "audit", "changes", "subscriptions", "ls /tree --as local",
            "tree / --format svg --output tree.svg",
        ] {
            let run = try await shell("\"$TOOL\" \(line) --store \"$URL\"")
            #expect(run.status == 0, "\(line): \(run.errors)")
        }
        for line in ["renew-incarnations", "rebuild --zone notes"] {
            let run = try await shell("\"$TOOL\" \(line) --store \"$URL\" --json")
            #expect(run.status == 4, "\(line): \(run.output) \(run.errors)")
            #expect(run.errors.contains("\"held\""), "\(line): \(run.errors)")
        }
    }

    @Test("init grants a role what a host needs and creates an account while hosts have the store open")
    func initBesideHost() async throws {
        var options = Stratus.Options()
        options.logger = nil
        let host = try await Stratus.open(at: place.url, options: options)
        for line in ["init", "init --host-role pg_monitor", "init --create-account alice"] {
            let run = try await shell("\"$TOOL\" \(line) --store \"$URL\" --json")
            #expect(run.status == 0, "\(line): \(run.errors)")
            #expect(try run.object()["created"] as? Bool == false)
        }
        #expect(try await host.account(externalID: "alice") != nil)
        try await TestThreads.offPool { host.close() }
    }

    @Test("an unfinished copy on a server is no store, and is finished with --resume")
    func resumed() async throws {
        try await fill()
        let target = try place.open()
        try target.transact { transaction in
            // As a copy leaves it that ends after its first commit: the mark alone.
            try transaction.set([0x10, 0x10, 0x11, 0x01], to: [2, 2] + [UInt8](repeating: 7, count: 32))
        }
        target.close()
        #expect(try await shell("\"$TOOL\" ls --store \"$URL\"").status == 4)
        let run = try await shell("\"$TOOL\" copy store \"$URL\" --resume")
        #expect(run.errors.contains("another store"), "\(run.errors)")
    }

    @Test("[X-31] verbs read a server's store of an older format, and refuse to write to it until it is migrated")
    func olderFormat() async throws {
        try await fill()
        try #require(try await shell("\"$TOOL\" copy store \"$URL\"").status == 0)
        #expect(try await format(changedTo: 2) == 2)
        for line in ["get note-1 --zone notes", "ls /tree", "verify", "changes --zone notes"] {
            let run = try await shell("\"$TOOL\" \(line) --store \"$URL\"")
            #expect(run.status == 0, "\(line): \(run.errors)")
        }
        for line in ["put note-1 --set title=y --zone notes", "zones create --zone more", "accounts create carol"] {
            let run = try await shell("\"$TOOL\" \(line) --store \"$URL\"")
            #expect(run.status == 4, "\(line): \(run.errors)")
            #expect(run.errors.contains("migrate it first"), "\(line): \(run.errors)")
        }
        #expect(try await format() == 2)
        let migrated = try await shell("\"$TOOL\" migrate --json --store \"$URL\"")
        #expect(try migrated.object()["migratedFrom"] as? Int == 2, "\(migrated.errors)")
        #expect(try await format() == 3)
        let run = try await shell("\"$TOOL\" put note-1 --set title=y --zone notes --store \"$URL\"")
        #expect(run.status == 0, "\(run.errors)")
    }

    /// The format in the store's entry, which is changed before if a number is given.
    private func format(changedTo version: UInt64? = nil) async throws -> UInt64 {
        try await TestThreads.offPool { [place] in
            let store = try place.open()
            defer { store.close() }
            return try store.transact { writer in
                let value = try #require(try writer.value(forKey: GlobalKeys.format()))
                var entry = try FormatEntry(decoding: value.span)
                if let version {
                    entry.version = version
                    try writer.set(GlobalKeys.format(), to: entry.encoded())
                }
                return entry.version
            }
        }
    }

    @Test("incarnations are renewed on a server")
    func renewed() async throws {
        try await fill()
        try #require(try await shell("\"$TOOL\" copy store \"$URL\"").status == 0)
        let before = try await shell("\"$TOOL\" keys --store \"$URL\" | grep -i incarnation")
        let run = try await shell("\"$TOOL\" renew-incarnations --store \"$URL\" --json")
        #expect(run.status == 0, "\(run.errors)")
        let after = try await shell("\"$TOOL\" keys --store \"$URL\" | grep -i incarnation")
        #expect(before.lines.count == 3, "\(before.output)")
        #expect(Set(before.lines).isDisjoint(with: after.lines), "\(after.output)")
    }

    @Test("verbs that write create a store on a server, fill it, and empty it")
    func writing() async throws {
        let run = try await shell(
            """
            "$TOOL" init --create-account me --store "$URL" &&
            "$TOOL" zones create --zone notes --store "$URL" &&
            "$TOOL" put note-1 --type Note --set title=x --zone notes --store "$URL" > done &&
            "$TOOL" query Note --zone notes --store "$URL"
            """)
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.lines.last?.contains("note-1") == true, "\(run.output)")
        let emptied = try await shell("\"$TOOL\" reset --force --store \"$URL\"")
        #expect(emptied.status == 0, "\(emptied.errors)")
        let accounts = try await shell("\"$TOOL\" accounts --store \"$URL\" --json")
        #expect(accounts.status == 0, "\(accounts.errors)")
        #expect(!accounts.output.contains("externalID"), "\(accounts.output)")
    }

    @Test("stats shows the sizes of a server's tables, and the age of the oldest transaction")
    func stats() async throws {
        let filled = try await shell(
            """
            "$TOOL" init --create-account me --store "$URL" &&
            "$TOOL" zones create --zone notes --store "$URL" &&
            "$TOOL" put note-1 --type Note --set title=x --zone notes --store "$URL"
            """)
        try #require(filled.status == 0, "\(filled.errors)")
        let text = try await shell("\"$TOOL\" stats --store \"$URL\"")
        #expect(text.status == 0, "\(text.errors)")
        #expect(text.output.contains("stratus_entries"), "\(text.output)")
        #expect(text.output.contains("oldest transaction: "), "\(text.output)")
        let object = try await shell("\"$TOOL\" stats --json --store \"$URL\"").object()
        let server = try #require(object["server"] as? [String: Any])
        let tables = try #require(server["tables"] as? [[String: Any]])
        #expect(tables.compactMap { $0["table"] as? String }.contains("stratus_contents"))
        let entries = try #require(tables.first { $0["table"] as? String == "stratus_entries" })
        #expect(entries["bytes"] as? Int ?? 0 > 0)
        #expect(entries["indexBytes"] as? Int ?? 0 > 0)
        #expect(server.keys.contains("oldestTransactionSeconds"))
        #expect(server["hiddenConnections"] is Int)
        try await directory.importTree()
        let file = try await shell("\"$TOOL\" stats --json --store store").object()
        #expect(file["server"] is NSNull)
    }

    @Test("a verb that changes what is there creates no store on a server")
    func noStore() async throws {
        let run = try await shell("\"$TOOL\" renew-incarnations --store \"$URL\" --json")
        #expect(run.status == 4, "\(run.errors)")
        #expect(run.errors.contains("notAStore"), "\(run.errors)")
        #expect(try await shell("\"$TOOL\" ls --store \"$URL\"").status == 4)
    }

    // MARK: Assets and long-lived operations

    /// Records with contents of two people: an empty one, one that two records hold, and one of several commits, which
    /// both people have.
    private func fillWithAssets() async throws {
        try await fill()
        let done = try await shell(
            """
            set -e
            : > empty && echo content > small && head -c 5000000 /dev/urandom > large
            "$TOOL" zones create --zone notes --owner bob --store store
            put() { "$TOOL" put "$1" --type Note --set "file:asset=$2" --zone notes --store store "${@:3}"; }
            put a empty; put b small; put c small; put d large; put a large --owner bob; put b small --owner bob
            """)
        try #require(done.status == 0, "\(done.output) \(done.errors)")
    }

    /// The contents of a store, as an import would get them.
    private static let compare = """
        compare() { for s in "$@"; do
          "$TOOL" verify --store "$s" > verified 2>&1 || { cat verified; exit 1; }
          "$TOOL" export copied.out --secrets --store "$s" > done || exit 1
          cmp store.out copied.out && rm copied.out || exit 1
        done; }
        "$TOOL" export store.out --secrets --store store > done || exit 1
        """

    @Test("contents of assets go to a server, to another one and back, and every store exports to the same bytes")
    func contents() async throws {
        try await fillWithAssets()
        let other = try PostgresTestStore()
        let run = try await shell(
            """
            OTHER='\(other.url)'
            "$TOOL" copy store "$URL" --json && "$TOOL" copy "$URL" "$OTHER" --json || exit 1
            "$TOOL" copy "$OTHER" back --json && "$TOOL" copy "$URL" near --json || exit 1
            \(Self.compare)
            compare "$URL" "$OTHER" back near
            """)
        #expect(run.status == 0, "\(run.output) \(run.errors)")
        for object in try run.objects() {
            #expect(object["assets"] as? Int == 5)
            #expect(object["findings"] as? [String] == [])
        }
        let files = try await shell(
            """
            [ ! -e back/assets/incoming ] && [ ! -e back/assets/copies ] && diff -r store/assets/content back/assets/content
            """)
        #expect(files.status == 0, "\(files.output)")
        // Nothing of the verbs is left, and the copy is a store that takes more contents.
        let used = try await shell(
            """
            "$TOOL" put e --type Note --set file:asset=small --zone notes --store "$URL" > done &&
            "$TOOL" put f --type Note --set file:asset=store.out --zone notes --store "$URL" > done &&
            "$TOOL" rm name:d --force --zone notes --store "$URL" > done && "$TOOL" verify --store "$URL"
            """)
        #expect(used.status == 0, "\(used.output) \(used.errors)")
    }

    @Test("a server's store with assets is exported and imported, and a person's verbs return copies")
    func exported() async throws {
        try await fillWithAssets()
        let run = try await shell(
            """
            "$TOOL" copy store "$URL" > done || exit 1
            \(Self.compare)
            "$TOOL" export - --secrets --store "$URL" 2> done | cmp - store.out || exit 1
            "$TOOL" export moved.out --secrets --store "$URL" > done && "$TOOL" import moved.out --store imported > done &&
            "$TOOL" export again.out --secrets --store imported > done && cmp moved.out again.out &&
            "$TOOL" get d --zone notes --as local --store "$URL" > done
            """)
        #expect(run.status == 0, "\(run.output) \(run.errors)")
    }

    @Test("a copy whose source lost a content names its record and leaves no store, and is finished with the content")
    func lostContent() async throws {
        try await fillWithAssets()
        let run = try await shell(
            """
            file=$(find store/assets/content -size +4000k | head -1) && mv "$file" lost
            "$TOOL" copy store "$URL" --json 2> refused; echo $?
            grep -c '"record":"[ad]"' refused; grep -c "$file" refused; grep -c '"zone":"notes"' refused
            "$TOOL" ls --store "$URL" 2> none; echo $?
            mv lost "$file"
            "$TOOL" copy store "$URL" --resume > done; echo $?
            \(Self.compare)
            compare "$URL"; echo $?
            """)
        #expect(run.lines == ["5", "1", "1", "1", "4", "0", "0"], "\(run.output) \(run.errors)")
        let refused = try await shell("cat refused none")
        #expect(refused.output.contains("corruption") && refused.output.contains("--resume"), "\(refused.output)")
    }

    @Test(
        "a copy from a server that is killed at any call is no store, and resumed it is whole",
        arguments: [1, 9, 24])
    func killed(call: Int) async throws {
        try await fillWithAssets()
        let run = try await shell(
            """
            "$TOOL" copy store "$URL" > done || exit 1
            env FILECALLS_KILL=\(call) FILECALLS_UNDER="$PWD/other/assets" LD_PRELOAD=\(FileCallBench.library) \
              "$TOOL" copy "$URL" other > killed 2>&1; echo $?
            "$TOOL" stats --store other > stats 2>&1; echo $?
            "$TOOL" copy "$URL" other --resume > resumed 2>&1; echo $?
            \(Self.compare)
            compare other; echo $?
            """)
        #expect(run.lines == ["137", "4", "0", "0"], "\(run.output) \(run.errors)")
    }

    @Test(
        "a copy to a server that is killed while it sends a content is no store, and resumed it is whole",
        .enabled(if: PostgresTestStore.runsLongTests))
    func killedWhileSending() async throws {
        try await fillWithAssets()
        let filled = try await shell(
            """
            head -c 60000000 /dev/zero > zeros && echo x >> zeros
            "$TOOL" put e --type Note --set file:asset=zeros --zone notes --store store
            """)
        try #require(filled.status == 0, "\(filled.errors)")
        async let killed = shell("\"$TOOL\" copy store \"$URL\" > done 2>&1 & echo $! > pid; wait $!; echo $?")
        let reader = try await TestThreads.offPool { try readerOfContents() }
        let pid = try String(contentsOfFile: "\(directory.path)/pid", encoding: .utf8)
        _ = try await shell("kill -KILL \(pid)")
        reader.close()
        #expect(try await killed.lines == ["137"])
        let run = try await shell(
            """
            "$TOOL" ls --store "$URL" 2> none; echo $?
            "$TOOL" copy store "$URL" --resume > done; echo $?
            \(Self.compare)
            compare "$URL"; echo $?
            """)
        #expect(run.lines == ["4", "0", "0"], "\(run.output) \(run.errors)")
    }

    /// A reader of the store, when it has the first part of a content.
    private func readerOfContents() throws -> PostgresStore {
        let deadline = ContinuousClock.now + .seconds(TestThreads.deadlineSeconds)
        while ContinuousClock.now < deadline {
            if let store = try? place.open({ $0.use = .reading }) {
                while ContinuousClock.now < deadline {
                    if try store.contents?.names(after: nil, limit: 1).isEmpty == false { return store }
                    usleep(2_000)
                }
            }
            usleep(20_000)
        }
        throw StoreError(.unavailable, "No content has arrived.")
    }

    @Test("[O-14] a long-lived upload that waits in a directory is finished from a copy of a copy on a server")
    func operations() async throws {
        var options = Stratus.Options()
        options.logger = nil
        options.upkeepIntervalSeconds = nil
        let store = try await Stratus.open(at: "\(directory.path)/living", options: options)
        let account = try await store.createAccount(.init(), externalID: "alice")
        store.faults.fail(
            .operation(.modifyRecords), with: .networkFailure, retryAfter: 1_000, lasting: .untilCancelled)
        let file = URL(fileURLWithPath: "\(directory.path)/sunset")
        let content = Data((0..<600_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 9) })
        try content.write(to: file)
        let record = CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: "photo"))
        record["file"] = CKAsset(fileURL: file)
        let waiting = CKModifyRecordsOperation(recordsToSave: [record])
        waiting.configuration.isLongLived = true
        waiting.configuration.qualityOfService = .utility
        await withCheckedContinuation { continuation in
            waiting.longLivedOperationWasPersistedBlock = { continuation.resume() }
            store.container("iCloud.test", signedInAs: account).privateCloudDatabase.add(waiting)
        }
        try FileManager.default.removeItem(at: file)
        let other = try PostgresTestStore()
        // What a crash leaves is what is in the directory now.
        let copied = try await shell(
            """
            cp -a living store && "$TOOL" copy store "$URL" --json && "$TOOL" copy "$URL" '\(other.url)' --json &&
            "$TOOL" copy '\(other.url)' back --json && diff -r store/operations back/operations
            """)
        #expect(copied.status == 0, "\(copied.output) \(copied.errors)")
        #expect(try copied.objects().compactMap { $0["operations"] as? Int } == [1, 1, 1])
        for address in [other.url, "\(directory.path)/back"] {
            let next = try await Stratus.open(at: address, options: options)
            let container = await next.container(
                "iCloud.test", signedInAs: try #require(try next.account(externalID: "alice")))
            let found = try #require(
                try await container.longLivedOperation(for: waiting.operationID) as? CKModifyRecordsOperation)
            await withCheckedContinuation { continuation in
                found.completionBlock = { continuation.resume() }
                container.privateCloudDatabase.add(found)
            }
            let saved = try await container.privateCloudDatabase.record(for: record.recordID)
            let asset = try #require((saved["file"] as? CKAsset)?.fileURL)
            #expect(try Data(contentsOf: asset) == content)
            try await TestThreads.offPool { next.close() }
        }
        waiting.cancel()
        try await TestThreads.offPool { store.close() }
    }

    @Test("verbs that create a store on a server print what is unsafe there")
    func unsafeSettings() async throws {
        let other = try PostgresTestStore()
        let run = try await shell(
            """
            "$TOOL" init --store "$URL" && "$TOOL" init --json --store "$URL" && "$TOOL" copy "$URL" '\(other.url)'
            """)
        #expect(run.status == 0, "\(run.errors)")
        // The server of the tests does not sync. With --json only errors are printed beside the answer.
        let notes = run.errors.split(separator: "\n").filter { $0.contains("A crash of the machine loses commits") }
        #expect(notes.count == 3, "\(run.errors)")
        #expect(notes.allSatisfy { $0.hasPrefix("note: postgresql://") }, "\(run.errors)")
        // Each names its server.
        #expect(Set(notes).count == 2, "\(run.errors)")
    }

    @Test("a verb says that there is no connection, and what in an address is wrong")
    func unreachable() async throws {
        let silent = try await shell("\"$TOOL\" stats --store postgresql://stratus@127.0.0.1:1/notes")
        #expect(silent.status != 0)
        #expect(silent.errors.contains("cause: "), "\(silent.errors)")
        #expect(silent.errors.contains("No connection to PostgreSQL was made"), "\(silent.errors)")
        let wrong = try await shell("\"$TOOL\" stats --store 'postgresql://stratus@127.0.0.1/notes?sslmod=require'")
        #expect(wrong.status != 0)
        #expect(wrong.errors.contains("sslmod"), "\(wrong.errors)")
    }

    @Test("a directory has no roles")
    func rolesOfDirectory() async throws {
        let run = try await shell("\"$TOOL\" init --host-role notes --store store")
        #expect(run.status != 0)
        #expect(run.errors.contains("--host-role"), "\(run.errors)")
    }
}
