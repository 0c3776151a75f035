// Save policies and conflicts, through the server and the store.

import Foundation
import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import Testing

@Suite("saving records")
struct SavePolicyTests {
    @Test("[S-01] a matching tag writes the edited keys and keeps the others; another tag is serverRecordChanged")
    func unchanged() throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        let first = try bench.save(.new("a", ["title": .string("one"), "count": .int64(1)]))[0]
        var edit = RecordSave.change(first, ["title": .string("two")])
        // Values that the client holds but did not set are not sent.
        edit.fields["count"] = ClientField(.int64(99))
        let second = try bench.save(edit)[0]
        #expect(second.fields["title"] == ClientField(.string("two")))
        #expect(second.fields["count"] == ClientField(.int64(1)))
        let stale = try bench.modify([.change(first, ["title": .string("three")])]).saves[0].error
        #expect(stale?.code == .serverRecordChanged)
        #expect(stale?.innerCode == 2004)
        #expect(stale?.message == "client oplock error updating record")
        #expect(try bench.fetch(.note("a")).get() == second)
    }

    @Test("[S-04] a record without a tag for an existing ID is serverRecordChanged with the server's record")
    func insertOverExisting() throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        let first = try bench.save(.new("a", ["title": .string("one")]))[0]
        let error = try bench.modify([.new("a", ["title": .string("other")])]).saves[0].error
        #expect(error?.code == .serverRecordChanged)
        #expect(error?.message == "record to insert already exists")
        #expect(error?.serverRecord == first)
    }

    @Test("[S-05][S-06] a conflict includes the server's record, and a change merged into that record is saved")
    func merge() throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        let base = try bench.save(.new("a", ["title": .string("base")]))[0]
        try bench.save(.change(base, ["title": .string("theirs")]))
        let conflict = try bench.modify([.change(base, ["title": .string("mine")])]).saves[0].error
        let server = try #require(conflict?.serverRecord)
        #expect(server.fields["title"] == ClientField(.string("theirs")))
        #expect(try bench.modify([.change(base, ["title": .string("again")])]).saves[0].code == .serverRecordChanged)
        #expect(try bench.save(.change(server, ["title": .string("merged")]))[0].fields.count == 1)
    }

    @Test("[S-02] changedKeys and allKeys ignore the tag; keys that only the server has stay")
    func overwriting() throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        let base = try bench.save(.new("a", ["title": .string("base"), "body": .string("text")]))[0]
        try bench.save(.change(base, ["extra": .int64(7), "body": .string("newer")]))
        let changed = try bench.save(.change(base, ["title": .string("mine")]), policy: .changedKeys)[0]
        #expect(changed.fields["title"] == ClientField(.string("mine")))
        #expect(changed.fields["body"] == ClientField(.string("newer")))
        #expect(changed.fields["extra"] == ClientField(.int64(7)))
        let all = try bench.save(.change(base, ["title": .string("all")]), policy: .allKeys)[0]
        #expect(all.fields["body"] == ClientField(.string("text")))
        #expect(all.fields["extra"] == ClientField(.int64(7)))
        let insert = try bench.save(.new("a", ["title": .string("blind")]), policy: .changedKeys)[0]
        #expect(insert.fields["title"] == ClientField(.string("blind")))
        #expect(insert.fields["extra"] == ClientField(.int64(7)))
    }

    @Test("[S-02] a key that was set to nil is removed under every policy", arguments: SavePolicy.allCases)
    func removal(policy: SavePolicy) throws {
        let bench = try RecordBench(inMemory: true)
        try bench.makeNotes()
        let base = try bench.save(.new("a", ["title": .string("t"), "body": .string("b")]))[0]
        let saved = try bench.save(.change(base, ["title": nil]), policy: policy)[0]
        #expect(saved.fields.keys.sorted() == ["body"])
        #expect(try bench.fetch(.note("a")).get() == saved)
    }

    @Test("[S-08] a record with a tag that was deleted on the server is unknownItem", arguments: SavePolicy.allCases)
    func deleted(policy: SavePolicy) throws {
        let bench = try RecordBench(inMemory: true)
        try bench.makeNotes()
        let base = try bench.save(.new("a", ["title": .string("t")]))[0]
        try bench.delete(.note("a"))
        #expect(
            try bench.modify([.change(base, ["title": .string("u")])], policy: policy).saves[0].code == .unknownItem)
        #expect(try bench.save(.new("a", ["title": .string("again")]))[0].changeTag != base.changeTag)
    }

    @Test("[S-09][X-05] every save changes the tag, date and last writer; the creation stays")
    func systemFields() throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        var record = try bench.save(.new("a"))[0]
        let created = record.creationDate
        #expect(created == bench.clock.now)
        #expect(record.creatorUserName == ZoneAddress.currentUser)
        var tags: Set<String> = [record.changeTag]
        for round in 0..<5 {
            // The clock stands still, and once runs back.
            if round == 3 { bench.clock.advance(bySeconds: -60) }
            let next = try bench.save(.change(record))[0]
            #expect(next.modificationDate > record.modificationDate)
            #expect(next.creationDate == created)
            #expect(tags.insert(next.changeTag).inserted)
            record = next
        }
        #expect(try bench.fetch(.note("a")).get() == record)
    }

    @Test("[S-09] in the public database each writer is named, and the caller appears as itself")
    func writers() throws {
        let bench = try RecordBench()
        let zone = ZoneAddress.defaultZone
        let saved = try bench.save(.new("a", in: zone), in: .public)[0]
        #expect(saved.creatorUserName == ZoneAddress.currentUser)
        let seen = try bench.fetch(RecordAddress(recordName: "a"), by: bench.bob, in: .public).get()
        #expect(seen.creatorUserName == bench.alice.userName.text)
        #expect(seen.lastModifiedUserName == bench.alice.userName.text)
    }

    @Test("a record keeps its type until it is deleted")
    func typeChange() throws {
        let bench = try RecordBench(inMemory: true)
        try bench.makeNotes()
        let base = try bench.save(.new("a"))[0]
        var other = RecordSave.change(base)
        other.type = "Other"
        #expect(try bench.modify([other]).saves[0].code == .invalidArguments)
        try bench.delete(.note("a"))
        #expect(try bench.save(.new("a", type: "Other"))[0].type == "Other")
    }

    @Test("[S-12] saving into a missing zone is zoneNotFound for each item")
    func zoneNotFound() throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        let other = ZoneAddress(zoneName: "Other")
        let answer = try bench.modify([.new("a"), .new("b", in: other), .new("c", in: other)])
        #expect(answer.saves.map(\.code) == [nil, .zoneNotFound, .zoneNotFound])
        #expect(answer.saves[1].error?.innerCode == 2036)
        #expect(
            try bench.modify(deleting: [RecordAddress(recordName: "x", zone: other)]).deletes[0].code == .zoneNotFound)
        #expect(try bench.fetch(RecordAddress(recordName: "x", zone: other)).code == .zoneNotFound)
    }

    @Test("[S-20][X-04] deleting a missing record succeeds without a commit; a host option makes it unknownItem")
    func deletingNothing() throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        let commits = bench.commitCount
        try bench.delete(.note("nothing"), RecordAddress(recordName: "nothing"))
        #expect(bench.commitCount == commits)
        let strict = try RecordBench(inMemory: true) { $0.unknownRecordDeletionFails = true }
        try strict.makeNotes()
        #expect(try strict.modify(deleting: [.note("nothing")]).deletes[0].code == .unknownItem)
    }

    @Test("[S-10] parents beyond the limit of one transaction keep their tags, and their children are saved")
    func touchingTooMuch() throws {
        let bench = try RecordBench(inMemory: true) { $0.childSaveTouchesParent = true }
        try bench.makeNotes()
        let body = ClientValue.bytes(.init([UInt8](repeating: 7, count: 1_000_000)))
        let parents = try (10..<22).map { try bench.save(.new("p\($0)", ["body": body]))[0] }
        let children = (10..<22).map { RecordSave.new("c\($0)", parent: "p\($0)") }
        #expect(try bench.modify(children).saves.allSatisfy { $0.error == nil })
        let now = try (10..<22).map { try bench.fetch(.note("p\($0)")).get() }
        let touched = zip(parents, now).count { $0.changeTag != $1.changeTag }
        #expect((1..<12).contains(touched))
        #expect(zip(parents, now).allSatisfy { $0.fields == $1.fields })
    }

    @Test("[S-10][T-16] with the host's option, saving a child gives its parent a new tag; without it, it does not")
    func touching() throws {
        let touching = try RecordBench { $0.childSaveTouchesParent = true }
        try touching.makeNotes()
        let parent = try touching.save(.new("p", ["body": .bytes(.init([UInt8](repeating: 7, count: 250_000)))]))[0]
        try touching.save(.new("c", parent: "p"))
        let touched = try touching.fetch(.note("p")).get()
        #expect(touched.changeTag != parent.changeTag)
        let id = ZoneID(
            database: DatabaseID(container: RecordBench.container, owner: touching.alice.userName, scope: .private),
            name: "Notes")
        let feed = try touching.service.engine.read { try $0.existingZone(id).changes(after: 0).map(\.name.text) }
        #expect(feed == ["p", "c"])
        #expect(try touching.service.engine.verify().isClean)
        #expect(touched.modificationDate == parent.modificationDate)
        #expect(touched.fields == parent.fields)
        #expect(try touching.modify([.change(parent)]).saves[0].code == .serverRecordChanged)
        #expect(try touching.modify([.change(touched)]).saves[0].error == nil)

        let plain = try RecordBench(inMemory: true)
        try plain.makeNotes()
        let untouched = try plain.save(.new("p"))[0]
        try plain.save(.new("c", parent: "p"))
        #expect(try plain.fetch(.note("p")).get() == untouched)
    }
}
