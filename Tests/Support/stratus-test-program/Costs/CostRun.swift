// The passes of the workloads: a store, a data set of ten thousand records, and the counts so far.

import CAllocationCount
import StratusLevelDB
import StratusRecords
import StratusStore
import StratusWorkloads

/// A cost that is planted in every pass.
enum CostPlant: String {
    /// One reading of the store.
    case reads
    /// One entry, in a commit of its own.
    case entries
    /// An allocation for each twenty.
    case allocations
}

/// One run of all workloads.
final class CostRun {
    let folder: String
    let data = MainZoneData(count: 10_000)
    private let plant: CostPlant?
    /// Kept, so that the optimiser does not put it on the stack.
    private var lastPlanted: Planted?
    private(set) var costs: [CountedCost] = []
    /// Made by the first pass and closed by the last.
    var stratus: StratusSide?
    var server: ServerSide?

    init(folder: String, plant: CostPlant?) {
        self.folder = folder
        self.plant = plant
    }

    /// All writes stay in LevelDB's memory, so that nothing runs in the background and no pass depends on its progress.
    static var options: LevelDBOptions {
        var options = LevelDBOptions(formatVersion: StoreFormat.number)
        options.writeBufferByteCount = 64 << 20
        return options
    }

    /// The store and the server, once they are created.
    func sides() throws -> (stratus: StratusSide, server: ServerSide) {
        guard let stratus, let server else { throw WorkloadError("The store is not open.") }
        return (stratus, server)
    }

    /// Counts the store's cost of `body`.
    func count(_ label: String, _ body: () throws -> Void) throws {
        guard let store = stratus?.store else { throw WorkloadError("The store is not open.") }
        try count(label, store, body)
    }

    func count(
        _ label: String, _ store: any OrderedStore, allocates: AllocationScope = .thread, _ body: () throws -> Void
    ) throws {
        let before = store.statistics
        let allocations = allocates.count
        try body()
        try plantCost(in: store, allocates.count - allocations)
        let allocated = allocates.count - allocations
        costs.append(
            CountedCost(
                label, before, store.statistics, allocations: allocates.isCounted ? allocated : nil))
    }

    private func plantCost(in store: any OrderedStore, _ allocations: Int) throws {
        switch plant {
        case .reads: _ = try store.read { try $0.contains([0]) }
        case .entries: try store.transact { try $0.set([0], to: [0]) }
        case .allocations: for _ in 0..<allocations / 20 + 8 { lastPlanted = Planted() }
        case nil: break
        }
    }
}

/// Something that is allocated.
private final class Planted {}

/// Whose allocations are counted.
enum AllocationScope {
    /// Those of the counting thread: not the engine's background work.
    case thread
    /// Those of all threads, if several do the work.
    case process
    case none

    var count: Int {
        switch self {
        case .thread: Int(callocationcount_of_thread())
        case .process: Int(callocationcount_of_process())
        case .none: 0
        }
    }

    /// Without the optimiser there are other allocations, and under a sanitizer nothing is counted.
    var isCounted: Bool {
        #if STRATUS_OPTIMISED_TESTS
            return self != .none && callocationcount_is_counting() != 0
        #else
            return false
        #endif
    }
}
