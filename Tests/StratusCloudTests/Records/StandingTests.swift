// Who may do what: accounts and their standing, the public database, user records, quotas.

import StratusCloud
import StratusModel
import StratusStore
import Testing

@Suite("who may write what")
struct StandingTests {
    @Test("[S-17] without an account, nothing can be written and only public data can be read")
    func noAccount() throws {
        let bench = try RecordBench()
        try bench.save(.new("a", in: .defaultZone), in: .public)
        let nobody = bench.caller(nil)
        for database in DatabaseSelector.allCases {
            let modify = ModifyRecordsRequest(saves: [.new("b", in: .defaultZone)])
            #expect(
                try thrown { _ = try bench.service.modifyRecords(modify, as: nobody, in: database) }.code
                    == .notAuthenticated)
            #expect(
                try thrown {
                    _ = try bench.service.modifyZones(
                        .init(saves: [ClientZone(address: RecordBench.notes)]), as: nobody, in: database)
                }.code == .notAuthenticated)
        }
        let fetch = FetchRecordsRequest(addresses: [RecordAddress(recordName: "a")])
        for database in [DatabaseSelector.private, .shared] {
            #expect(
                try thrown { _ = try bench.service.fetchRecords(fetch, as: nobody, in: database) }.code
                    == .notAuthenticated)
            #expect(
                try thrown { _ = try bench.service.fetchZones(.all, as: nobody, in: database) }.code
                    == .notAuthenticated)
        }
        #expect(try bench.service.fetchRecords(fetch, as: nobody, in: .public).records[0].error == nil)
        #expect(try bench.service.fetchZones(.all, as: nobody, in: .public).count == 1)
    }

    @Test(
        "[S-17] an account that must be verified, is restricted, closed or gone cannot be used",
        arguments: [
            (AccountStanding.needsVerification, CloudError.Code.accountTemporarilyUnavailable),
            (.restricted, .managedAccountRestricted), (.suspended, .notAuthenticated),
        ])
    func standing(standing: AccountStanding, code: CloudError.Code) throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        try bench.save(.new("p", in: .defaultZone), in: .public)
        _ = try bench.service.setStanding(standing, of: bench.alice.id)
        let commits = bench.commitCount
        #expect(try thrown { _ = try bench.modify([.new("a")]) }.code == code)
        #expect(try thrown { _ = try bench.modify([.new("a", in: .defaultZone)], in: .public) }.code == code)
        #expect(try thrown { _ = try bench.fetch(.note("a")) }.code == code)
        #expect(try bench.fetch(RecordAddress(recordName: "p"), in: .public).error == nil)
        #expect(bench.commitCount == commits)
        _ = try bench.service.setStanding(.good, of: bench.alice.id)
        #expect(try bench.modify([.new("a")]).saves[0].error == nil)
        try bench.service.deleteAccount(bench.alice.id)
        #expect(try thrown { _ = try bench.modify([.new("a")]) }.code == .notAuthenticated)
    }

    @Test("[S-18] anyone reads public data, any account creates it, and only its creator writes it")
    func publicData() throws {
        let bench = try RecordBench()
        let a = try bench.save(.new("a", in: .defaultZone, ["n": .int64(1)]), in: .public)[0]
        let address = RecordAddress(recordName: "a")
        for policy in SavePolicy.allCases {
            let denied = try bench.modify([.change(a, ["n": .int64(2)])], policy: policy, by: bench.bob, in: .public)
            #expect(denied.saves[0].code == .permissionFailure)
            #expect(denied.saves[0].error?.innerCode == 2007)
        }
        #expect(try bench.modify(deleting: [address], by: bench.bob, in: .public).deletes[0].code == .permissionFailure)
        #expect(try bench.fetch(address, by: bench.bob, in: .public).get().fields["n"] == ClientField(.int64(1)))
        #expect(try bench.modify([.new("b", in: .defaultZone)], by: bench.bob, in: .public).saves[0].error == nil)
        #expect(try bench.modify([.change(a, ["n": .int64(3)])], in: .public).saves[0].error == nil)
        #expect(try bench.modify(deleting: [address], in: .public).deletes[0].error == nil)
    }

    @Test("each account sees only its own private records, and none through a claimed owner name")
    func privacy() throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        try bench.save(.new("a"))
        #expect(try bench.fetch(.note("a"), by: bench.bob).code == .zoneNotFound)
        try bench.makeZone(RecordBench.notes, by: bench.bob)
        #expect(try bench.fetch(.note("a"), by: bench.bob).code == .unknownItem)
        let claimed = RecordAddress(
            recordName: "a", zone: ZoneAddress(zoneName: "Notes", ownerName: bench.alice.userName.text))
        #expect(try bench.fetch(claimed, by: bench.bob).code == .invalidArguments)
        #expect(try bench.fetch(claimed, by: bench.bob, in: .shared).code == .zoneNotFound)
        let save = RecordSave(address: claimed, type: "Note")
        #expect(try bench.modify([save], by: bench.bob).saves[0].code == .invalidArguments)
        #expect(try bench.modify([save], by: bench.bob, in: .shared).saves[0].code == .zoneNotFound)
        #expect(try bench.modify([.new("a")], in: .shared).saves[0].code == .invalidArguments)
        #expect(try bench.fetch(.note("a")).error == nil)
    }

    @Test(
        "[S-15] a user record exists from the start, is changed only by its person, and is neither created nor deleted")
    func userRecords() throws {
        let bench = try RecordBench()
        let own = RecordAddress(recordName: bench.alice.userName.text)
        for database in [DatabaseSelector.private, .public] {
            let commits = bench.commitCount
            let fetched = try bench.fetch(own, in: database).get()
            #expect(bench.commitCount == commits)
            #expect(fetched.type == "Users")
            #expect(fetched.creationDate == bench.alice.created)
            bench.clock.advance(bySeconds: 10)
            let saved = try bench.save(.change(fetched, ["nick": .string("Al")]), in: database)[0]
            #expect(saved.creationDate == fetched.creationDate)
            #expect(saved.modificationDate > fetched.modificationDate)
            #expect(try bench.fetch(own, in: database).get() == saved)
            #expect(try bench.modify([.change(fetched)], in: database).saves[0].code == .serverRecordChanged)
            #expect(try bench.modify(deleting: [own], in: database).deletes[0].code == .permissionFailure)
            #expect(
                try bench.modify([.new("made", in: .defaultZone, type: "Users")], in: database).saves[0].code
                    == .permissionFailure)
            #expect(
                try bench.modify([.new(own.recordName, in: .defaultZone)], in: database).saves[0].code
                    == .invalidArguments)
        }
        try bench.makeNotes()
        #expect(try bench.modify([.new("made", type: "Users")]).saves[0].code == .permissionFailure)
        let theirs = RecordAddress(recordName: bench.bob.userName.text)
        #expect(try bench.fetch(theirs).code == .unknownItem)
        let seen = try bench.fetch(theirs, in: .public).get()
        #expect(seen.creatorUserName == bench.bob.userName.text)
        #expect(try bench.modify([.change(seen)], in: .public).saves[0].code == .permissionFailure)
        #expect(try bench.fetch(RecordAddress(recordName: "_nobody"), in: .public).code == .unknownItem)
    }

    @Test(
        "[S-15][R-03] a user record outlives the records it refers to, whatever the action",
        arguments: [DatabaseSelector.private, .public])
    func userRecordsOutlive(database: DatabaseSelector) throws {
        let bench = try RecordBench()
        let own = RecordAddress(recordName: bench.alice.userName.text)
        let (target, holder) = (RecordAddress(recordName: "target"), RecordAddress(recordName: "holder"))
        try bench.save(.new("target", in: .defaultZone), in: database)
        let user = try bench.fetch(own, in: database).get()
        let reference = ClientValue.owned(by: "target", in: .defaultZone)
        try bench.save(
            .change(user, ["home": reference]), .new("holder", in: .defaultZone, ["home": reference]), in: database)
        _ = try bench.modify(deleting: [target], in: database).deletes[0].get()
        #expect(try bench.fetch(holder, in: database).code == .unknownItem)
        // A user record that was deleted would be there, too, without its values.
        #expect(try bench.fetch(own, in: database).get().fields["home"]?.value == reference)
    }

    @Test("[S-16] private data is charged to its owner, public data to no one; over the quota is quotaExceeded")
    func quota() throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        _ = try bench.service.changeAccount(bench.alice.id) { $0.quotaByteCount = 2_000 }
        let body = ClientValue.string(String(repeating: "x", count: 800))
        let first = try bench.save(.new("a", ["body": body]))[0]
        try bench.save(.new("b", in: .defaultZone, ["body": body]))
        let before = try bench.service.usage(of: bench.alice.userName)
        #expect(before > 1_600)
        #expect(before <= 2_000)
        let commits = bench.commitCount
        #expect(
            try bench.modify([.new("c", ["body": body]), .new("d")]).saves.map(\.code) == [
                .quotaExceeded, .quotaExceeded,
            ])
        #expect(bench.commitCount == commits)
        let mixed = try bench.modify([.new("c", ["body": body]), .new("d")], atomic: false)
        #expect(mixed.saves.map(\.code) == [.quotaExceeded, nil])
        // Public data, other people, and requests that free space are not affected.
        try bench.save(.new("p", in: .defaultZone, ["body": body]), in: .public)
        try bench.save(.new("q", in: .defaultZone, ["body": body]), by: bench.bob)
        try bench.save(.change(first, ["body": nil]))
        try bench.save(.new("c", ["body": body]))
        try bench.delete(.note("a"), .note("c"), .note("d"), RecordAddress(recordName: "b"))
        #expect(try bench.service.usage(of: bench.alice.userName) == 0)
    }

    @Test("[S-16][Z-04] deleting a zone frees the quota of its records, and a cascade that of the records it deletes")
    func quotaOfZones() throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        try bench.save(.new("kept", in: .defaultZone, ["n": .int64(1)]))
        let before = try bench.service.usage(of: bench.alice.userName)
        try bench.save(.new("a"), .new("b", ["owner": .owned(by: "a")]))
        try bench.delete(.note("a"))
        #expect(try bench.service.usage(of: bench.alice.userName) == before)
        try bench.save(.new("c", ["body": .string("text")]))
        _ = try bench.service.modifyZones(
            .init(deletes: [RecordBench.notes]), as: bench.caller(bench.alice), in: .private)
        #expect(try bench.service.usage(of: bench.alice.userName) == before)
    }

    @Test("[S-13] production refuses unknown types and fields; development learns them")
    func schema() throws {
        let development = try RecordBench()
        try development.makeNotes()
        try development.save(.new("a", ["n": .int64(1)]))
        let production = try RecordBench(inMemory: true) { $0.schemaMode = .production }
        try production.makeNotes()
        let error = try production.modify([.new("a", ["n": .int64(1)])]).saves[0].error
        #expect(error?.code == .invalidArguments)
        #expect(error?.innerCode == 2006)
    }

    @Test("[S-14] a value of a type other than the field's is invalidArguments")
    func wrongType() throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        let saved = try bench.save(.new("a", ["n": .int64(1)]))[0]
        let error = try bench.modify([.change(saved, ["n": .string("one")])]).saves[0].error
        #expect(error?.code == .invalidArguments)
        #expect(error?.innerCode == 2006)
        #expect(error?.message.contains("invalid attempt to set value type") == true)
        // Fields of failed requests are not learnt.
        #expect(
            try bench.modify([.new("a"), .new("b", ["other": .int64(1)])]).saves.map(\.code)
                == [.serverRecordChanged, .batchRequestFailed])
        #expect(try bench.modify([.new("b", ["other": .string("text")])]).saves[0].error == nil)
    }
}
