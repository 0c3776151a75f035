// Verbs on a store that another process holds and serves: this process is the host.

import Foundation
import Synchronization
import Testing

@testable import StratusKit

@Suite("the host's socket")
struct HostSocketTests {
    let directory: TestDirectory

    init() async throws { directory = try TestDirectory() }

    private func open(_ name: String, serving: Bool = true) throws -> Stratus {
        var options = Stratus.Options()
        options.logger = nil
        options.upkeepIntervalSeconds = nil
        options.servesTool = serving
        return try Stratus.open(at: URL(fileURLWithPath: "\(directory.path)/\(name)"), options: options)
    }

    /// Every writing verb, in an order in which each has something to do.
    private static let script = [
        "init --create-account local",
        "accounts create bob --email bob@example.com --name 'Bob Birch' --quota 100000000",
        "accounts create carol --email carol@example.com", "accounts handles carol --add --phone +4912345678",
        "accounts suspend carol", "accounts resume carol", "zones create --zone files",
        "put top --type Folder --set name=top",
        "put doc --type Note --set title=Ä --set count:int64=3 --under name:top",
        "put doc --set file:asset=content", "put doc --set title=new --unset count",
        "put other --type Note --under name:top", "put doc --set title=refused --type Folder",
        "move name:other --under name:doc", "move name:other --under name:top",
        "share create name:doc --share s", "share permission name:doc readOnly", "share permission name:doc none",
        "invite name:doc bob@example.com --permission readWrite", "invite name:doc new@example.com",
        "participants change name:doc bob@example.com --permission readOnly",
        "participants change name:doc bob@example.com --permission readWrite", "accept $(cat URL) --as bob",
        "put doc --set title=guest --as bob", "participants remove name:doc new@example.com --force",
        "rm name:nothing --force", "participants leave name:doc --as bob --force", "share stop name:doc --force",
        "import-tree tree --zone tree", "import-tree tree --zone tree", "rm /tree/d --zone tree --recursive --force",
        "schema import schema.ckdb", "rebuild", "zones create --zone gone", "zones delete --zone gone --force",
        "zones purge", "accounts delete carol --force", "compact",
    ]

    /// The final state that is checked.
    private static let looks = [
        "accounts", "zones", "tree / --zone tree", "tree /", "get name:doc", "get name:top", "share", "schema", "audit",
        "verify",
    ]

    @Test("every writing verb has the same output and effect through the socket as on a closed store")
    func sameAsWithout() async throws {
        try await directory.makeTree()
        let prepared = try await ToolRun.shell(
            """
            printf 'some content' > content
            printf 'DEFINE SCHEMA RECORD TYPE Note (title STRING QUERYABLE, GRANT READ TO "_world");' > schema.ckdb
            "$TOOL" init --store alone > /dev/null
            """, in: directory)
        try #require(prepared.status == 0, "\(prepared.errors)")
        let host = try open("served")
        defer { host.close() }
        let alone = try await answers(of: "alone")
        let served = try await answers(of: "served")
        for (number, verb) in Self.script.enumerated() {
            #expect(served[number] == alone[number], "\(verb)")
        }
        for look in Self.looks {
            var seen: [[String]] = []
            for name in ["alone", "served"] {
                let run = try await ToolRun.shell("\"$TOOL\" \(look) --json --store \(name)", in: directory)
                // People are listed by identifiers that are drawn.
                seen.append(Self.plain(run).sorted())
            }
            #expect(seen[0] == seen[1], "\(look)")
        }
        // The other verbs' output shows that the host had the store all the time.
        let held = try await ToolRun.stratus("reset", "--force", "--json", "--store", "served", in: directory)
        #expect(held.status == 4, "\(held.output)")
    }

    /// The output of the script on a store, without the random values of every store.
    private func answers(of store: String) async throws -> [[String]] {
        var answers: [[String]] = []
        for verb in Self.script {
            if verb.hasPrefix("accept") {
                let show = "\"$TOOL\" share show name:doc --url --store \(store) 2> note | grep -o 'https:.*' > URL"
                try #require(try await ToolRun.shell(show, in: directory).status == 0)
            }
            let run = try await ToolRun.shell("\"$TOOL\" \(verb) --json --store \(store)", in: directory)
            answers.append(Self.plain(run))
        }
        return answers
    }

