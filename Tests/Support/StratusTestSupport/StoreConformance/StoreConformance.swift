// The conformance suite: the required behaviour of every store, on any engine. A check gets a fixture and throws its
// findings.
//
// Checks are data, so that each store's tests run all of them by one parameterised test, and so that tests of the suite
// itself can show which check finds which fault. Checks block their thread; run them with `TestThreads.offPool`.

internal import StratusStore

/// The checks every store must pass.
package enum StoreConformance {
    /// What a check needs of a store besides its conformance.
    package enum Needs: Sendable {
        case nothing
        /// No other process writes to the store.
        case unshared
        /// Snapshots can be read for hours.
        case lasting
        /// The fixture lets single requests of the store fail with a conflict.
        case faults
    }

    package struct Check: Sendable, CustomStringConvertible {
        /// A sentence about behaviour.
        package let name: String
        /// Whether the check fails bodies on purpose, which a store that runs bodies twice by itself would swallow.
        package let plansFaults: Bool
        package let needs: Needs
        package let run: @Sendable (any StoreFixture) throws -> Void

        package var description: String { name }

        /// A check that needs one open store.
        init(
            _ name: String, plansFaults: Bool = false, needs: Needs = .nothing,
            _ body: @escaping @Sendable (any OrderedStore) throws -> Void
        ) {
            self.init(
                name, plansFaults: plansFaults, needs: needs,
                onPlace: { place in
                    let store = try place.open()
                    defer { store.close() }
                    try body(store)
                })
        }

        /// A check that opens stores on a place itself.
        init(
            _ name: String, plansFaults: Bool = false, needs: Needs = .nothing,
            onPlace body: @escaping @Sendable (any StorePlace) throws -> Void
        ) {
            self.name = name
            self.plansFaults = plansFaults
            self.needs = needs
            run = { fixture in
                let place = try fixture.makePlace()
                defer { place.remove() }
                do {
                    try body(place)
                } catch {
                    throw ConformanceFailure("\(fixture.name): \(name): \(error)")
                }
            }
        }
    }

    package static let allChecks: [Check] =
        valueChecks + limitChecks + scanChecks + ownWriteChecks + serializabilityChecks + snapshotChecks
        + publicationChecks + lifecycleChecks + costChecks + retryChecks + historyChecks + prefetchingChecks
        + laneChecks + watchChecks + fetchedReadChecks + sharedLaneChecks

    /// The checks for stores of a fixture.
    package static func checks(for fixture: any StoreFixture) -> [Check] {
        allChecks.filter { check in
            switch check.needs {
            case .nothing: true
            case .unshared: !fixture.isShared
            case .lasting: fixture.snapshotsLast
            case .faults: fixture.injectsConflicts
            }
        }
    }

    /// Runs the check of that name.
    package static func run(_ name: String, _ fixture: any StoreFixture) throws {
        guard let check = allChecks.first(where: { $0.name == name }) else {
            throw ConformanceFailure("there is no check named \(name)")
        }
        try check.run(fixture)
    }
}

// MARK: What checks are written with

func require(_ condition: Bool, _ message: @autoclosure () -> String) throws {
    guard condition else { throw ConformanceFailure(message()) }
}

func requireEqual<Value: Equatable>(
    _ found: Value, _ expected: Value, _ what: @autoclosure () -> String
) throws {
    guard found == expected else {
        throw ConformanceFailure("\(what()): found \(found), expected \(expected)")
    }
}

/// Requires that `body` fails with a `StoreError` of that code.
func requireStoreError(_ code: StoreError.Code, _ what: @autoclosure () -> String, _ body: () throws -> Void) throws {
    do {
        try body()
    } catch let error as StoreError {
        return try requireEqual(error.code, code, what())
    }
    throw ConformanceFailure("\(what()): nothing was thrown, expected \(code)")
}

/// An entry as checks compare it.
struct Entry: Equatable, CustomStringConvertible {
    var key: [UInt8]
    var value: [UInt8]

    init(_ key: [UInt8], _ value: [UInt8]) {
        self.key = key
        self.value = value
    }

    var description: String { "\(key)=\(value.count > 16 ? "\(value.count) bytes" : "\(value)")" }
}

extension KeyRange {
    /// Every key a check writes: none begins with four bytes FF.
    static let everything = KeyRange(from: [], upTo: [0xFF, 0xFF, 0xFF, 0xFF])
}

extension StoreReader {
    func entries(
        _ range: KeyRange = .everything, _ direction: ScanDirection = .forward, limit: Int = .max
    ) throws -> [Entry] {
        var entries: [Entry] = []
        try scan(range, direction, limit: limit) { key, value in
            entries.append(Entry([UInt8](copying: key), [UInt8](copying: value)))
            return .next
        }
        return entries
    }

    func number(forKey key: [UInt8]) throws -> Int {
        try withValue(forKey: key) { span in
            var number = 0
            for index in span.indices { number = number << 8 | Int(span[index]) }
            return number
        } ?? 0
    }
}

extension StoreTransaction {
    func setNumber(_ number: Int, forKey key: [UInt8]) throws {
        try set(key, to: [UInt8(number >> 16 & 0xFF), UInt8(number >> 8 & 0xFF), UInt8(number & 0xFF)])
    }
}

extension OrderedStore {
    func entries() throws -> [Entry] {
        try read { try $0.entries() }
    }

    func set(_ entries: [Entry]) throws {
        try transact { transaction in
            for entry in entries { try transaction.set(entry.key, to: entry.value) }
        }
    }
}
