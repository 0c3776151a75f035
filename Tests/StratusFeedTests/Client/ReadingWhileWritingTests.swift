// Readers that page while others really write at the same time. Which moment a page shows cannot be said then; what was
// never to be seen must not be told, and in the end the replicas are what there is.

import StratusKit
import StratusSharingSupport
import StratusTestSupport
import Synchronization
import Testing

@Suite("Reading while others write")
struct ReadingWhileWritingTests {
    /// One reader's replica.
    private struct Replica {
        var tags: [String: String] = [:]
        var token: CKServerChangeToken?

        /// Takes in one page.
        mutating func read(as person: Person, _ place: Place, limit: Int) async throws -> Bool {
            let page = try await person.pull(place, since: token, limit: limit)
            for (name, record) in page.records { tags[name] = record.recordChangeTag ?? "" }
            for name in page.deleted.keys { tags[name] = nil }
            token = page.token
            #expect(tags.keys.allSatisfy { !$0.hasPrefix("x") } || person.owns(place), "what is hidden was told")
            return page.isMoreComing
        }

        mutating func drain(as person: Person, _ place: Place) async throws {
            while try await read(as: person, place, limit: 3) {}
        }
    }

    /// Whether the writer is done.
    private final class End: Sendable {
        let hasCome = Atomic(false)
    }

    private static let movingNames = (0..<6).map { "m\($0)" }

    /// Moves records into the shared tree and out of it, and others about that are never in it.
    private func write(_ tree: TreeTown, seed: UInt64) async throws {
        var random = SplitMix64(seed: seed)
        for step in 0..<60 {
            let name = random.element(of: Self.movingNames)
            let outcome =
                switch random.below(6) {
                case 0: await tree.owner.delete(name, in: tree.place)
                case 1: await tree.owner.change("x\(random.below(3))", to: step, in: tree.place)
                case 2: await tree.owner.move(name, under: random.element(of: Self.movingNames), in: tree.place)
                default:
                    await tree.owner.move(
                        name, under: random.element(of: ["top", "left", "lone", "leaf"]), in: tree.place)
                }
            // A parent may not be there, or be below.
            let allowed: Answers = [.done, .refused(.referenceViolation)]
            #expect(allowed.contains(outcome), "\(outcome)")
        }
    }

    @Test("[D-12][T-06] replicas that were paged while others wrote are what there is", arguments: 1...2)
    func racing(seed: Int) async throws {
        let tree = try await TreeTown()
        try await tree.share("top", with: tree.ann)
        let end = End()
        let readers = [tree.owner, tree.ann]
        try await withThrowingTaskGroup { group in
            group.addTask {
                defer { end.hasCome.store(true, ordering: .releasing) }
                try await write(tree, seed: UInt64(seed))
            }
            for (index, person) in readers.enumerated() {
                group.addTask {
                    var replica = Replica()
                    while !end.hasCome.load(ordering: .acquiring) {
                        _ = try await replica.read(as: person, tree.place, limit: 1 + index)
                    }
                    try await replica.drain(as: person, tree.place)
                    let names = TreeTown.names + Self.movingNames + ["x0", "x1", "x2", "Share"]
                    let answers = try await person.database(tree.place).records(
                        for: names.map { person.recordID($0, in: tree.place) })
                    var there: [String: String] = [:]
                    for (id, result) in answers { there[id.recordName] = try? result.get().recordChangeTag }
                    #expect(replica.tags == there, "\(person)")
                }
            }
            try await group.waitForAll()
        }
    }
}
