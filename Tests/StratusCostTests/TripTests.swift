// The trips of each request over a wire, exactly, where caches only guess. `warm` is a host that has met the records
// before, `cold` one that has just started. A failing test prints what each trip asked for.
//
// Commits count as a trip; so does each snapshot's first read. On PostgreSQL a trip is a flush of a connection that
// waited for an answer, whatever was in it: the lock of the lane, BEGIN, the receipt and COMMIT too. The counts there
// are those of the store at the other end of a wire.

import Foundation
import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("trips over a wire")
struct TripTests {
    // MARK: Writing

    @Test("saving a record takes a trip to read and one to commit", arguments: TripBench.Kind.tested)
    func saveOne(on kind: TripBench.Kind) async throws {
        let request = TripRequest { bench in
            try bench.saveChain(6)
        } run: { bench, name in
            try bench.modify([TripBench.note(name, below: "c5")])
        }
        TripRequest.expect(try await request.trips(on: kind), warm: 2, cold: 10)
    }

    @Test("changing a record takes a trip to read and one to commit", arguments: TripBench.Kind.tested)
    func changeOne(on kind: TripBench.Kind) async throws {
        let request = TripRequest { bench in
            try bench.saveChain(6)
        } run: { bench, name in
            try bench.modify([TripBench.note("c5", text: name)])
        }
        TripRequest.expect(try await request.trips(on: kind), warm: 2, cold: 6)
    }

    @Test("saving 400 records takes no more trips than saving one", arguments: TripBench.Kind.tested)
    func saveMany(on kind: TripBench.Kind) async throws {
        let request = TripRequest { bench in
            try bench.saveChain(6)
        } run: { bench, name in
            try bench.modify((0..<400).map { TripBench.note("\(name) \($0)", below: "c5") })
        }
        TripRequest.expect(try await request.trips(on: kind), warm: 2, cold: 10)
    }

    @Test("moving a record takes a trip more, for what its old place has", arguments: TripBench.Kind.tested)
    func move(on kind: TripBench.Kind) async throws {
        let request = TripRequest { bench in
            try bench.saveChain(6)
            try bench.modify(TripRequest.runNames.map { TripBench.note($0, below: "c5") })
        } run: { bench, name in
            try bench.modify([TripBench.note(name, below: "c2")])
        }
        TripRequest.expect(try await request.trips(on: kind), warm: 3, cold: 7)
    }

    @Test(
        "deleting a record with 263 others that go with it takes a trip for each of three levels and one to commit",
        arguments: TripBench.Kind.tested)
    func cascade(on kind: TripBench.Kind) async throws {
        let request = TripRequest { bench in
            for name in TripRequest.runNames {
                let middle = (0..<8).map { TripBench.note("\(name) \($0)", ownedBy: name) }
                let leaves = (0..<255).map { TripBench.note("\(name) \($0 % 8) \($0)", ownedBy: "\(name) \($0 % 8)") }
                try bench.modify([TripBench.note(name)] + middle + leaves)
            }
        } run: { bench, name in
            try bench.modify(deleting: [TripBench.address(name)])
        }
        TripRequest.expect(try await request.trips(on: kind), warm: 4, cold: 7)
    }

    @Test("a guest's save takes a trip to read and one to commit", arguments: TripBench.Kind.tested)
    func guestsSave(on kind: TripBench.Kind) async throws {
        let request = TripRequest { bench in
            try bench.saveTree(depth: 3, width: 2)
            try bench.share("t")
        } run: { bench, name in
            let note = TripBench.note(name, below: "t 0 0 0", in: bench.sharedNotes)
            try bench.modify([note], by: bench.guest)
        }
        TripRequest.expect(try await request.trips(on: kind), warm: 2, cold: 9)
    }

    @Test(
        "a save with a file takes a trip more, which looks at the records before the file is stored",
        arguments: TripBench.Kind.tested)
    func saveWithFile(on kind: TripBench.Kind) async throws {
        let request = TripRequest { bench in
            try bench.saveChain(6)
        } run: { bench, name in
            var note = TripBench.note(name, below: "c5")
            note.fields["file"] = ClientField(.asset(.file(path: try bench.file("content of \(name)"))))
            note.changedKeys.insert("file")
            try bench.modify([note])
        }
        TripRequest.expect(try await request.trips(on: kind), warm: 3, cold: 11)
    }

    @Test(
        "sharing a folder takes a trip to read, one for the people and URLs, and one to commit",
        arguments: TripBench.Kind.tested)
    func share(on kind: TripBench.Kind) async throws {
        let request = TripRequest { bench in
            try bench.saveChain(6)
            try bench.modify(TripRequest.runNames.map { TripBench.note($0, below: "c5") })
        } run: { bench, name in
            try bench.modify(bench.sharing(name))
        }
        TripRequest.expect(try await request.trips(on: kind), warm: 3, cold: 13)
    }

    // MARK: Reading

