// The engine's answers to single requests, in memory or on the chosen store.

import FoundationEssentials
import StratusLayout
import StratusModel
@testable import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("Record engine")
struct RecordEngineTests {
    private let engine: RecordEngine
    private let zone: ZoneID
    private static let stamp = Stamp(date: Date(timeIntervalSinceReferenceDate: 1000), user: "alice")

    init() throws {
        engine = try RecordEngine(store: TestStores.make(), incarnation: UUID())
        let database = DatabaseID(container: "c", owner: "alice", scope: .private)
        zone = ZoneID(database: database, name: "files")
        try engine.transact { [zone] in try $0.createZone(zone, Self.birth()) }
    }

    private static func birth() -> ZoneBirth {
        ZoneBirth(identity: UUID(), incarnation: UUID(), stamp: stamp, databaseIdentity: UUID())
    }

    @discardableResult
    private func apply(_ mutations: RecordMutation...) throws -> MutationPlan {
        let request = MutationRequest(mutations, stamp: Self.stamp, tagSalt: 7)
        return try engine.transact { try $0.apply(request, in: zone) }
    }

    private func refusals(_ mutations: RecordMutation...) throws -> [RecordName: Refusal] {
        let request = MutationRequest(mutations, stamp: Self.stamp, tagSalt: 7)
        do {
            try engine.transact { try $0.apply(request, in: zone) }
            return [:]
        } catch let refused as RequestRefused {
            return refused.refusals
        }
    }

    private func save(_ name: RecordName, under parent: RecordName? = nil, share: RecordName? = nil) -> RecordMutation {
        .save(Record(name: name, type: "Item", parent: parent, share: share))
    }

    @Test("a child may come before its parent in one request, and is found below it")
    func childBeforeParent() throws {
        try apply(save("child", under: "top"), save("top"))
        let (ancestors, children) = try engine.read { reader in
            let zone = try reader.existingZone(zone)
            return (try zone.ancestors(of: "child"), try zone.children(of: "top"))
        }
        #expect(ancestors == ["top"])
        #expect(children == [Child(name: "child", hasChildren: false)])
    }

    @Test("a second root is refused above, below and at the same place, naming the root and the conflicting share")
    func secondRoot() throws {
        try apply(save("a"), save("b", under: "a", share: "S1"), save("c", under: "b"))
        let first = ShareConflict(place: .above, root: "b", share: "S1")
        #expect(try refusals(save("c", under: "b", share: "S2")) == ["c": .alreadyShared(first)])
        let second = ShareConflict(place: .below, root: "b", share: "S1")
        #expect(try refusals(save("a", share: "S2")) == ["a": .alreadyShared(second)])
        let third = ShareConflict(place: .same, root: "b", share: "S1")
        #expect(try refusals(save("b", under: "a", share: "S2")) == ["b": .alreadyShared(third)])
    }

    @Test("on request, a plan names each saved record's share, judged after the whole request")
    func memberships() throws {
        try apply(save("a", share: "S1"), save("b", under: "a"), save("c", under: "b"), save("x"))
        let mutations = [save("b", under: "x"), save("c", under: "b"), save("d", under: "a"), save("e", under: "d")]
        let own = ShareMembership(root: "a", share: "S1")
        #expect(try memberships(mutations, asks: true) == ["d": own, "e": own])
        #expect(try memberships(mutations, asks: false).isEmpty)
        #expect(try memberships([save("a", under: "x", share: "S1")], asks: true) == ["a": own])
    }

    private func memberships(
        _ mutations: [RecordMutation], asks: Bool
    ) throws -> [RecordName: ShareMembership] {
        var request = MutationRequest(mutations, stamp: Self.stamp, tagSalt: 7)
        request.asksForMemberships = asks
        let asked = request
        let plan = try engine.transact { try $0.plan(asked, in: zone) }
        return plan.memberships
    }

