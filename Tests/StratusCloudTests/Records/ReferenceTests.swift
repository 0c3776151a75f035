// References, parents, and cascades.

import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import Testing

@Suite("references and parents")
struct ReferenceTests {
    @Test("[R-01][R-10] references and parents must be in the same zone and database")
    func otherZones() throws {
        let bench = try RecordBench()
        let other = ZoneAddress(zoneName: "Other")
        try bench.makeNotes()
        try bench.makeZone(other)
        let own = ZoneAddress(zoneName: "Notes", ownerName: bench.alice.userName.text)
        let foreign = ZoneAddress(zoneName: "Notes", ownerName: bench.bob.userName.text)
        for zone in [other, .defaultZone, foreign] {
            #expect(try bench.modify([.new("a", ["link": .link("x", in: zone)])]).saves[0].code == .invalidArguments)
            #expect(
                try bench.modify([.new("a", ["links": .list([.link("y"), .link("x", in: zone)])])]).saves[0].code
                    == .invalidArguments)
            var save = RecordSave.new("a")
            save.parent = .parent("p", in: zone)
            #expect(try bench.modify([save]).saves[0].code == .invalidArguments)
        }
        // The caller's own name is the caller.
        let saved = try bench.save(.new("a", ["link": .link("x", in: own)]))[0]
        #expect(saved.fields["link"] == ClientField(.link("x")))
    }

    @Test("[R-02][R-06] an ordinary reference need not resolve, and dangles after its target is deleted")
    func dangling() throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        try bench.save(.new("a", ["link": .link("b"), "owner": .owned(by: "nobody")]), .new("b"))
        let before = try bench.fetch(.note("a")).get()
        try bench.delete(.note("b"))
        #expect(try bench.fetch(.note("a")).get() == before)
    }

    @Test("[R-03][R-04] deleteSelf deletes the referring records at any depth, in one commit and in the feed")
    func cascade() throws {
        let bench = try RecordBench()
        for zone in [RecordBench.notes, .defaultZone] {
            if zone == RecordBench.notes { try bench.makeNotes() }
            var saves = [RecordSave.new("r0", in: zone)]
            for index in 1..<60 {
                saves.append(.new("r\(index)", in: zone, ["owner": .owned(by: "r\(index - 1)", in: zone)]))
            }
            saves.append(.new("listed", in: zone, ["owners": .list([.link("x", in: zone)])]))
            saves.append(
                .new("also", in: zone, ["owners": .list([.owned(by: "r7", in: zone), .owned(by: "r9", in: zone)])]))
            _ = try bench.modify(saves).saves.map { try $0.get() }
            let commits = bench.commitCount
            let answer = try bench.modify(deleting: [RecordAddress(recordName: "r0", zone: zone)])
            #expect(answer.deletes.count == 1)
            #expect(bench.commitCount == commits + 1)
            for name in ["r0", "r1", "r59", "also"] {
                #expect(try !bench.exists(RecordAddress(recordName: name, zone: zone)), "\(name)")
            }
            #expect(try bench.exists(RecordAddress(recordName: "listed", zone: zone)))
            let id = ZoneID(
                database: DatabaseID(
                    container: RecordBench.container, owner: bench.alice.userName, scope: .private),
                name: ZoneName(zone.zoneName))
            let deleted = try bench.service.engine.read { reader in
                try reader.existingZone(id).changes(after: 0).filter { change in
                    if case .deleted = change.kind { true } else { false }
                }
            }
            #expect(deleted.count == 61)
        }
    }

    @Test("[R-05] circular references are allowed, and a cascade visits each once")
    func circles() throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        try bench.save(
            .new("a", ["owner": .owned(by: "b")]), .new("b", ["owner": .owned(by: "a")]),
            .new("self", ["owner": .owned(by: "self")]))
        try bench.delete(.note("a"), .note("self"))
        #expect(try !bench.exists(.note("b")))
    }

    @Test("a record that is saved in the same request is not deleted by a cascade")
    func savedStays() throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        let child = try bench.save(.new("c", ["owner": .owned(by: "p")]), .new("p"))[0]
        let answer = try bench.modify([.change(child, ["owner": nil])], deleting: [.note("p")])
        #expect(answer.saves[0].error == nil)
        #expect(try bench.exists(.note("c")))
        #expect(try !bench.exists(.note("p")))
    }

    @Test("[R-07] a parent must exist or be in the same batch")
    func missingParent() throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        let error = try bench.modify([.new("a", parent: "missing")]).saves[0].error
        #expect(error?.code == .referenceViolation)
        try bench.save(.new("missing"), .new("a", parent: "missing"))
        #expect(try bench.modify([.new("b", parent: "a")], deleting: [.note("a")]).saves[0].code == .referenceViolation)
    }

    @Test("[R-08] a record that is still a parent cannot be deleted, unless its children go or move in the same batch")
    func parentInUse() throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        try bench.save(.new("p"), .new("c", parent: "p"))
        let error = try bench.modify(deleting: [.note("p")]).deletes[0].error
        #expect(error?.code == .referenceViolation)
        #expect(error?.message == "Record delete would violate validating reference ([c]), rejecting update")
        let child = try bench.fetch(.note("c")).get()
        let moved = try bench.modify([RecordSave.change(child).with(parent: nil)], deleting: [.note("p")])
        #expect(moved.saves[0].error == nil)
        #expect(moved.deletes[0].error == nil)
        try bench.save(.new("p"), .new("d", parent: "p"))
        try bench.delete(.note("p"), .note("d"))
        #expect(try !bench.exists(.note("d")))
    }

    @Test("[R-09] a parent never cascades; with an additional deleteSelf reference the subtree can be deleted at once")
    func parentAndOwner() throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        try bench.save(
            .new("p"), .new("c", parent: "p", ["owner": .owned(by: "p")]),
            .new("d", parent: "c", ["owner": .owned(by: "c")]))
        try bench.delete(.note("p"))
        #expect(try !bench.exists(.note("d")))
        // A child that does not go with the cascade blocks the request, and the error is the item's.
        try bench.save(
            .new("p"), .new("c", parent: "p", ["owner": .owned(by: "p")]), .new("plain", parent: "c"), .new("z"))
        let answer = try bench.modify(deleting: [.note("z"), .note("p")])
        #expect(answer.deletes.map(\.code) == [.batchRequestFailed, .referenceViolation])
        #expect(try bench.exists(.note("c")))
    }

    @Test("[R-10] parents that would form a cycle are refused")
    func cycles() throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        let saved = try bench.save(.new("a"), .new("b", parent: "a"))
        #expect(
            try bench.modify([RecordSave.change(saved[0]).with(parent: "b")]).saves[0].code == .referenceViolation)
        #expect(
            try bench.modify([RecordSave.change(saved[0]).with(parent: "a")]).saves[0].code == .referenceViolation)
    }

    @Test("[C-09] a parent with an action is refused")
    func parentAction() throws {
        let bench = try RecordBench(inMemory: true)
        try bench.makeNotes()
        var save = RecordSave.new("a")
        save.parent = ClientReference(target: .note("p"), action: .deleteSelf)
        #expect(try bench.modify([save, .new("p")]).saves.map(\.code) == [.invalidArguments, .batchRequestFailed])
    }

    @Test("[L-05] at most 750 records may refer to one record with deleteSelf")
    func owningReferences() throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        func holders(_ range: Range<Int>) -> [RecordSave] {
            range.map { RecordSave.new("r\($0)", ["owner": .owned(by: "top")]) }
        }
        _ = try bench.modify(holders(0..<400)).saves.map { try $0.get() }
        let over = try bench.modify(holders(400..<760), atomic: false).saves
        #expect(over.map(\.code) == (400..<760).map { $0 < 750 ? nil : .limitExceeded })
        #expect(over[359].error?.innerCode == 2023)
        let atomic = try bench.modify([.new("x"), .new("r800", ["owner": .owned(by: "top")])]).saves
        #expect(atomic.map(\.code) == [.batchRequestFailed, .limitExceeded])
        // A record that holds the reference already may be saved again, and a freed place can be used.
        try bench.save(.change(try bench.fetch(.note("r5")).get(), ["owner": .owned(by: "top")]))
        let swap = try bench.modify([.new("r900", ["owner": .owned(by: "top")])], deleting: [.note("r6")])
        #expect(swap.saves[0].error == nil)
    }

    @Test("[R-03] a record that changed after it got its reference is still deleted with its target")
    func changedHolders() throws {
        let bench = try RecordBench(inMemory: true)
        try bench.makeNotes()
        let saved = try bench.save(.new("target"), .new("holder", ["owner": .owned(by: "target")]))
        try bench.save(.change(saved[1], ["title": .string("changed")]))
        try bench.delete(.note("target"))
        #expect(try !bench.exists(.note("holder")))
    }
}
