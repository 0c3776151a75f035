// Verbs on a store on PostgreSQL: copies in both directions, reading beside a host, and what waits for the lease.

import Foundation
import StratusPostgres
import StratusStore
import StratusTestSupport
import Testing

@testable import stratus

@Suite("verbs on PostgreSQL", .enabled(if: PostgresTestStore.isServerThere), .serialized)
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

    @Test("a verb that changes what is there creates no store on a server")
    func noStore() async throws {
        let run = try await shell("\"$TOOL\" renew-incarnations --store \"$URL\" --json")
        #expect(run.status == 4, "\(run.errors)")
        #expect(run.errors.contains("notAStore"), "\(run.errors)")
        #expect(try await shell("\"$TOOL\" ls --store \"$URL\"").status == 4)
    }

    @Test("a store with assets is refused before anything is written to a server")
    func assets() async throws {
        try await fill()
        let filled = try await shell(
            """
            echo content > content.txt &&
            "$TOOL" put note-2 --type Note --set file:asset=content.txt --zone notes --store store
            """)
        try #require(filled.status == 0, "\(filled.errors)")
        let run = try await shell("\"$TOOL\" copy store \"$URL\"")
        #expect(run.status != 0)
        #expect(run.errors.contains("cannot be copied to or from a server yet"), "\(run.errors)")
        #expect(try await shell("\"$TOOL\" ls --store \"$URL\"").status == 4)
    }

    @Test("a directory has no roles")
    func rolesOfDirectory() async throws {
        let run = try await shell("\"$TOOL\" init --host-role notes --store store")
        #expect(run.status != 0)
        #expect(run.errors.contains("--host-role"), "\(run.errors)")
    }
}