    @Test("swapping a parent and its child in one request is no cycle, pointing both at each other is")
    func swap() throws {
        try apply(save("a"), save("b", under: "a"))
        try apply(save("b"), save("a", under: "b"))
        #expect(try engine.read { try $0.existingZone(zone).ancestors(of: "a") } == ["b"])
        #expect(
            try refusals(save("b", under: "a"), save("a", under: "b"))
                == ["b": .cycle(parent: "a")])
    }

    @Test("a record's former place is remembered, also after it moved and after it was deleted")
    func pastNodes() throws {
        try apply(save("a"), save("b"))  // 1, 2
        try apply(save("c", under: "a"))  // 3
        try apply(save("c", under: "b"))  // 4
        try apply(.delete("c"))  // 5
        try engine.read { reader in
            let zone = try reader.existingZone(zone)
            #expect(try zone.pastNode("c", asOf: 2) == nil)
            #expect(try zone.pastNode("c", asOf: 3) == PastNode(parent: "a", share: nil))
            #expect(try zone.pastNode("c", asOf: 4) == PastNode(parent: "b", share: nil))
            #expect(try zone.pastNode("c", asOf: 5) == nil)
            #expect(
                try zone.changes(after: 3) == [
                    LatestWrite(sequence: 5, name: "c", kind: .deleted(type: "Item", parent: "b"))
                ])
        }
    }

    @Test("[T-06] the entry of a saved record's change names its parent; that of the root of a share names none")
    func namedPlaces() throws {
        try apply(save("a"), save("b"))  // 1, 2
        try apply(save("c", under: "a"), save("d", under: "a"), save("e", under: "b"))  // 3, 4, 5
        try apply(.save(Record(name: "d", type: "Item", parent: "a", share: "S")))  // 6
        try apply(save("c", under: "b"))  // 7
        let places = try engine.read { reader in
            try reader.existingZone(zone).changes(after: 0).map(\.kind)
        }
        #expect(
            places == [
                .saved(.below(nil)), .saved(.below(nil)), .saved(.below("b")), .saved(.unsaid), .saved(.below("b")),
            ])
    }

    @Test("a large record that becomes small, or is deleted, leaves none of its chunks behind")
    func chunks() throws {
        for last in [RecordMutation.save(Record(name: "large", type: "Note")), .delete("large")] {
            let sample = try SampleZone()
            let content = Field(.bytes([UInt8](repeating: 7, count: 350_000)))
            try sample.apply(.save(Record(name: "large", type: "Note", fields: ["content": content])))
            let range = try sample.keys().recordWithChunks("large")
            func chunkCount() throws -> Int {
                try sample.store.read { reader in
                    var count = 0
                    try reader.scan(range) { _, _ in
                        count += 1
                        return .next
                    }
                    return count
                }
            }
            #expect(try chunkCount() == 4)
            try sample.apply(last)
            // The small record, or the tombstone.
            #expect(try chunkCount() == 1)
        }
    }

    @Test("a request that names a record twice, or has too many items, is refused")
    func contradictions() throws {
        func code(_ mutations: [RecordMutation]) -> StoreError.Code? {
            let request = MutationRequest(mutations, stamp: Self.stamp, tagSalt: 7)
            do { _ = try engine.transact { try $0.apply(request, in: zone) } } catch {
                return (error as? StoreError)?.code
            }
            return nil
        }
        #expect(code([save("a"), .delete("a")]) == .invalidRequest)
        let limit = RecordLimits().requestItemCount
        #expect(code((0...limit).map { .delete(RecordName("\($0)")) }) == .invalidRequest)
        #expect(code((0..<limit).map { .delete(RecordName("\($0)")) }) == nil)
    }

    @Test("a parent deleted together with its child is refused for both, each with its own reason")
    func deletedParent() throws {
        try apply(save("a"), save("b", under: "a"))
        #expect(
            try refusals(save("b", under: "a"), .delete("a"))
                == ["a": .hasChildren(child: "b"), "b": .parentMissing(parent: "a")])
    }

    @Test("a record can be shared after the last share below it was moved away or stopped")
    func sharesThatLeft() throws {
        try apply(save("a"), save("b", under: "a"), save("c", under: "b", share: "S1"))
        try apply(save("b"))
        #expect(try refusals(save("a", share: "S2")) == [:])
        try apply(save("c", under: "b"))
        #expect(try refusals(save("b", share: "S3")) == [:])
    }

    @Test("a parent that loses its last child has none, and one that keeps another still has children")
    func lastChild() throws {
        try apply(save("top"), save("a", under: "top"), save("b", under: "a"), save("c", under: "a"))
        func hasChildren() throws -> Bool? {
            try engine.read { try $0.existingZone(zone).children(of: "top").first?.hasChildren }
        }
        try apply(save("b"))
        #expect(try hasChildren() == true)
        try apply(.delete("c"))
        #expect(try hasChildren() == false)
    }

    @Test("a record's past as a share root is remembered after the share was stopped")
    func pastShares() throws {
        try apply(save("a", share: "S1"))  // 1
        try apply(save("a"))  // 2
        try engine.read { reader in
            let zone = try reader.existingZone(zone)
            #expect(try zone.pastNode("a", asOf: 1) == PastNode(parent: nil, share: "S1"))
            #expect(try zone.pastNode("a", asOf: 2) == PastNode(parent: nil, share: nil))
        }
    }

    @Test("after a purge, history is known from its horizon on, and expired before it")
    func purgedHistory() throws {
        try apply(save("a"), save("b"), save("c"), save("x", under: "a"))  // 1 to 4
        try apply(save("x", under: "b"))  // 5
        try apply(save("x", under: "c"))  // 6
        _ = try engine.purgeHistory(of: zone, upTo: 5)
        try engine.read { reader in
            let zone = try reader.existingZone(zone)
            #expect(try zone.pastNode("x", asOf: 5) == PastNode(parent: "b", share: nil))
            #expect(try zone.changes(after: 5).map(\.sequence) == [6])
            let error = #expect(throws: StoreError.self) { try zone.changes(after: 4) }
            #expect(error?.code == .expired)
        }
    }
}
