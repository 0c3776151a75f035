// A random history of one store, compared with a dictionary that is sorted again for every read. The model shares no
// code with any store.
//
// The steps of a transaction are drawn before it starts, as a script, so that its body is pure. Readers stay open while
// later steps run inside them, so that snapshots and commits interleave on one thread, the same way for each seed.

package import StratusStore

/// One random history of a store.
package struct StoreHistory {
    private typealias Model = [[UInt8]: [UInt8]]

    private enum Operation {
        case value([UInt8])
        case values([[UInt8]])
        case scan(KeyRange, ScanDirection, limit: Int, stopAfter: Int)
        case set([UInt8], [UInt8])
        case delete([UInt8])
        /// Deletes each entry of the range while scanning it.
        case deleteAll(KeyRange, ScanDirection)
        /// Of a range that is empty or not.
        case expectWrites(KeyRange)
        case fail
    }

    private struct Planned: Error {}

    private static let maximumNesting = 3

    private let seed: UInt64
    private let open: () throws -> any OrderedStore
    private var random: SplitMix64
    private var store: any OrderedStore
    private var model: Model = [:]
    private var remainingSteps: Int
    private let stepCount: Int

    /// Runs one history on a place, which is emptied first, and closes the store.
    ///
    /// Throws `ConformanceFailure` with the seed and the step at the first difference.
    package static func run(
        seed: UInt64, stepCount: Int, on place: any StorePlace,
        wrap: @escaping (any OrderedStore) -> any OrderedStore = { $0 }
    ) throws {
        let open = { wrap(try place.open()) }
        let store = try open()
        try store.transact { transaction in
            for entry in try transaction.entries() { try transaction.delete(entry.key) }
        }
        var history = StoreHistory(seed: seed, stepCount: stepCount, store: store, open: open)
        defer { history.store.close() }
        do {
            try history.runSteps(nesting: 0)
            try history.reopen()
        } catch {
            let step = stepCount - history.remainingSteps
            throw ConformanceFailure("seed \(seed), step \(step) of \(stepCount): \(error)")
        }
    }

    private init(seed: UInt64, stepCount: Int, store: any OrderedStore, open: @escaping () throws -> any OrderedStore) {
        self.seed = seed
        self.stepCount = stepCount
        self.store = store
        self.open = open
        remainingSteps = stepCount
        random = SplitMix64(seed: seed)
    }

    // MARK: Steps

    private mutating func runSteps(nesting: Int) throws {
        while remainingSteps > 0 {
            remainingSteps -= 1
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<12:
                try transact()
            case 12..<17:
                try read(nesting: nesting)
            case 17..<19 where nesting > 0:
                // Ends the reader around this step.
                return
            default:
                if nesting == 0 { try reopen() }
            }
        }
    }

    private mutating func transact() throws {
        let script = (0..<Int.random(in: 0...12, using: &random)).map { _ in drawOperation(writes: true) }
        var result = model
        let fails = script.contains { if case .fail = $0 { true } else { false } }
        do {
            result = try store.transact { [model] transaction in
                var own = model
                for operation in script { try Self.perform(operation, transaction, &own) }
                try Self.compare(try transaction.entries(), Self.sorted(own), "everything, in the transaction")
                return own
            }
            try require(!fails, "a failing body was committed")
        } catch is Planned {
            try require(fails, "a body failed unplanned")
        }
        model = result
        try store.read { [model] in try Self.compare(try $0.entries(), Self.sorted(model), "everything, afterwards") }
    }

    private mutating func read(nesting: Int) throws {
        let script = (0..<Int.random(in: 1...8, using: &random)).map { _ in drawOperation(writes: false) }
        var copy = self
        do {
            try store.read { [model] reader in
                var snapshot = model
                // The snapshot may be taken at the first read.
                _ = try reader.contains([])
                for operation in script { try Self.perform(operation, reader, &snapshot) }
                if nesting < Self.maximumNesting { try copy.runSteps(nesting: nesting + 1) }
                for operation in script { try Self.perform(operation, reader, &snapshot) }
                try Self.compare(try reader.entries(), Self.sorted(snapshot), "everything, in a snapshot")
            }
        } catch {
            self = copy
            throw error
        }
        self = copy
    }

    private mutating func reopen() throws {
        store.close()
        store = try open()
        try store.read { [model] in try Self.compare(try $0.entries(), Self.sorted(model), "everything, reopened") }
    }

    // MARK: Operations

    private static func perform(_ operation: Operation, _ reader: any StoreReader, _ model: inout Model) throws {
        let transaction = reader as? any StoreTransaction
        switch operation {
        case .value(let key):
            try requireEqual(try reader.value(forKey: key), model[key], "the value of \(key)")
            try requireEqual(try reader.contains(key), model[key] != nil, "whether \(key) is there")
        case .values(let keys):
            try requireEqual(try reader.values(forKeys: keys), keys.map { model[$0] }, "the values of \(keys)")
        case .scan(let range, let direction, let limit, let stopAfter):
            var found: [Entry] = []
            try reader.scan(range, direction, limit: limit) { key, value in
                found.append(Entry([UInt8](copying: key), [UInt8](copying: value)))
                return found.count == stopAfter ? .stop : .next
            }
            let expected = select(range, direction, from: model).prefix(min(limit, stopAfter))
            try compare(found, Array(expected), "\(range) \(direction) limit \(limit) stop \(stopAfter)")
        case .set(let key, let value):
            try transaction?.set(key, to: value)
            model[key] = value
        case .delete(let key):
            try transaction?.delete(key)
            model[key] = nil
        case .deleteAll(let range, let direction):
            var found: [Entry] = []
            try reader.scan(range, direction) { key, value in
                found.append(Entry([UInt8](copying: key), [UInt8](copying: value)))
                try transaction?.delete([UInt8](copying: key))
                return .next
            }
            let expected = select(range, direction, from: model)
            try compare(found, expected, "\(range) \(direction), deleted while scanned")
            for entry in expected { model[entry.key] = nil }
        case .expectWrites(let range):
            transaction?.expectWrites(intoEmpty: range)
        case .fail:
            throw Planned()
        }
    }

    private static func select(_ range: KeyRange, _ direction: ScanDirection, from model: Model) -> [Entry] {
        let ascending = sorted(model).filter { entry in
            !entry.key.lexicographicallyPrecedes(range.lower) && entry.key.lexicographicallyPrecedes(range.upper)
        }
        return direction == .forward ? ascending : ascending.reversed()
    }

    private static func sorted(_ model: Model) -> [Entry] {
        model.map { Entry($0.key, $0.value) }.sorted { $0.key.lexicographicallyPrecedes($1.key) }
    }

    private static func compare(_ found: [Entry], _ expected: [Entry], _ what: @autoclosure () -> String) throws {
        try requireEqual(found, expected, what())
    }

    // MARK: Drawing

    private mutating func drawOperation(writes: Bool) -> Operation {
        switch Int.random(in: 0..<(writes ? 42 : 14), using: &random) {
        case 0..<5: .value(drawKey())
        case 5..<7: .values([drawKey(), drawKey(), drawKey()])
        case 7..<14:
            .scan(
                drawRange(), drawDirection(), limit: Bool.random(using: &random) ? .max : drawCount(),
                stopAfter: Bool.random(using: &random) ? .max : drawCount() + 1)
        case 14..<30: .set(drawKey(), drawValue())
        case 30..<38: .delete(drawKey())
        case 38: .deleteAll(drawRange(), drawDirection())
        case 39...40: .expectWrites(drawRange())
        default: .fail
        }
    }

    private mutating func drawCount() -> Int { Int.random(in: 0..<6, using: &random) }

    private mutating func drawDirection() -> ScanDirection { Bool.random(using: &random) ? .forward : .backward }

    /// Few bytes and short keys, so that keys repeat, are adjacent and share prefixes.
    private mutating func drawKey() -> [UInt8] {
        let alphabet: [UInt8] = [0x00, 0x01, 0x7F, 0x80, 0xFE, 0xFF]
        return (0..<Int.random(in: 0...3, using: &random)).map { _ in
            alphabet[Int.random(in: 0..<alphabet.count, using: &random)]
        }
    }

    private mutating func drawValue() -> [UInt8] {
        [UInt8](repeating: .random(in: .min ... .max, using: &random), count: Int.random(in: 0...3, using: &random))
    }

    private mutating func drawRange() -> KeyRange {
        if Int.random(in: 0..<4, using: &random) == 0 { return .everything }
        return KeyRange(from: drawKey(), upTo: drawKey())
    }
}