    @Test("fetching 100 records takes one trip", arguments: TripBench.Kind.tested)
    func fetch(on kind: TripBench.Kind) async throws {
        let request = TripRequest { bench in
            try bench.modify((0..<100).map { TripBench.note("n\($0)") })
        } run: { bench, _ in
            try bench.fetch((0..<100).map { "n\($0)" })
        }
        TripRequest.expect(try await request.trips(on: kind), warm: 1, cold: 4)
    }

    @Test("fetching 100 records that are stored in chunks takes one trip more", arguments: TripBench.Kind.tested)
    func fetchChunks(on kind: TripBench.Kind) async throws {
        let text = String(repeating: "a long text ", count: 10_000)
        let request = TripRequest { bench in
            for start in stride(from: 0, to: 100, by: 10) {
                try bench.modify((start..<start + 10).map { TripBench.note("n\($0)", text: text) })
            }
        } run: { bench, _ in
            try bench.fetch((0..<100).map { "n\($0)" })
        }
        TripRequest.expect(try await request.trips(on: kind), warm: 2, cold: 5)
    }

    @Test("a change of a record that was stored in chunks takes one trip more", arguments: TripBench.Kind.tested)
    func changeChunks(on kind: TripBench.Kind) async throws {
        let text = String(repeating: "a long text ", count: 10_000)
        let request = TripRequest { bench in
            try bench.modify(TripRequest.runNames.map { TripBench.note($0, text: text) })
        } run: { bench, name in
            try bench.modify([TripBench.note(name)])
        }
        TripRequest.expect(try await request.trips(on: kind), warm: 3, cold: 6)
    }

    @Test("a page of an owner's first sync takes one trip", arguments: TripBench.Kind.tested)
    func ownersPage(on kind: TripBench.Kind) async throws {
        let request = TripRequest { bench in
            try bench.modify((0..<300).map { TripBench.note("n\($0)") })
        } run: { bench, _ in
            try bench.page()
        }
        TripRequest.expect(try await request.trips(on: kind), warm: 1, cold: 4)
    }

    @Test(
        "a page of 600 records of an owner's first sync takes one trip more, because their sizes are not known",
        arguments: TripBench.Kind.tested)
    func ownersLargePage(on kind: TripBench.Kind) async throws {
        let request = TripRequest { bench in
            for start in [0, 300] { try bench.modify((start..<start + 300).map { TripBench.note("n\($0)") }) }
        } run: { bench, _ in
            let changed = try bench.page(limit: 600).changed
            #expect(changed.count == 600)
        }
        TripRequest.expect(try await request.trips(on: kind, isCountedAlike: false), warm: 2, cold: 5)
    }

