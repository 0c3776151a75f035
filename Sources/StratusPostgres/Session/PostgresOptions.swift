// What a program says when it opens a store on a server.

package import StratusStore

/// What a program does with a store on a server.
package enum StoreUse: Hashable, Sendable {
    /// Reads and writes, as one of any number of hosts.
    case hosting
    /// Reads and writes while no host does: for work that changes what hosts take for settled.
    case alone
    /// Reads only, beside a host. It takes no lease and creates nothing.
    case reading
}

/// An entry that every transaction and snapshot reads first: the store's format. A newer program that changes it so
/// stops the older ones.
package struct FormatCheck: Sendable {
    package let key: [UInt8]
    /// Throws a `StoreError` if the program may not use the store. The value is nil while a store is new.
    package let verify: @Sendable (_ value: [UInt8]?) throws -> Void

    package init(key: [UInt8], verify: @escaping @Sendable (_ value: [UInt8]?) throws -> Void) {
        self.key = key
        self.verify = verify
    }
}

/// How a store on a server is opened.
package struct PostgresOptions: Sendable {
    package var use = StoreUse.hosting
    package var pool = PoolLimits()
    package var wire = WireOptions()
    /// Whether tables are created where there are none. A host whose role may not create them needs `stratus init`.
    /// Tables of an older layout are changed in any case.
    package var createsTables = true
    /// How long opening waits for others that exclude it to end or to be found dead.
    package var leaseWaitSeconds = 10.0
    /// What a host that is refused shows of this one, beside the process: the machine's name.
    package var hostName = ""
    /// Ranges whose changes other processes on the store are woken for, if they watch them. Without any there is no
    /// connection for that, and nothing is heard of other processes.
    package var announcedRanges: [KeyRange] = []
    /// How long opening tries to reach the server.
    package var openingSeconds = 30.0
    /// Random bits, from the system's generator: for receipts, for the name of a holder, and for pauses.
    package var random: @Sendable () -> UInt64
    /// Gets what an operator should know while the store is open. Nothing has failed.
    package var onEvent: @Sendable (StoreError) -> Void = { _ in }
    package var testHooks = PostgresTestHooks()

    package init(random: @escaping @Sendable () -> UInt64) {
        self.random = random
    }
}

/// What only tests change.
package struct PostgresTestHooks: Sendable {
    /// Asked before each fetch whether it fails with a conflict.
    package var failsNextFetch: (@Sendable () -> Bool)?
    /// Asked before each beat of the host's lease whether it is left out, as in a process that is paused.
    package var holdsBeats: (@Sendable () -> Bool)?
    /// Asked as each commit is sent how long it waits for its answer before another connection is asked what became of
    /// it.
    package var commitPatienceSeconds: @Sendable () -> Double = { 60 }
    /// How long upkeep waits after each round.
    package var upkeepSeconds: Double?
    /// How long a take-over waits for sessions that it may not end: the server ends them, or their network does.
    package var fenceSeconds = 60.0

    package init() {}
}

extension PostgresOptions {
    /// Sixteen random bytes.
    func randomIdentity() -> [UInt8] {
        [random(), random()].flatMap { bits in (0..<8).map { UInt8(truncatingIfNeeded: bits >> ($0 * 8)) } }
    }

    /// A random number from 0 to 1.
    func randomFraction() -> Double { Double(random() >> 11) / Double(1 << 53) }
}
