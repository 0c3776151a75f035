// Exports, reports and pictures of a store that is written to meanwhile: of one moment where snapshots last, and whole
// and usable where they end early.

import Foundation
import StratusCloud
import StratusKit
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@testable import stratus

@Suite("long reads of the tool")
struct LongReadTests {
    private static let zone = ZoneAddress(zoneName: "notes")
    private static let folderCount = 8
    private static let noteCount = 120
    /// What all notes hold together.
    private static let amount = 10

    private let directory: TestDirectory

    init() throws { directory = try TestDirectory() }

    /// A store that writers change while a session reads it.
    private final class BusyStore {
        let writers: Writers
        let session: StoreSession

        init(_ opened: OpenedStore, in directory: String) throws {
            let choice = DatabaseChoice(
                container: "iCloud.default", owner: PersonArgument("local"), isPublic: false, zone: nil)
            writers = try Writers(try #require(opened.host).service)
            session = try StoreSession(.directory(directory), choice, .readingAsClient, opened)
        }

        var zone: ZoneID { get throws { try session.zone(ZoneName("notes")) } }
        var recordCount: Int { get throws { try session.read(zone) { Int(try $0.header().recordCount) } } }
        func write() throws { try writers.write() }
    }

    /// The writers of a store with folders, and notes below them.
    private final class Writers: Sendable {
        let service: CloudService
        private let account: StoredAccount
        private let random = Locked(SplitMix64(seed: 5))

        init(_ service: CloudService) throws {
            self.service = service
            account = try service.account(externalID: "local", createIfMissing: AccountDraft(externalID: "local"))
            let request = ModifyZonesRequest(saves: [ClientZone(address: LongReadTests.zone)])
            for result in try service.modifyZones(request, as: caller, in: .private).saves { _ = try result.get() }
            for number in 0..<folderCount { try save("folder\(number)", under: nil, amount: 0) }
            for number in 0..<noteCount {
                try save("note\(number)", under: "folder\(number % folderCount)", amount: LongReadTests.amount)
            }
        }

        private var caller: Caller { Caller(container: "iCloud.default", account: account.id) }

        private func modify(_ saves: [RecordSave], deleting names: [String] = []) throws {
            let deletes = names.map { RecordAddress(recordName: $0, zone: LongReadTests.zone) }
            let request = ModifyRecordsRequest(saves: saves, deletes: deletes, policy: .allKeys, isAtomic: true)
            _ = try service.modifyRecords(request, as: caller, in: .private)
        }

        private func record(_ name: String, under parent: String?, amount: Int) -> RecordSave {
            RecordSave(
                address: RecordAddress(recordName: name, zone: LongReadTests.zone), type: "Note",
                parent: parent.map {
                    ClientReference(target: RecordAddress(recordName: $0, zone: LongReadTests.zone), action: .none)
                }, isParentChanged: true, fields: ["amount": ClientField(.int64(Int64(amount)))],
                changedKeys: ["amount"])
        }

        private func save(_ name: String, under parent: String?, amount: Int) throws {
            try modify([record(name, under: parent, amount: amount)])
        }

        /// Moves an amount from one note to another, and a note to another folder; or adds a note; or removes one that
        /// was added.
        func write() throws {
            let draws = random.withLock { random in (0..<3).map { _ in Int(random.next() % 1_000) } }
            let (one, other) = (draws[0] % noteCount, (draws[0] + 1 + draws[1] % (noteCount - 1)) % noteCount)
            switch draws[2] % 4 {
            case 0:
                try save("extra\(draws[0])", under: "folder\(draws[1] % folderCount)", amount: 0)
            case 1:
                try modify([], deleting: ["extra\(draws[0])"])
            default:
                try modify([
                    record("note\(one)", under: "folder\(draws[1] % folderCount)", amount: LongReadTests.amount - 3),
                    record("note\(other)", under: "folder\(other % folderCount)", amount: LongReadTests.amount + 3),
                ])
                try modify([
                    record("note\(one)", under: "folder\(one % folderCount)", amount: LongReadTests.amount),
                    record("note\(other)", under: "folder\(other % folderCount)", amount: LongReadTests.amount),
                ])
            }
        }
    }

    private func makeLasting() throws -> BusyStore {
        let path = "\(directory.path)/store"
        let stratus = try OpenedStore.openStratus(path)
        return try BusyStore(
            OpenedStore(engine: try stratus.service.engine, files: nil, host: stratus), in: path)
    }

    private func makeShort() throws -> (busy: BusyStore, store: ShortSnapshotStore) {
        let store = ShortSnapshotStore(MemoryStore(), endingAfter: 120)
        let reader = ReadStore(try RecordEngine(store: store, incarnation: UUID()))
        let opened = OpenedStore(engine: reader.engine, files: nil, host: ReadHost(reader))
        return (try BusyStore(opened, in: "memory"), store)
    }

    /// The lines of an export.
    private func export(_ busy: BusyStore, beside write: @escaping () throws -> Void = {}) throws -> [String] {
        var lines: [String] = []
        var exporter = StoreExporter(busy.writers.service, secrets: false, progress: { _, _ in }) {
            lines.append($0.jsonText)
            if lines.count.isMultiple(of: 7) { try write() }
        }
        try exporter.run()
        return lines
    }

