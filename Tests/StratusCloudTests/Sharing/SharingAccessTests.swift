// Who may read, create, change and delete which record of another's zone.

import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("access to shared records")
struct SharingAccessTests {
    /// Alice's folder with a file and a page in it, and a note next to it.
    private static func folder(_ bench: RecordBench) throws {
        _ = try bench.modify([
            .new("top"), .new("folder", parent: "top"), .new("file", parent: "folder"), .new("page", parent: "file"),
            .new("note"), .new("sibling", parent: "top"),
        ]).saves.map { try $0.get() }
    }

    private static let names = ["top", "folder", "file", "page", "note", "sibling", "Share"]

    @Test(
        "[R-13][SH-05][D-01][D-03][X-06] a participant sees the share, its root and its descendants, and nothing else")
    func hierarchical() throws {
        let bench = try RecordBench.forSharing()
        try Self.folder(bench)
        let share = try bench.share("folder", as: "Share", with: [.email("bob@example.com")])
        #expect(try bench.seen(Self.names, by: bench.bob).isEmpty)
        _ = try bench.accept(share, by: bench.bob).get()
        #expect(try bench.seen(Self.names, by: bench.bob) == ["folder", "file", "page", "Share"])
        let root = try bench.fetch(bench.shared("folder"), by: bench.bob, in: .shared).get()
        #expect(root.parent == nil)
        #expect(root.share?.target == bench.shared("Share"))
        #expect(try bench.fetch(.note("folder")).get().parent?.target == .note("top"))
        try bench.save(.new("later", parent: "page"))
        #expect(try bench.seen(["later"], by: bench.bob) == ["later"])
    }

    @Test("[D-02][D-11] names in the shared database contain the owner's user name, and the caller's own is not shown")
    func names() throws {
        let bench = try RecordBench.forSharing()
        try Self.folder(bench)
        try bench.share("folder", as: "Share", with: bench.bob, "bob@example.com")
        let file = try bench.fetch(bench.shared("file"), by: bench.bob, in: .shared).get()
        #expect(file.address == bench.shared("file"))
        #expect(file.parent?.target == bench.shared("folder"))
        #expect(file.creatorUserName == bench.alice.userName.text)
        var change = RecordSave.change(file, ["link": .link("page", in: bench.others())])
        change.changedKeys = ["link"]
        let saved = try bench.save(change, by: bench.bob, in: .shared)[0]
        #expect(saved.lastModifiedUserName == "__defaultOwner__")
        #expect(saved.creatorUserName == bench.alice.userName.text)
        let new = try bench.save(.new(bench.shared("new"), parent: "folder"), by: bench.bob, in: .shared)[0]
        #expect(new.creatorUserName == "__defaultOwner__")
        let seen = try bench.fetch(.note("file")).get()
        #expect(seen.fields["link"]?.value == .link("page"))
        #expect(seen.lastModifiedUserName == bench.bob.userName.text)
        #expect(try bench.fetch(.note("new")).get().creatorUserName == bench.bob.userName.text)
    }

    @Test("[D-04] in a zone that is shared whole, everything is visible")
    func zoneWide() throws {
        let bench = try RecordBench.forSharing()
        try Self.folder(bench)
        let share = try bench.shareNotes(with: [.email("bob@example.com")])
        _ = try bench.accept(share, by: bench.bob).get()
        let names = ["top", "folder", "file", "page", "note", "sibling", "cloudkit.zoneshare"]
        #expect(try bench.seen(names, by: bench.bob) == names)
        let root = try bench.fetch(bench.shared("folder"), by: bench.bob, in: .shared).get()
        #expect(root.parent?.target == bench.shared("top"))
    }

    @Test("[D-03][SH-06] several shares of one zone appear as one zone, each with its own permission")
    func several() throws {
        let bench = try RecordBench.forSharing()
        try Self.folder(bench)
        try bench.share("folder", as: "Share", with: bench.bob, "bob@example.com", .readOnly)
        try bench.share("note", as: "Other", with: bench.bob, "bob@example.com", .readWrite)
        #expect(try bench.zones(of: bench.bob).map(\.address) == [bench.others()])
        #expect(try bench.seen(Self.names, by: bench.bob) == ["folder", "file", "page", "note", "Share"])
        #expect(try bench.write("file", by: bench.bob).code == .permissionFailure)
        #expect(try bench.write("note", by: bench.bob).code == nil)
    }

