// The floors below the face, for programs of this package that need both on one store: the tool, the benchmarks.

package import StratusCloud

extension Stratus {
    /// The server of the store, with the engine in it. It is the store's until `reset()` or `close()`, and goes round the
    /// planned faults of requests, the watching and the holding back of both: who uses it answers for the order of things.
    ///
    /// Throws `StratusError` where the store was closed.
    package var service: CloudService {
        get throws { try asking { $0 } }
    }
}