    /// Lines without names, dates and costs, and without progress.
    private static func plain(_ run: ToolRun) -> [String] {
        let changing = [
            "account", "user", "created", "changeTag", "cost", "milliseconds", "path", "id", "added", "share",
            "modified", "creator", "lastModifiedUser", "owner", "date", "bytesBefore", "bytesAfter", "recordsPerSecond",
            "by", "time", "event", "sequence", "horizon", "commits", "createdBy", "modifiedBy", "entriesRemoved",
            "zonesFinished", "store", "participant", "actor", "identity",
        ]
        return ["\(run.status)"]
            + (run.lines + run.told).map { line in
                guard let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) else { return line }
                return Self.text(object, without: changing)
            }
    }

    private static func text(_ value: Any, without keys: [String]) -> String {
        switch value {
        case let object as [String: Any]:
            let members = object.filter { $0.key != "asOf" }.sorted { $0.key < $1.key }.map { key, value in
                keys.contains(key) ? key : "\(key): \(text(value, without: keys))"
            }
            return "{\(members.joined(separator: ", "))}"
        case let array as [Any]: return "[\(array.map { text($0, without: keys) }.joined(separator: ", "))]"
        default: return "\(value)"
        }
    }

    @Test("import-tree continues past files of another type: independent ones are replaced, the rest is reported")
    func replacedTypes() async throws {
        try await directory.makeTree()
        let host = try open("store")
        defer { host.close() }
        _ = try await host.account(externalID: "local", createIfMissing: .init())
        let run = try await ToolRun.shell(
            """
            exec 2> note
            "$TOOL" import-tree tree --store store > first; echo $?
            rm tree/d/two && mkdir tree/d/two && touch tree/d/two/inside
            rm tree/d/link && echo file > tree/d/link
            rm -r tree/a && echo file > tree/a
            "$TOOL" import-tree tree --store store --json > second; echo $?
            "$TOOL" get /tree/d/two --store store | grep ^type; "$TOOL" get /tree/d/link --store store | grep ^type
            "$TOOL" get /tree/a --store store | grep ^type
            "$TOOL" verify --store store | tail -1; cat second
            """, in: directory)
        let expected = ["0", "0", "type       Folder", "type       File", "type       Folder"]
        #expect(Array(run.lines.prefix(5)) == expected, "\(run.output)")
        #expect(run.lines.dropFirst(5).first == "verify: 0 missing, 0 dangling, 0 wrong counts")
        let report = try #require(
            try JSONSerialization.jsonObject(with: Data((run.lines.last ?? "").utf8)) as? [String: Any])
        let problems = try #require(report["problems"] as? [String: Any])
        #expect((problems["keptType"] as? [String: Any])?["examples"] as? [String] == ["tree/a"])
        #expect(report["created"] as? Int == 1, "the contents of the new folder")
    }

    @Test("through the socket the host's rules apply, and the host's events contain the changes")
    func hostsRules() async throws {
        var options = Stratus.Options()
        options.logger = nil
        options.servesTool = true
        options.schemaMode = .production
        let events = Events()
        options.onEvent = { events.note($0.operation) }
        let host = try await Stratus.open(at: URL(fileURLWithPath: "\(directory.path)/store"), options: options)
        defer { host.close() }
        _ = try await host.account(externalID: "local", createIfMissing: .init())
        let run = try await ToolRun.shell(
            """
            "$TOOL" zones create --store store
            "$TOOL" put a --type Unknown --store store; echo $?
            """, in: directory)
        #expect(run.lines.last == "1", "\(run.output)")
        #expect(run.errors.contains("which has the store"))
        #expect(events.has(.modifyRecords))
        #expect(events.has(.modifyZones))
    }

    @Test("writing verbs name a host without a socket, and there is nothing to watch or recover")
    func notServed() async throws {
        let host = try open("store", serving: false)
        defer { host.close() }
        _ = try await host.account(externalID: "local", createIfMissing: .init())
        let pid = "\(ProcessInfo.processInfo.processIdentifier)"
        for (verb, status) in [("put a --type Note", 4), ("watch", 1), ("recover", 1), ("init --create-account x", 4)] {
            let run = try await ToolRun.shell("\"$TOOL\" \(verb) --store store --json", in: directory)
            #expect(run.status == Int32(status), "\(verb): \(run.output)")
            let fields = try #require(try run.error()["fields"] as? [String: String])
            #expect(fields["holderProcessID"] == pid)
        }
        await host.close()
        let alone = try await ToolRun.stratus("watch", "--store", "store", "--json", in: directory)
        #expect(alone.status == 1)
        #expect(try (alone.error()["message"] as? String)?.contains("nothing to watch") == true)
    }

    @Test("verify of a store in use names each missing or damaged content")
    func verifyHeld() async throws {
        let host = try open("served")
        defer { host.close() }
        let database = await host.container("local", signedInAs: try host.createAccount(.init(), externalID: "local"))
            .privateCloudDatabase
        let file = URL(fileURLWithPath: "\(directory.path)/photo")
        try Data("the content".utf8).write(to: file)
        let record = CKRecord(recordType: "Photo")
        record["photo"] = CKAsset(fileURL: file)
        _ = try await database.save(record)
        let contents = "\(directory.path)/served/assets/content"
        let name = try #require(
            FileManager.default.enumerator(atPath: contents)?.compactMap { $0 as? String }.max { $0.count < $1.count })
        for (content, kind) in [(nil, "missingContent"), ("THE CONTENT", "damagedContent")] {
            try FileManager.default.removeItem(atPath: "\(contents)/\(name)")
            if let content { try Data(content.utf8).write(to: URL(fileURLWithPath: "\(contents)/\(name)")) }
            let run = try await ToolRun.stratus("verify", "--json", "--store", "served", in: directory)
            let findings = try #require(run.objects().last?["findings"] as? [[String: Any]])
            #expect(run.status == (content == nil ? 1 : 5), "\(run.output)")
            #expect(findings.compactMap { $0["kind"] as? String } == [kind], "\(run.output)")
            if content == nil { try Data().write(to: URL(fileURLWithPath: "\(contents)/\(name)")) }
        }
    }

    @Test("stats and recover find a host that could not reopen its store, whatever verbs ran meanwhile")
    func unrecovered() async throws {
        let host = try open("served")
        defer { host.close() }
        let path = "\(directory.path)/served"
        let account = try await host.createAccount(.init(), externalID: "local")
        let database = host.container("local", signedInAs: account).privateCloudDatabase
        _ = try await database.save(CKRecordZone(zoneName: "notes"))
        try FileManager.default.moveItem(atPath: path, toPath: path + "-moved")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        let failure = await #expect(throws: CKError.self) {
            try await database.save(CKRecordZone(zoneName: "lost"))
        }
        try #require(host.writeFailure != nil, "\(String(describing: failure))")
        #expect(throws: StratusError.self) { try host.recover() }
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.moveItem(atPath: path + "-moved", toPath: path)
        let run = try await ToolRun.shell(
            """
            "$TOOL" stats --json --store served 2> notes | grep -c '"takesWrites":false'
            "$TOOL" accounts --store served > accounts; echo $?
            "$TOOL" zones create --zone more --store served > zone; echo $?
            "$TOOL" recover --store served; echo $?
            """, in: directory)
        #expect(
            run.lines == ["1", "0", "0", "the host has opened the store again and takes writes", "0"],
            "\(run.output) \(run.errors)")
        #expect(host.writeFailure == nil)
    }

    @Test("stats reports that a host accepts no writes, and recover reopens its store")
    func recovery() async throws {
        let host = try open("served")
        defer { host.close() }
        let account = try await host.createAccount(.init(), externalID: "local")
        let database = host.container("local", signedInAs: account).privateCloudDatabase
        _ = try await database.save(CKRecordZone(zoneName: "notes"))
        func move(_ source: String, _ target: String) throws {
            try FileManager.default.moveItem(
                atPath: "\(directory.path)/\(source)", toPath: "\(directory.path)/\(target)")
        }
        try move("served", "moved")
        await #expect(throws: CKError.self) { try await database.save(CKRecordZone(zoneName: "lost")) }
        try move("moved", "served")
        let run = try await ToolRun.shell(
            """
            "$TOOL" stats --store served 2> notes | sed -n '2p'
            "$TOOL" stats --json --store served 2> notes | grep -c '"takesWrites":false,"writeFailure":{"code":"unavailable"'
            "$TOOL" zones create --zone new --store served 2> notes; echo $?
            grep -c -e 'recover' notes
            "$TOOL" recover --store served; echo $?
            "$TOOL" recover --json --store served; echo $?
            "$TOOL" stats --json --store served 2> notes | grep -c '"takesWrites":true,"writeFailure":null'
            "$TOOL" zones create --zone new --store served > zone 2> notes; echo $?
            "$TOOL" init --store alone > init
            "$TOOL" recover --store alone 2>&1 | head -1
            "$TOOL" stats --json --store alone | grep -c '"takesWrites":null,"writeFailure":null'
            "$TOOL" recover --store nothing 2> notes; echo $?
            """, in: directory)
        #expect(
            run.lines == [
                "refuses writes because one has failed: fix the cause, then run 'stratus recover'", "1", "1", "1",
                "the host has opened the store again and takes writes", "0", "{\"recovered\":false}", "0", "1", "0",
                "error: No process has the store open: there is nothing to recover.", "1", "3",
            ], "\(run.output) \(run.errors)")
        #expect(host.writeFailure == nil)
    }

    @Test("an interrupted compaction stops the host's, says how to continue, and damages nothing")
    func interruptedCompaction() async throws {
        // The host is held until the tool has received the signal, so that it cannot finish before. If the machine is
        // so slow that the tool times out without a greeting, nothing was tested: it is repeated.
        let run = try await children(
            """
            "$TOOL" import-tree /usr/share/doc --store store > /dev/null 2> note
            "$TOOL" export before --store store > /dev/null
            hears() { # whether a process is the tool, and does something of its own at SIGTERM
              [ /proc/$1/exe -ef "$TOOL" ] || return 1
              caught=$(sed -n 's/^SigCgt:[[:space:]]*//p' /proc/$1/status)
              (( 0x${caught:-0} & 1 << 14 ))
            }
            serve
            interrupt() { # a compaction; the status is the tool's
              kill -STOP $HOST_PID
              "$TOOL" compact --store store > /dev/null 2> errors & child=$!
              until hears $child || ! kill -0 $child; do sleep 0.01; done
              kill -TERM $child
              until grep -q stopping errors || ! kill -0 $child; do sleep 0.01; done
              kill -CONT $HOST_PID
              wait $child
            }
            interrupt; code=$?
            while grep -q 'The connection was idle for too long' errors; do interrupt; code=$?; done
            echo $code
            cat errors >&2
            "$TOOL" compact --store store > /dev/null 2> note; echo $?
            "$TOOL" export - --store store 2> /dev/null | cmp - before; echo $?
            "$TOOL" verify --store store | tail -1
            kill -KILL $HOST_PID; wait $HOST_PID 2> /dev/null
            """)
        try #require(run.lines.count == 5, "\(run.output) \(run.errors)")
        #expect(Array(run.lines[1...]) == ["130", "0", "0", "verify: 0 missing, 0 dangling, 0 wrong counts"])
        #expect(
            run.errors.contains("which has the store"),
            "\(run.errors)")
        #expect(
            run.errors.contains("Run the same command again to continue"),
            "\(run.errors)")
    }

    @Test("watch prints each request as it happens, sums up, and ends with its limit")
    func watching() async throws {
        let host = try open("store")
        defer { host.close() }
        let account = try await host.account(externalID: "local", createIfMissing: .init())
        let run = try await ToolRun.shell(
            """
            "$TOOL" watch --limit 3 --json --store store > told 2> note & watcher=$!
            "$TOOL" zones create --zone first --store store > /dev/null 2>&1
            for try in $(seq 200); do
              kill -0 $watcher 2> /dev/null || break
              "$TOOL" put record --type Note --zone first --set title=$try --store store > /dev/null 2>&1
            done
            wait $watcher; echo $?; cat note; cat told
            """, in: directory)
        #expect(run.lines.first == "0", "\(run.output)")
        let objects = try run.lines.dropFirst().map {
            try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any], "\($0)")
        }
        #expect(objects.count == 4)
        for event in objects.dropLast() {
            #expect(event["account"] as? String == account.id)
            #expect(event["operation"] is String)
            #expect(event["time"] is String)
            #expect(event["milliseconds"] is Double)
        }
        let summary = try #require(objects.last?["summary"] as? [String: Any])
        #expect(summary["requests"] as? Int == 3)
        #expect(summary["lost"] as? Int == 0)
    }

    /// Runs a script with $CHILD as the child program, and a function that turns it into a host.
    private func children(_ script: String) async throws -> ToolRun {
        try await ToolRun.shell(
            """
            CHILD=$(dirname "$TOOL")/stratus-test-program
            serve() { coproc HOST { exec "$CHILD" serve store; }; read -r -u ${HOST[0]} line; echo "$line"; }
            \(script)
            """, in: directory)
    }

    @Test("a socket that a killed host left behind blocks no one, and the next host replaces it")
    func killedHost() async throws {
        let run = try await children(
            """
            serve
            "$TOOL" zones create --zone one --store store > /dev/null 2> note; echo $?; grep -c 'which has the store' note
            kill -KILL $HOST_PID; wait $HOST_PID 2> /dev/null
            stat -c %a store/SOCKET
            "$TOOL" watch --store store 2> note; echo $?
            "$TOOL" ls --zone one / --store store; echo $?
            serve
            stat -c %a store/SOCKET
            "$TOOL" zones create --zone two --store store > /dev/null 2> note; echo $?; grep -c 'which has the store' note
            kill -KILL $HOST_PID; wait $HOST_PID 2> /dev/null
            "$TOOL" zones create --zone three --store store > /dev/null 2> note; echo $?; grep -c 'which has the store' note
            ls store | grep -c SOCKET
            """)
        let expected = ["open", "0", "1", "600", "1", "0", "open", "600", "0", "1", "0", "0", "0"]
        #expect(run.lines == expected, "\(run.lines) \(run.errors)")
    }

    @Test(
        "another user cannot open the socket, and is refused with a message if they can",
        .enabled(if: getuid() == 0))
    func otherUsers() async throws {
        let run = try await children(
            """
            chmod 755 .; serve; chmod 755 store
            "$CHILD" ask store
            chmod 666 store/SOCKET
            "$CHILD" ask store
            "$TOOL" zones create --zone one --store store > /dev/null 2>&1; echo $?
            """)
        try #require(run.lines.count == 4, "\(run.output) \(run.errors)")
        #expect(run.lines[1].contains("permission denied"))
        #expect(run.lines[2].contains("Only the host's own user and root"))
        #expect(run.lines[3] == "0")
    }

    @Test("watch ends with the host, and reports it")
    func watchedToTheEnd() async throws {
        let host = try open("store")
        // A client that is disconnected during the last message does not get it.
        host.stopServingTool()
        try host.startServingTool(LocalPatience(farewellSeconds: 900))
        let watcher = Task {
            try await ToolRun.shell("\"$TOOL\" watch --store store > told; echo $?; tail -1 told", in: directory)
        }
        let path = "\(directory.path)/told"
        // The tool creates the file before it watches; it reports it on standard error.
        while !FileManager.default.fileExists(atPath: path) || !host.output.feed.isWatched {
            try await Task.sleep(for: .milliseconds(20))
        }
        await host.close()
        let run = try await watcher.value
        #expect(run.lines.first == "0")
        #expect(run.lines.last?.hasPrefix("0 requests in ") == true)
        #expect(run.errors.contains("note: the host has ended"))
    }
}

private final class Events: Sendable {
    private let seen = Mutex<Set<String>>([])

    func note(_ operation: Stratus.Operation) { seen.withLock { _ = $0.insert("\(operation)") } }
    func has(_ operation: Stratus.Operation) -> Bool { seen.withLock { $0.contains("\(operation)") } }
}
