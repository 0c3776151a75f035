// The planted faults, each with the check that must find it.

import StratusStore
import StratusTestSupport

struct Plant: Sendable, CustomStringConvertible {
    let description: String
    /// The checks that must fail, by name.
    let foundBy: [String]
    let fixture: PlantedFixture

    init(
        _ description: String, foundBy: [String], reopen: (@Sendable (MemoryStore) -> MemoryStore)? = nil,
        failNextRead: @escaping @Sendable () -> Void = {},
        _ plant: @escaping @Sendable (MemoryStore) -> any OrderedStore
    ) {
        self.description = description
        self.foundBy = foundBy
        fixture = PlantedFixture(
            name: description, reopen: reopen ?? { $0.reopened() }, failNextRead: failNextRead, plant: plant)
    }

    static let all = isolation + values + expectations + scans + publication + watches + lifecycle + wire
}