    @Test("[P-10] readers cannot write, create or delete; writers can do all of it")
    func permissions() throws {
        let bench = try RecordBench.forSharing()
        let carol = try bench.person("carol")
        try Self.folder(bench)
        let claims: [ParticipantClaim] = [
            .email("bob@example.com", .readOnly), .email("carol@example.com", .readWrite),
        ]
        let share = try bench.share("folder", as: "Share", with: claims)
        _ = try bench.accept(share, by: bench.bob).get()
        _ = try bench.accept(share, by: carol).get()
        let refused = try bench.write("file", by: bench.bob).error
        #expect(refused?.code == .permissionFailure)
        #expect(refused?.innerCode == 2007)
        #expect(refused?.message.hasPrefix("WRITE operation not permitted") == true)
        let created = try bench.modify([.new(bench.shared("b"), parent: "file")], by: bench.bob, in: .shared).saves[0]
        #expect(created.error?.message.hasPrefix("CREATE operation not permitted") == true)
        let deleted = try bench.modify(deleting: [bench.shared("page")], by: bench.bob, in: .shared).deletes[0]
        #expect(deleted.error?.message.hasPrefix("DELETE operation not permitted") == true)
        #expect(try bench.write("file", by: carol).code == nil)
        let own = try bench.modify([.new(bench.shared("c"), parent: "file")], by: carol, in: .shared).saves[0]
        #expect(own.code == nil)
        #expect(try bench.modify(deleting: [bench.shared("page")], by: carol, in: .shared).deletes[0].code == nil)
        #expect(try !bench.exists(.note("page")))
        #expect(try bench.fetch(.note("file")).get().fields["n"] != nil)
    }

    @Test("[P-09] a participant without permission sees nothing, not even that the zone exists")
    func nothing() throws {
        let bench = try RecordBench.forSharing()
        try Self.folder(bench)
        try bench.share("folder", as: "Share", with: bench.bob, "bob@example.com", .none)
        #expect(try bench.seen(Self.names, by: bench.bob).isEmpty)
        #expect(try bench.zones(of: bench.bob).isEmpty)
        let address = bench.shared("folder")
        #expect(try bench.fetch(address, by: bench.bob, in: .shared).code == .zoneNotFound)
        _ = try bench.change("Share") { $0.participants[1].permission = .readOnly }.get()
        #expect(try bench.seen(Self.names, by: bench.bob) == ["folder", "file", "page", "Share"])
    }

    @Test("[P-11] a participant's new record needs a chain of parents to the root; the parent's error is not revealed")
    func creation() throws {
        let bench = try RecordBench.forSharing()
        try Self.folder(bench)
        try bench.share("folder", as: "Share", with: bench.bob, "bob@example.com")
        let link = ["owner": ClientValue.owned(by: "folder", in: bench.others())]
        for (parent, values) in [(nil, link), ("note", [:]), ("top", [:]), ("missing", [:])] {
            for atomic in [true, false] {
                let save = RecordSave.new(bench.shared("new"), parent: parent, values)
                let answer = try bench.modify([save], atomic: atomic, by: bench.bob, in: .shared).saves[0]
                #expect(answer.error?.description == Self.creationDenied, "\(parent ?? "none")")
            }
        }
        // Children before their parents, and a chain that leads to the root only as a whole.
        let chain: [RecordSave] = [
            .new(bench.shared("c"), parent: "b"), .new(bench.shared("b"), parent: "a"),
            .new(bench.shared("a"), parent: "folder"),
        ]
        _ = try bench.modify(chain, by: bench.bob, in: .shared).saves.map { try $0.get() }
        let astray = try bench.modify(
            [.new(bench.shared("y"), parent: "x"), .new(bench.shared("x"), parent: "note")], atomic: false,
            by: bench.bob, in: .shared)
        #expect(astray.saves.map(\.code) == [.permissionFailure, .permissionFailure])
        #expect(try !bench.exists(.note("x")))
        #expect(try !bench.exists(.note("y")))
    }

