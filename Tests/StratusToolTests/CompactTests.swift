// Compacting stops between two slices of a store, and continues from there.

import StratusRecords
import StratusStore
import Testing

@testable import stratus

@Suite("compact")
struct CompactTests {
    private struct Stopped: Error {}

    private let directory: TestDirectory

    init() throws { directory = try TestDirectory() }

    /// Sets keys behind all others, or deletes them.
    private static func write(_ count: Int, to store: any OrderedStore, _ value: [UInt8]?) throws {
        for number in 0..<count {
            let key = [0xFE, UInt8(number)]
            try store.transact { transaction in
                if let value { try transaction.set(key, to: value) } else { try transaction.delete(key) }
            }
        }
    }

    @Test("it reports progress, stops on request, and the next run completes")
    func stops() async throws {
        try await directory.importTree()
        let before = try await ToolRun.stratus("export", "before", "--store", "store", in: directory)
        #expect(before.status == 0)
        let choice = DatabaseChoice(container: "c", owner: PersonArgument("nobody"), isPublic: false, zone: nil)
        do {
            let session = try StoreSession(at: "\(directory.path)/store", choice, .existing)
            defer { session.close() }
            // So much that LevelDB writes several tables of it meanwhile.
            try Self.write(250, to: session.engine.store, [UInt8](repeating: 7, count: 90_000))
            var told: [(done: Int, total: Int)] = []
            #expect(throws: Stopped.self) {
                _ = try session.files.compact(sliceByteCount: 1) { done, total in
                    told.append((done, total))
                    if told.count == 2 { throw Stopped() }
                }
            }
            try #require(told.count == 2, "\(told)")
            #expect(told[0].done == 0, "\(told)")
            #expect(told[1].done > 0, "\(told)")
            #expect(told[1].done < told[1].total, "\(told)")
            try Self.write(250, to: session.engine.store, nil)
            told = []
            let files = try session.files.compact(sliceByteCount: 1) { told.append(($0, $1)) }
            #expect(files.after > 0, "\(files)")
            #expect(files.after < files.before, "\(files)")
            #expect(told.count > 2, "\(told)")
            #expect(told.last.map { $0.done == $0.total } == true, "\(told)")
        }
        let same = try await ToolRun.shell(
            "\"$TOOL\" export after --store store && cmp before after && \"$TOOL\" verify --store store",
            in: directory)
        #expect(same.status == 0, "\(same.output) \(same.errors)")
    }
}
