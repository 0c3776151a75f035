// Commits on the bare store, large enough that memory tables are written out and compacted between them.

import StratusLevelDB
import StratusStore

/// Overwrites a few large values, deletes some, and compacts everything once.
struct PlainScenario: FaultScenario {
    let stepCount = 14
    private static let compactionStep = 9
    private static let keyCount = 5
    private static let valueByteCount = 24_000

    func prepare(_ store: LevelDBStore) throws {
        for step in 0..<4 { try store.transact { try Self.write(step, in: $0) } }
        try store.compact(Self.everything)
        for step in 4..<6 { try store.transact { try Self.write(step, in: $0) } }
    }

    func begin(_ store: any OrderedStore, _ engine: LevelDBStore, states: [StoreContents]) -> any ScenarioRun {
        Run(store: store, engine: engine, states: states)
    }

    func findings(in store: any OrderedStore) throws -> [String] { [] }

    private static let everything = KeyRange(from: [], upTo: [UInt8](repeating: 0xFF, count: 8))
    private static let counter = Array("counter".utf8)

    private static func key(_ number: Int) -> [UInt8] { [UInt8(number % keyCount)] }

    /// Three writes that belong together.
    private static func write(_ step: Int, in transaction: any StoreTransaction) throws {
        try transaction.set(key(step), to: [UInt8](repeating: UInt8(step), count: valueByteCount))
        if step % 3 == 2 { try transaction.delete(key(step + 2)) }
        try transaction.set(counter, to: [UInt8(step)])
    }

    private final class Run: ScenarioRun {
        private let store: any OrderedStore
        private let engine: LevelDBStore
        private let states: [StoreContents]

        init(store: any OrderedStore, engine: LevelDBStore, states: [StoreContents]) {
            self.store = store
            self.engine = engine
            self.states = states
        }

        func isSilent(_ step: Int) -> Bool { step == PlainScenario.compactionStep }

        func perform(_ step: Int) throws {
            if isSilent(step) { return try engine.compact(PlainScenario.everything) }
            try store.transact { transaction in
                if let state = states.dropFirst(step).first { try check(transaction, state, step) }
                try PlainScenario.write(step + 6, in: transaction)
            }
        }

        /// A key that exists, one that may be gone, and all in order.
        private func check(_ reader: any StoreReader, _ state: StoreContents, _ step: Int) throws {
            for key in [PlainScenario.counter, PlainScenario.key(step), PlainScenario.key(step + 3)] {
                guard try reader.fingerprint(forKey: key) == state[key] else {
                    throw ScenarioViolation(description: "a wrong value was read in step \(step)")
                }
            }
            guard step % 4 == 0 else { return }
            var count = 0
            try reader.scan(PlainScenario.everything) { _, _ in
                count += 1
                return .next
            }
            guard count == state.count else {
                throw ScenarioViolation(description: "a scan saw \(count) of \(state.count) keys in step \(step)")
            }
        }
    }
}