    /// The sum of the amounts in an export.
    private func sum(_ lines: [String]) throws -> Int {
        let amounts = try lines.compactMap { line -> Int? in
            guard line.hasPrefix("{\"record\"") else { return nil }
            let match = try #require(line.firstMatch(of: #/"amount":\{[^}]*"value":"?(\d+)/#) ?? nil, "\(line)")
            return Int(match.1)
        }
        return amounts.reduce(0, +)
    }

    // MARK: Where snapshots last

    @Test("an export of a store on LevelDB is of one moment while writers write")
    func lastingExport() throws {
        let busy = try makeLasting()
        defer { busy.session.close() }
        let before = try export(busy)
        let during = try export(busy) { try busy.write() }
        #expect(during == before)
        #expect(try sum(during) == Self.noteCount * Self.amount)
    }

    @Test("a picture and the records of a report on LevelDB are of one moment while writers write")
    func lastingReport() throws {
        let busy = try makeLasting()
        defer { busy.session.close() }
        let count = try busy.recordCount
        var isWriting = false
        var reader = ReportReader(busy.session, nil, now: Date()) { _, _, _ in
            guard !isWriting else { return }
            isWriting = true
            try? busy.write()
            isWriting = false
        }
        let report = try reader.read()
        #expect(report.shape.recordCount == count)
        #expect(report.types.reduce(0) { $0 + $1.count } == count)
        var visited = 0
        let now = try busy.recordCount
        try busy.session.engine.read(.wholeStore) { reader in
            try reader.existingZone(busy.zone).visitAllSeen(below: nil, .all) { _, _, _ in
                visited += 1
                if visited.isMultiple(of: 5) { try busy.write() }
            }
        }
        #expect(visited == now)
    }

    // MARK: Where they end early

    @Test("an export over many snapshots can be imported, and holds no record twice", arguments: [2, 9, 40])
    func shortExport(interval: Int) async throws {
        let directory = directory
        try await TestThreads.offPool {
            let (busy, store) = try makeShort()
            let ended = store.endedSnapshotCount
            let lines = try store.running(
                every: interval, { [writers = busy.writers] in try writers.write() }, while: { try export(busy) })
            #expect(store.endedSnapshotCount > ended)
            let text = lines.map { $0 + "\n" }.joined()
            try Data(text.utf8).write(to: URL(fileURLWithPath: "\(directory.path)/lines"))
            // No note moves for longer than between two commits of one writer: nearly all are there.
            #expect(lines.count { $0.hasPrefix("{\"record\"") } > Self.noteCount / 2)
        }
        let imported = try await ToolRun.shell("\"$TOOL\" import lines --store imported --json", in: directory)
        #expect(imported.status == 0, "\(imported.errors)")
        let verified = try await ToolRun.shell("\"$TOOL\" verify --store imported", in: directory)
        #expect(verified.status == 0, "\(verified.output)")
    }

    @Test("without writers an export over many snapshots is that of one")
    func quietExport() throws {
        let (busy, store) = try makeShort()
        let reader = ReadStore(try RecordEngine(store: store.wrapped, incarnation: UUID()))
        var lines: [String] = []
        var exporter = StoreExporter(reader.service, secrets: false, progress: { _, _ in }) {
            lines.append($0.jsonText)
        }
        try exporter.run()
        #expect(try export(busy) == lines)
    }

    @Test("with JSON, objects tell of the copy that is read, or of the first and the last moment of a long read")
    func moments() {
        let (first, last) = (Date(timeIntervalSince1970: 0), Date(timeIntervalSince1970: 90))
        var moments = ReadMoments()
        #expect(moments.object(at: last).jsonText == "{}")
        moments.begun = first
        #expect(
            moments.object(at: last).jsonText
                == #"{"asOf":"1970-01-01T00:00:00.000Z","asOfEnd":"1970-01-01T00:01:30.000Z"}"#)
        moments.copied = first
        #expect(moments.object(at: last).jsonText == #"{"asOf":"1970-01-01T00:00:00.000Z"}"#)
    }

    @Test("reports and pictures over many snapshots are made while writers write", arguments: [2, 9, 40])
    func shortReport(interval: Int) throws {
        let (busy, store) = try makeShort()
        let now = Date()
        let report = try store.running(every: interval, { [writers = busy.writers] in try writers.write() }) {
            var reader = ReportReader(busy.session, nil, now: now) { _, _, _ in }
            return try reader.read()
        }
        #expect(report.zones.count == 1)
        #expect(report.shape.recordCount > Self.noteCount / 2)
        let console = Console(usesJSON: false)
        let picture = try store.running(every: interval, { [writers = busy.writers] in try writers.write() }) {
            try TreePainter(session: busy.session, zone: busy.zone, limits: PictureLimits(nodeCount: 40, depth: nil))
                .picture(of: RecordArgument(path: "/"), .all, console)
        }
        #expect(picture.recordCount > Self.noteCount / 2)
        #expect(picture.nodes.count <= 40)
    }
}
