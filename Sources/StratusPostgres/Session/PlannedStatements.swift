// A plan of reads, and the writes of a commit, as statements of the server.
//
// Invariants:
//   1. A statement has at most 1,000 keys or one MiB, so that no message and no list of parameters grows without limit.
//   2. Results arrive in the order of the statements. The entries of a look-up arrive in no order.

internal import StratusStore

/// The statements of one plan.
struct PlannedStatements {
    private let plan: ReadPlan
    /// A key that is read with the plan, but is not a part of its answer.
    private let extraKey: [UInt8]?
    private let keyGroups: [ArraySlice<[UInt8]>]

    init(_ plan: ReadPlan, extraKey: [UInt8]?) {
        self.plan = plan
        self.extraKey = extraKey
        let keys = plan.keys + (extraKey.map { [$0] } ?? [])
        keyGroups = StatementGroups.split(keys) { $0.count }
    }

    func send(on connection: PostgresConnection) throws(ServerError) {
        for keys in keyGroups {
            var parameters = StatementParameters()
            parameters.add(array: keys)
            try connection.send(.get, parameters)
        }
        for scan in plan.scans {
            var parameters = StatementParameters()
            parameters.add(scan.range.lower)
            parameters.add(scan.range.upper)
            parameters.add(Int64(scan.limit))
            try connection.send(scan.direction == .forward ? .up : .down, parameters)
        }
    }

    /// The answer to the plan, and the value of the extra key. There is a result for each statement.
    func answer(from results: [QueryResult]) throws -> (reads: FetchedReads, extra: [UInt8]?) {
        var found: [HashedKey: [UInt8]] = [:]
        for result in results.prefix(keyGroups.count) {
            for row in 0..<result.rowCount {
                found[HashedKey(try Self.bytes(result, row, 0))] = try Self.bytes(result, row, 1)
            }
        }
        var pages: [FetchedPage] = []
        for (scan, result) in zip(plan.scans, results.dropFirst(keyGroups.count)) {
            let entries = try (0..<result.rowCount).map { row in
                (key: try Self.bytes(result, row, 0), value: try Self.bytes(result, row, 1))
            }
            pages.append(FetchedPage(entries: entries, isComplete: entries.count < scan.limit))
        }
        let reads = FetchedReads(values: plan.keys.map { found[HashedKey($0)] }, pages: pages)
        return (reads, extraKey.flatMap { found[HashedKey($0)] })
    }

    private static func bytes(_ result: QueryResult, _ row: Int, _ column: Int) throws -> [UInt8] {
        guard let bytes = try result.bytes(row, column) else {
            throw StoreError(
                .corruption, "An entry has no key or no value: another program has changed the tables.",
                damage: .entry)
        }
        return bytes
    }
}

extension WrittenEntries {
    /// Sends the writes, each kind in the order of its keys.
    func send(on connection: PostgresConnection) throws(ServerError) {
        for keys in StatementGroups.split(deletes, byteCount: { $0.count }) {
            var parameters = StatementParameters()
            parameters.add(array: keys)
            try connection.send(.delete, parameters)
        }
        for (bound, isDivided) in divisions.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            var parameters = StatementParameters()
            parameters.add(bound)
            try connection.send(isDivided ? .divide : .unite, parameters)
        }
        try Self.send(sets, .put, on: connection)
        try Self.send(inserts, .insert, on: connection)
    }

    private static func send(
        _ entries: [(key: [UInt8], value: [UInt8])], _ statement: Statement, on connection: PostgresConnection
    ) throws(ServerError) {
        for entries in StatementGroups.split(entries, byteCount: { $0.key.count + $0.value.count }) {
            var parameters = StatementParameters()
            parameters.add(array: entries.map(\.key))
            parameters.add(array: entries.map(\.value))
            try connection.send(statement, parameters)
        }
    }
}

/// Cuts lists of keys or entries.
private enum StatementGroups {
    private static let elementCount = 1_000
    private static let byteCount = 1 << 20

    /// Parts that fit into a statement each. One element always does.
    static func split<Element>(_ elements: [Element], byteCount size: (Element) -> Int) -> [ArraySlice<Element>] {
        var groups: [ArraySlice<Element>] = []
        var start = 0
        var bytes = 0
        for (index, element) in elements.enumerated() {
            let isFull = index - start == elementCount || bytes + size(element) > byteCount
            if isFull, index > start {
                groups.append(elements[start..<index])
                start = index
                bytes = 0
            }
            bytes += size(element)
        }
        if start < elements.count { groups.append(elements[start...]) }
        return groups
    }
}