    @Test("[P-11] a hidden parent is answered like a missing one, also if another item fails")
    func hiddenParents() throws {
        let bench = try RecordBench.forSharing()
        try Self.folder(bench)
        try bench.share("folder", as: "Share", with: bench.bob, "bob@example.com")
        let known = try bench.fetch(bench.shared("file"), by: bench.bob, in: .shared).get()
        try bench.touch("file")
        /// The answer to Bob's save of a record below `parent` together with others: one without fault, and one that is
        /// refused.
        func answers(_ parent: String, _ other: RecordSave, isFirst: Bool, isAtomic: Bool) throws -> [String] {
            let child = RecordSave.new(bench.shared("new"), parent: parent)
            let saves = (isFirst ? [child, other] : [other, child]) + [.new(bench.shared("fine"), parent: "folder")]
            let answer = try bench.modify(saves, atomic: isAtomic, by: bench.bob, in: .shared)
            if try bench.exists(.note("fine")) { try bench.delete(.note("fine")) }
            return answer.saves.map { "\(String(describing: $0.error))".replacing(parent, with: "PARENT") }
        }
        let others: [RecordSave] = [
            .change(known), .new(bench.shared("stray"), parent: nil), .new(bench.shared("lost"), parent: "nowhere"),
        ]
        for (index, other) in others.enumerated() {
            for isFirst in [true, false] {
                for isAtomic in [true, false] {
                    let hidden = try answers("note", other, isFirst: isFirst, isAtomic: isAtomic)
                    let missing = try answers("missing", other, isFirst: isFirst, isAtomic: isAtomic)
                    #expect(hidden == missing, "beside item \(index), first: \(isFirst), atomic: \(isAtomic)")
                }
            }
        }
    }

    private static let creationDenied =
        "10/2007: CREATE operation not permitted (rule P-11, record new) (record=new, rule=P-11)"

    @Test("[P-11] in a zone that is shared whole no parent is needed, and a missing one is the usual error")
    func creationInZone() throws {
        let bench = try RecordBench.forSharing()
        let share = try bench.shareNotes(with: [.email("bob@example.com")])
        _ = try bench.accept(share, by: bench.bob).get()
        let answers = try bench.modify(
            [.new(bench.shared("a")), .new(bench.shared("b"), parent: "missing")], atomic: false, by: bench.bob,
            in: .shared
        ).saves
        #expect(answers.map(\.code) == [nil, .referenceViolation])
    }

    @Test("[P-11][D-12] a participant can move records within what they may write, and nowhere else")
    func moving() throws {
        let bench = try RecordBench.forSharing()
        try Self.folder(bench)
        try bench.share("folder", as: "Share", with: bench.bob, "bob@example.com")
        try bench.share("note", as: "Other", with: bench.bob, "bob@example.com", .readOnly)
        func move(_ parent: String?) throws -> CloudError.Code? {
            let page = try bench.fetch(bench.shared("page"), by: bench.bob, in: .shared).get()
            let save = RecordSave.change(page).with(parent: parent)
            return try bench.modify([save], by: bench.bob, in: .shared).saves[0].code
        }
        #expect(try move("folder") == nil)
        #expect(try move(nil) == .permissionFailure)
        #expect(try move("top") == .permissionFailure)
        #expect(try move("note") == .permissionFailure)
        _ = try bench.change("Other") { $0.participants[1].permission = .readWrite }.get()
        #expect(try move("note") == nil)
        // Its owner moves it out of everything, and it is gone for others at once.
        try bench.save(.change(try bench.fetch(.note("page")).get()).with(parent: "top"))
        #expect(try bench.seen(["page"], by: bench.bob).isEmpty)
    }

