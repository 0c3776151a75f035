// The layers below the public API, for tests that need them: verification, and counted reads.

import StratusCloud
import StratusKit
import StratusRecords
package import StratusStore
package import StratusTestSupport

extension Town {
    /// The faults of the store, as lines; empty if it is consistent.
    package func findings() throws -> [String] {
        let service = try store.service
        let report = try service.engine.verify()
        return report.findings.map { "\($0)" }
            + (try AccountVerifier(engine: service.engine).verify().findings.map { "\($0)" })
            + (try ShareVerifier(engine: service.engine).verify().findings.map { "\($0)" })
            + (try SubscriptionVerifier(engine: service.engine).verify().findings.map { "\($0)" })
            + (try service.verifyAssets().map { "\($0)" })
    }

    /// What the store has, with names in place of numbers.
    package func entries() throws -> NamedEntries { try NamedEntries(of: store.service.engine.store) }

    /// What `body` costs the store.
    package func cost(of body: () async throws -> Void) async throws -> StoreCost {
        let engine = try store.service.engine
        let before = engine.store.statistics.cost
        try await body()
        return engine.store.statistics.cost - before
    }
}
