// Requests to the record layer: folders, share roots, moves, deletions and records in several chunks.

import FoundationEssentials
import StratusLevelDB
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport

/// A small zone in which every index changes.
struct RecordScenario: FaultScenario {
    private static let zone = ZoneID(
        database: DatabaseID(container: "c", owner: "alice", scope: .private), name: "sample")
    private static let stamp = Stamp(date: Date(timeIntervalSinceReferenceDate: 1000), user: "alice")

    private let requests: [[RecordMutation]]

    var stepCount: Int { requests.count }

    init() {
        let large = Record(
            name: "large", type: "Note", parent: "shared",
            fields: [
                "target": Field(.reference(RecordReference(target: "file", action: .deleteSelf))),
                "content": Field(.bytes([UInt8](repeating: 7, count: 101_000))),
            ])
        let middle = Record(
            name: "middle", type: "Note", parent: "other",
            fields: ["content": Field(.bytes([UInt8](repeating: 9, count: 40_000)))])
        requests = [
            [Self.save("shared", under: "top", share: "Share-1"), Self.save("file", under: "shared")],
            [.save(large)],
            [Self.save("moved", under: "shared"), Self.save("gone", under: "other"), .save(middle)],
            [Self.save("moved", under: "other"), .delete("gone")],
            [Self.save("once", under: "other", share: "Share-2")],
            [.save(middle), Self.save("once", under: "other")],
            [.delete("large"), Self.save("alone")],
        ]
    }

    private static func save(
        _ name: RecordName, under parent: RecordName? = nil, share: RecordName? = nil
    ) -> RecordMutation {
        .save(Record(name: name, type: "Item", parent: parent, share: share))
    }

    func prepare(_ store: LevelDBStore) throws {
        let engine = try RecordEngine(store: store, incarnation: UUID())
        let birth = ZoneBirth(identity: UUID(), incarnation: UUID(), stamp: Self.stamp, databaseIdentity: UUID())
        try engine.transact { try $0.createZone(Self.zone, birth) }
        let folders = [Self.save("top"), Self.save("shared", under: "top"), Self.save("other", under: "top")]
        try Self.apply(folders, to: engine)
        try store.compact(KeyRange(from: [], upTo: [UInt8](repeating: 0xFF, count: 16)))
    }

    func begin(_ store: any OrderedStore, _ engine: LevelDBStore, states: [StoreContents]) throws -> any ScenarioRun {
        Run(engine: try RecordEngine(store: store, incarnation: UUID()), requests: requests)
    }

    func findings(in store: any OrderedStore) throws -> [String] {
        let report = try RecordEngine(store: store, incarnation: UUID()).verify()
        return report.isClean ? [] : ["\(report.summary): \(report.findings)"]
    }

    private static func apply(_ mutations: [RecordMutation], to engine: RecordEngine) throws {
        let request = MutationRequest(mutations, stamp: stamp, tagSalt: 7)
        try engine.transact { try $0.apply(request, in: zone) }
    }

    private final class Run: ScenarioRun {
        private let engine: RecordEngine
        private let requests: [[RecordMutation]]

        init(engine: RecordEngine, requests: [[RecordMutation]]) {
            self.engine = engine
            self.requests = requests
        }

        func perform(_ step: Int) throws {
            try RecordScenario.apply(requests[step], to: engine)
        }
    }
}