    @Test("a first sync passes deleted records in few trips", arguments: TripBench.Kind.tested)
    func ownersTombstones(on kind: TripBench.Kind) async throws {
        try await TestThreads.offPool {
            let bench = try TripBench(kind)
            for start in stride(from: 0, to: 1_200, by: 300) {
                try bench.modify((start..<start + 300).map { TripBench.note("n\($0 + 1_000)") })
                try bench.modify(deleting: (start + 1..<start + 300).map { TripBench.address("n\($0 + 1_000)") })
            }
            _ = try bench.page()
            let page = try bench.count { () throws in #expect(try bench.page(limit: 5).changed.count == 4) }
            // Batches of 33, which double while they add nothing.
            #expect(page.trips <= 16, "\(page.log)")
        }
    }

    @Test(
        "a page of the owner's feed takes a trip for 256 changes and one for their records, and more for 600",
        arguments: TripBench.Kind.tested)
    func ownersChanges(on kind: TripBench.Kind) async throws {
        try await TestThreads.offPool {
            let bench = try TripBench(kind)
            let token = try bench.page().token
            for start in [0, 300] { try bench.modify((start..<start + 300).map { TripBench.note("n\($0)") }) }
            let page = try bench.count { try bench.page(after: token, limit: 200) }
            #expect(page.trips == 2, "\(page.log)")
            let large = try bench.count { try bench.page(after: token, limit: 600) }
            #expect(large.trips == 5, "\(large.log)")
        }
    }

    @Test(
        "a page of the owner's feed with deletions takes no more trips, and one without changes takes one",
        arguments: TripBench.Kind.tested)
    func ownersRest(on kind: TripBench.Kind) async throws {
        try await TestThreads.offPool {
            let bench = try TripBench(kind)
            try bench.modify((0..<100).map { TripBench.note("n\($0)") })
            let token = try bench.page().token
            let nothing = try bench.count { try bench.page(after: token) }
            #expect(nothing.trips == 1, "\(nothing.log)")
            try bench.modify((0..<50).map { TripBench.note("n\($0)", text: "again") })
            try bench.modify(deleting: (50..<100).map { TripBench.address("n\($0)") })
            let page = try bench.count { try bench.page(after: token) }
            #expect(page.trips == 2, "\(page.log)")
        }
    }

    @Test(
        "a page of a query takes a trip for the zone, one for the index and one for the records",
        arguments: TripBench.Kind.tested)
    func query(on kind: TripBench.Kind) async throws {
        let request = TripRequest { bench in
            try bench.modify((0..<300).map { TripBench.note("n\($0)", text: "\(1_000 + $0)") })
        } run: { bench, _ in
            try bench.query(sorts: [QuerySort(key: "text")])
        }
        TripRequest.expect(try await request.trips(on: kind), warm: 3, cold: 6)
    }

    @Test("a page of a query with a choice of indexes counts them in one trip", arguments: TripBench.Kind.tested)
    func queryWithChoice(on kind: TripBench.Kind) async throws {
        let request = TripRequest { bench in
            try bench.modify((0..<300).map { TripBench.note("n\($0)", text: "\(1_000 + $0)") })
        } run: { bench, _ in
            try bench.query(
                filters: [QueryFilter(key: "text", comparator: .greaterThan, operand: .string("1100"))],
                sorts: [QuerySort(key: "text", isAscending: false)])
        }
        TripRequest.expect(try await request.trips(on: kind), warm: 4, cold: 7)
    }

    @Test("a known chain of 5,000 ancestors is two trips after that for the zone", arguments: TripBench.Kind.tested)
    func chain(on kind: TripBench.Kind) async throws {
        let request = TripRequest { bench in
            try bench.saveChain(5_000)
        } run: { bench, _ in
            let zone = bench.notesID
            let ancestors = try bench.service.engine.read { try $0.existingZone(zone).ancestors(of: "c4999") }
            #expect(ancestors?.count == 4_999)
        }
        let (warm, _) = try await request.trips(on: kind)
        #expect(warm.trips == 3)
    }

    @Test(
        "a page of a guest's feed takes a trip for each level of the tree, and at most six more",
        arguments: TripBench.Kind.tested)
    func guestsPage(on kind: TripBench.Kind) async throws {
        let request = TripRequest { bench in
            try bench.saveTree(depth: 5, width: 3)
            try bench.share("t")
        } run: { bench, _ in
            let changed = try bench.page(limit: 150, byGuest: true).changed
            #expect(changed.count == 150)
        }
        let count = try await request.trips(on: kind, isCountedAlike: false)
        #expect(count.warm.trips <= 5 + 6)
        TripRequest.expect(count, warm: 9, cold: 13)
    }

    @Test("the next page of a guest's feed takes no more trips than the first one", arguments: TripBench.Kind.tested)
    func guestsNextPage(on kind: TripBench.Kind) async throws {
        try await TestThreads.offPool {
            let bench = try TripBench(kind)
            try bench.saveTree(depth: 5, width: 3)
            try bench.share("t")
            let token = try bench.page(limit: 150, byGuest: true).token
            let page = try bench.count {
                let changed = try bench.page(after: token, limit: 150, byGuest: true).changed
                #expect(changed.count == 150)
            }
            #expect(page.trips == 6, "\(page.log)")
        }
    }

    @Test("a page of a zone that is shared as a whole takes few trips", arguments: TripBench.Kind.tested)
    func wholeZone(on kind: TripBench.Kind) async throws {
        try await TestThreads.offPool {
            let bench = try TripBench(kind)
            try bench.saveTree(depth: 5, width: 3)
            try bench.share(nil)
            let page = try bench.count {
                let changed = try bench.page(limit: 150, byGuest: true).changed
                #expect(changed.count == 150)
            }
            #expect(page.trips == 3, "\(page.log)")
        }
    }

    @Test(
        "a page of a guest's feed with changes takes a trip for the changes and one for the records",
        arguments: TripBench.Kind.tested)
    func guestsChanges(on kind: TripBench.Kind) async throws {
        let page = try await Self.guestsPage(on: kind, changeCount: 100, limit: 200, toldCount: 100) { _ in "t 0 0" }
        #expect(page.trips == 2, "\(page.log)")
    }

    @Test(
        "a page of a guest's feed that passes changes takes a trip for them and one for their parents, of any limit",
        arguments: TripBench.Kind.tested, [(changeCount: 256, limit: 200), (changeCount: 100, limit: 10)])
    func guestsUnseenChanges(on kind: TripBench.Kind, size: (changeCount: Int, limit: Int)) async throws {
        let page = try await Self.guestsPage(
            on: kind, changeCount: size.changeCount, limit: size.limit, toldCount: 0
        ) { "u \($0 % 100)" }
        #expect(page.trips == 2, "\(page.log)")
    }

    /// The trips of a guest's page of new records below the given ones. They see what is below "t", nothing below "u".
    private static func guestsPage(
        on kind: TripBench.Kind, changeCount: Int, limit: Int, toldCount: Int,
        below parent: @escaping @Sendable (Int) -> String
    ) async throws -> TripCount {
        try await TestThreads.offPool {
            let bench = try TripBench(kind)
            try bench.saveTree(depth: 5, width: 3)
            try bench.share("t")
            try bench.modify([TripBench.note("u")] + (0..<100).map { TripBench.note("u \($0)", below: "u") })
            let token = try bench.page(limit: 1_000, byGuest: true).token
            try bench.modify((0..<changeCount).map { TripBench.note("n\($0)", below: parent($0)) })
            return try bench.count {
                let changed = try bench.page(after: token, limit: limit, byGuest: true).changed
                #expect(changed.count == toldCount)
            }
        }
    }
}
