// Where a conformance check gets its stores from.

package import StratusStore

/// A kind of store.
package protocol StoreFixture: Sendable {
    /// Names the kind in failures.
    var name: String { get }

    /// What its stores say of themselves.
    var isShared: Bool { get }
    var snapshotsLast: Bool { get }

    /// Whether its places can let requests fail with a conflict.
    var injectsConflicts: Bool { get }

    /// A place of its own for one store, empty.
    func makePlace() throws -> any StorePlace
}

extension StoreFixture {
    package var isShared: Bool { false }
    package var snapshotsLast: Bool { true }
    package var injectsConflicts: Bool { false }
}

/// A place whose contents outlive a store that is opened on it: a directory, or its substitute. One store is open on it
/// at a time; `open` after `close` finds the same entries.
package protocol StorePlace: AnyObject, Sendable {
    func open() throws -> any OrderedStore

    /// Lets the next request of the open store that reads data fail with a conflict. Does nothing where the fixture
    /// injects no conflicts.
    func failNextRead()

    /// Removes the contents of the place. No store is open on it.
    func remove()
}

extension StorePlace {
    package func failNextRead() {}
}

/// Gives in-memory stores.
package struct MemoryStoreFixture: StoreFixture {
    package let name: String
    private let runsBodiesTwice: Bool

    package init(runsBodiesTwice: Bool = false) {
        self.runsBodiesTwice = runsBodiesTwice
        name = runsBodiesTwice ? "memory, bodies twice" : "memory"
    }

    package func makePlace() -> any StorePlace { MemoryPlace(runsBodiesTwice: runsBodiesTwice) }
}

private final class MemoryPlace: StorePlace {
    private let runsBodiesTwice: Bool
    private let newest = Locked<MemoryStore?>(nil)

    init(runsBodiesTwice: Bool) {
        self.runsBodiesTwice = runsBodiesTwice
    }

    func open() -> any OrderedStore {
        newest.withLock { newest in
            let store = newest?.reopened() ?? MemoryStore(runsBodiesTwice: runsBodiesTwice)
            newest = store
            return store
        }
    }

    func remove() {
        newest.withLock { $0 = nil }
    }
}

/// Gives stores at the other end of a wire, over a store in memory.
package struct TripStoreFixture: StoreFixture {
    package let name: String
    package let isShared = true
    package let injectsConflicts = true
    private let options: TripStore.Options
    private let wrap: @Sendable (TripStore) -> any OrderedStore

    package init(
        _ name: String, configure: (inout TripStore.Options) -> Void = { _ in },
        wrap: @escaping @Sendable (TripStore) -> any OrderedStore = { $0 }
    ) {
        var options = TripStore.Options()
        configure(&options)
        self.name = name
        self.options = options
        self.wrap = wrap
    }

    package func makePlace() -> any StorePlace { TripPlace(options, wrap) }
}

private final class TripPlace: StorePlace {
    private let options: TripStore.Options
    private let wrap: @Sendable (TripStore) -> any OrderedStore
    private let newest = Locked<(memory: MemoryStore, store: TripStore)?>(nil)

    init(_ options: TripStore.Options, _ wrap: @escaping @Sendable (TripStore) -> any OrderedStore) {
        self.options = options
        self.wrap = wrap
    }

    func open() -> any OrderedStore {
        wrap(
            newest.withLock { newest in
                let memory = newest?.memory.reopened() ?? MemoryStore()
                let store = TripStore(memory, options: options)
                newest = (memory, store)
                return store
            })
    }

    func failNextRead() { newest.withLock { $0?.store }?.plan(TripFault(.fetch, .conflict)) }

    func remove() {
        newest.withLock { $0 = nil }
    }
}