    @Test("[X-06] a participant can change a root, but not its parent")
    func rootStays() throws {
        let bench = try RecordBench.forSharing()
        try Self.folder(bench)
        try bench.share("folder", as: "Share", with: bench.bob, "bob@example.com")
        for parent in ["note", "file", "missing"] {
            let root = try bench.fetch(bench.shared("folder"), by: bench.bob, in: .shared).get()
            let save = RecordSave.change(root).with(parent: parent)
            #expect(try bench.modify([save], by: bench.bob, in: .shared).saves[0].code == .permissionFailure)
        }
        let root = try bench.fetch(bench.shared("folder"), by: bench.bob, in: .shared).get()
        let change = RecordSave.change(root, ["n": .int64(1)])
        _ = try bench.modify([change], policy: .allKeys, by: bench.bob, in: .shared).saves[0].get()
        #expect(try bench.fetch(.note("folder")).get().parent?.target == .note("top"))
    }

    @Test("[P-12] only its owner can delete a root, not even a cascade from another record can")
    func rootDeletion() throws {
        let bench = try RecordBench.forSharing()
        _ = try bench.modify([
            .new("folder"), .new("file", parent: "folder"), .new("tail", parent: "folder"),
        ]).saves.map { try $0.get() }
        try bench.share("folder", as: "Share", with: bench.bob, "bob@example.com")
        #expect(
            try bench.modify(deleting: [bench.shared("folder")], by: bench.bob, in: .shared).deletes[0].code
                == .permissionFailure)
        let root = try bench.fetch(bench.shared("folder"), by: bench.bob, in: .shared).get()
        let trap = RecordSave.change(root, ["with": .owned(by: "tail", in: bench.others())])
        _ = try bench.modify([trap], by: bench.bob, in: .shared).saves[0].get()
        for atomic in [true, false] {
            let answer = try bench.modify(
                deleting: [bench.shared("tail")], atomic: atomic, by: bench.bob, in: .shared
            ).deletes[0]
            #expect(answer.error?.fields["rule"] == "P-12")
        }
        #expect(try bench.exists(.note("folder")))
        #expect(try bench.exists(.note("Share")))
        #expect(try bench.exists(.note("tail")))
    }

    @Test("an invisible record is answered like a missing one: fetched, saved and deleted")
    func invisible() throws {
        let bench = try RecordBench.forSharing()
        try Self.folder(bench)
        try bench.share("folder", as: "Share", with: bench.bob, "bob@example.com")
        func answers(_ name: String) throws -> [String] {
            let address = bench.shared(name)
            var stale = RecordSave.new(address)
            stale.baseTag = try bench.fetch(.note("folder")).get().changeTag
            var texts = [try bench.fetch(address, by: bench.bob, in: .shared).error?.description ?? "found"]
            for policy in SavePolicy.allCases {
                for save in [stale, .new(address)] {
                    let saved = try bench.modify([save], policy: policy, by: bench.bob, in: .shared).saves[0]
                    texts.append(saved.error?.description ?? "saved")
                }
            }
            let deleted = try bench.modify(deleting: [address], by: bench.bob, in: .shared).deletes[0]
            return (texts + [deleted.error?.description ?? "deleted"]).map { $0.replacing(name, with: "NAME") }
        }
        #expect(try answers("sibling") == answers("missing"))
        #expect(try answers("sibling").last == "deleted")
        // The name is in use, and its record stays unchanged.
        let before = try bench.fetch(.note("sibling")).get()
        let taken = RecordSave.new(bench.shared("sibling"), parent: "folder", ["n": .int64(9)])
        for policy in SavePolicy.allCases {
            let answer = try bench.modify([taken], policy: policy, by: bench.bob, in: .shared).saves[0]
            #expect(answer.error?.message.hasPrefix("CREATE operation not permitted") == true)
        }
        #expect(try bench.fetch(.note("sibling")).get() == before)
    }

    @Test("an outsider is answered as if the zone and its owner did not exist")
    func outsider() throws {
        let bench = try RecordBench.forSharing()
        let carol = try bench.person("carol")
        try Self.folder(bench)
        try bench.share("folder", as: "Share", with: bench.bob, "bob@example.com")
        func answers(_ zone: ZoneAddress) throws -> [String] {
            let address = RecordAddress(recordName: "folder", zone: zone)
            let caller = bench.caller(carol)
            let fetched = try bench.fetch(address, by: carol, in: .shared).error
            let written = try bench.modify(
                [.new(address)], deleting: [RecordAddress(recordName: "file", zone: zone)], by: carol, in: .shared)
            let looked = try bench.service.fetchZones(.named([zone]), as: caller, in: .shared)[0].1.error
            let removed = try bench.service.modifyZones(
                ModifyZonesRequest(deletes: [zone]), as: caller, in: .shared
            ).deletes[0].error
            let errors = [fetched, written.saves[0].error, written.deletes[0].error, looked, removed]
            return errors.map { ($0?.description ?? "none").replacing(zone.description, with: "ZONE") }
        }
        let nowhere = ZoneAddress(zoneName: "Nowhere", ownerName: bench.alice.userName.text)
        let nobody = ZoneAddress(zoneName: "Notes", ownerName: "_nobody")
        let real = try answers(bench.others())
        #expect(try real == answers(nowhere))
        #expect(try real == answers(nobody))
        #expect(real.allSatisfy { $0.hasPrefix("26/2036") })
    }

    @Test("[D-05] your own zone is not in the shared database, and another's is not in the private one")
    func wrongDatabase() throws {
        let bench = try RecordBench.forSharing()
        try bench.save(.new("a"))
        let own = try bench.fetch(.note("a"), in: .shared).error
        #expect(own?.code == .invalidArguments)
        #expect(own?.message == "Only shared zones can be accessed in the shared DB")
        let other = try bench.fetch(bench.shared("a"), by: bench.bob).error
        #expect(other?.message == "PrivateDB can't be used to access another user's zone")
    }

    @Test("[X-07] only parents share: a reference to a shared record grants nothing")
    func references() throws {
        let bench = try RecordBench.forSharing()
        try Self.folder(bench)
        try bench.save(.new("linked", ["owner": .owned(by: "folder"), "link": .link("file")]))
        try bench.share("folder", as: "Share", with: bench.bob, "bob@example.com")
        #expect(try bench.seen(["linked"], by: bench.bob).isEmpty)
    }

    @Test("[X-09] a suspended person loses access and keeps the place")
    func suspended() throws {
        let bench = try RecordBench.forSharing()
        try Self.folder(bench)
        try bench.share("folder", as: "Share", with: bench.bob, "bob@example.com")
        try bench.service.changeAccount(bench.bob.id) { $0.standing = .suspended }
        #expect(try thrown { _ = try bench.seen(["folder"], by: bench.bob) }.code == .notAuthenticated)
        #expect(try bench.ownShare("Share").sharing?.participants.count == 2)
        try bench.service.changeAccount(bench.bob.id) { $0.standing = .good }
        #expect(try bench.seen(["folder"], by: bench.bob) == ["folder"])
    }

    @Test("[D-07][Z-05][P-13] shared zones are listed with their capabilities; deleting one leaves its shares")
    func zones() throws {
        let bench = try RecordBench.forSharing()
        try Self.folder(bench)
        try bench.makeZone(ZoneAddress(zoneName: "Whole"))
        try bench.share("folder", as: "Share", with: bench.bob, "bob@example.com")
        let whole = ZoneAddress(zoneName: "Whole")
        let save = RecordSave.share("cloudkit.zoneshare", root: nil, with: [.email("bob@example.com")], in: whole)
        _ = try bench.accept(bench.save(save)[0], by: bench.bob).get()
        let zones = try bench.zones(of: bench.bob)
        #expect(zones.map(\.address) == [bench.others(), bench.others(whole)])
        #expect(zones.allSatisfy { $0.capabilities == [.fetchChanges, .atomic, .sharing] })
        let share = RecordAddress(recordName: "cloudkit.zoneshare", zone: bench.others(whole))
        #expect(zones.map(\.share?.target) == [nil, share])
        let named = try bench.service.fetchZones(
            .named([bench.others(), bench.others(whole)]), as: bench.caller(bench.bob), in: .shared)
        #expect(try named.map { try $0.1.get() } == zones)
        let own = try bench.service.fetchZones(.named([whole]), as: bench.caller(bench.alice), in: .private)[0].1.get()
        #expect(own.share?.target == RecordAddress(recordName: "cloudkit.zoneshare", zone: whole))
        func delete(_ zone: ZoneAddress) throws -> Result<Void, CloudError> {
            try bench.service.modifyZones(
                ModifyZonesRequest(deletes: [zone]), as: bench.caller(bench.bob), in: .shared
            ).deletes[0].map { _ in }
        }
        try delete(bench.others()).get()
        #expect(try bench.zones(of: bench.bob).map(\.address) == [bench.others(whole)])
        #expect(try bench.ownShare("Share").sharing?.participants.count == 1)
        #expect(try bench.seen(["folder"], by: bench.bob).isEmpty)
        #expect(try delete(bench.others()).code == .zoneNotFound)
        try delete(bench.others(whole)).get()
        #expect(try bench.zones(of: bench.bob).isEmpty)
        let left = try bench.service.fetchZones(.named([whole]), as: bench.caller(bench.alice), in: .private)
        #expect(try left[0].1.get().share != nil)
    }

    @Test("[S-16][X-27] what participants save is charged to the owner: its quota and its assets, each stored once")
    func ownership() throws {
        let bench = try RecordBench.forSharing()
        try Self.folder(bench)
        try bench.share("folder", as: "Share", with: bench.bob, "bob@example.com")
        let before = try bench.service.usage(of: bench.alice.userName)
        let path = try bench.file("photo", [UInt8](repeating: 7, count: 5_000))
        let photo = ["photo": ClientValue.asset(.file(path: path))]
        let saved = try bench.save(
            .new(bench.shared("picture"), parent: "folder", photo), by: bench.bob, in: .shared)[0]
        #expect(try bench.service.usage(of: bench.bob.userName) == 0)
        #expect(try bench.service.usage(of: bench.alice.userName) > before + 5_000)
        #expect(try bench.service.verifyUsage(of: bench.alice.userName).isExact)
        guard case .asset(.content(let content))? = saved.fields["photo"]?.value else {
            Issue.record("no content")
            return
        }
        _ = try bench.service.copyAsset(
            HeldAsset(content, in: "photo", of: saved.address), as: bench.caller(bench.bob), in: .shared)
        let findings = try bench.service.verifyAssets()
        #expect(findings.isEmpty)
        try bench.service.changeAccount(bench.alice.id) { $0.quotaByteCount = 6_000 }
        let more = try bench.file("more", [UInt8](repeating: 8, count: 5_000))
        let save = RecordSave.new(
            bench.shared("second"), parent: "folder", ["photo": .asset(.file(path: more))])
        #expect(try bench.modify([save], by: bench.bob, in: .shared).saves[0].code == .quotaExceeded)
    }

    @Test(
        "reading a record through a share costs one read when warm, at any depth",
        .enabled(if: TestStores.letCachesAnswer))
    func costs() throws {
        let bench = try RecordBench.forSharing(runsBodiesTwice: false)
        var saves = [RecordSave.new("n0")]
        for level in 1...10 { saves.append(.new("n\(level)", parent: "n\(level - 1)")) }
        _ = try bench.modify(saves).saves.map { try $0.get() }
        try bench.share("n0", as: "Share", with: bench.bob, "bob@example.com")
        _ = try bench.seen(["n10", "missing"], by: bench.bob)
        let before = bench.store.statistics.cost
        #expect(try bench.seen(["n10"], by: bench.bob) == ["n10"])
        let cost = bench.store.statistics.cost - before
        #expect(cost.pointReads == 1)
        #expect(cost.seeks == 0)
    }
}

extension RecordBench {
    /// Changes a record of Alice's zone Notes as another person.
    func write(_ name: String, by account: StoredAccount) throws -> Result<ClientRecord, CloudError> {
        let record = try fetch(shared(name), by: account, in: .shared).get()
        return try modify([.change(record, ["n": .int64(1)])], by: account, in: .shared).saves[0]
    }
}
