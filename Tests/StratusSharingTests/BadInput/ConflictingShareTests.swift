// Shares that would conflict with another: each refusal names the conflict.

import Foundation
import StratusKit
import StratusSharingSupport
import Testing

@Suite("Conflicting shares")
struct ConflictingShareTests {
    private let town: Town
    private let owner: Person
    private let place: Place

    init() throws {
        town = try Town(["owner"])
        owner = town.people[0]
        place = Place("Docs", of: owner)
    }

    /// house > folder > note, and shed; the folder is shared as "First", unless the zone is.
    private func build(zoneWide: Bool = false) async throws {
        var outcomes = [
            await owner.make(place), await owner.create("house", in: place),
            await owner.create("folder", under: "house", in: place),
            await owner.create("note", under: "folder", in: place), await owner.create("shed", in: place),
        ]
        outcomes.append(
            zoneWide ? await owner.shareZone(place) : await owner.share("folder", as: "First", in: place))
        #expect(Set(outcomes) == [.done])
    }

    /// The error of saving these in one request, for one of them.
    private func error(saving records: [CKRecord], of record: CKRecord) async throws -> CKError {
        let answers = try await owner.database(place).modifyRecords(saving: records, deleting: []).saveResults
        do {
            _ = try answers[record.recordID]?.get()
        } catch let error as CKError { return error }
        throw TownError(description: "\(record.recordID.recordName) is saved")
    }

    /// All that the values of an error's user info say.
    private func values(of error: CKError) -> String {
        error.userInfo.filter { $0.key != NSLocalizedDescriptionKey }.values.map { "\($0)" }.joined(separator: " ")
    }

    /// The conflict of the whole zone has no record of its own.
    private func check(_ error: CKError, record: String?, root: String?, share: String) {
        #expect(error.code == .alreadyShared)
        #expect(error.serverRecord?.recordID.recordName == share)
        #expect(error.serverRecord is CKShare)
        for name in [record, root, share].compactMap(\.self) {
            #expect(error.localizedDescription.contains(name), "\(name) in: \(error.localizedDescription)")
            #expect(values(of: error).contains(name), "\(name) in: \(error.userInfo)")
        }
    }

    @Test(
        "[X-01][X-02][SH-06][SH-07][SH-08] a second share names the conflicting share, and replaces nothing",
        arguments: ["house", "folder", "note"])
    func secondShare(root: String) async throws {
        try await build()
        let record = try await owner.record(root, in: place)
        let share = CKShare(rootRecord: record, shareID: owner.recordID("Second", in: place))
        check(try await error(saving: [record, share], of: share), record: root, root: "folder", share: "First")
        #expect(await owner.read("Second", in: place) == .refused(.unknownItem))
        #expect(try await owner.record("folder", in: place).share?.recordID.recordName == "First")
        #expect(try town.findings() == [])
    }

    @Test("[SH-08][X-01] a share under the same name, or on a stale root, is refused with its own reason")
    func sameName() async throws {
        try await build()
        let folder = try await owner.record("folder", in: place)
        let same = CKShare(rootRecord: folder, shareID: owner.recordID("First", in: place))
        let sameOutcome = await owner.save(same, with: folder, in: place)
        #expect(sameOutcome == .refused(.alreadyShared) || sameOutcome == .refused(.serverRecordChanged))
        let stale = try await owner.record("folder", in: place)
        #expect(await owner.change("folder", to: 1, in: place) == .done)
        stale[Person.valueKey] = 2
        let second = CKShare(rootRecord: stale, shareID: owner.recordID("Second", in: place))
        let answers = try await owner.database(place).modifyRecords(saving: [stale, second], deleting: []).saveResults
        #expect(Outcome(answers[stale.recordID]) == .refused(.serverRecordChanged))
        #expect(Outcome(answers[second.recordID]) == .refused(.alreadyShared))
        #expect(try await owner.record("folder", in: place).share?.recordID.recordName == "First")
    }

    @Test("[SH-07][X-02] moving a shared record under another is refused, with the reason")
    func reparenting() async throws {
        try await build()
        #expect(await owner.create("box", under: "shed", in: place) == .done)
        #expect(await owner.share("box", as: "Second", in: place) == .done)
        for name in ["box", "shed"] {
            let record = try await owner.record(name, in: place)
            record.setParent(owner.recordID("note", in: place))
            let error = try await error(saving: [record], of: record)
            #expect(error.code == .alreadyShared)
            let isFirst = error.serverRecord?.recordID.recordName == "First"
            check(error, record: name, root: isFirst ? "folder" : "box", share: isFirst ? "First" : "Second")
        }
        #expect(try await owner.record("box", in: place).parent?.recordID.recordName == "shed")
        #expect(try town.findings() == [])
    }

    @Test("[SH-09][X-01][X-02] the share of a zone and those of records exclude each other")
    func zoneWide() async throws {
        try await build(zoneWide: true)
        for root in ["folder", "shed"] {
            let record = try await owner.record(root, in: place)
            let share = CKShare(rootRecord: record, shareID: owner.recordID("Second", in: place))
            let error = try await error(saving: [record, share], of: share)
            check(error, record: root, root: nil, share: CKRecordNameZoneWideShare)
        }
        let second = CKShare(recordZoneID: owner.zoneID(place))
        let refusal = try await error(saving: [second], of: second)
        #expect(refusal.code == .alreadyShared)
        #expect(refusal.serverRecord?.recordID.recordName == CKRecordNameZoneWideShare)
        // The other way round.
        #expect(await owner.delete(CKRecordNameZoneWideShare, in: place) == .done)
        #expect(await owner.share("folder", as: "First", in: place) == .done)
        let zoneShare = CKShare(recordZoneID: owner.zoneID(place))
        let error = try await error(saving: [zoneShare], of: zoneShare)
        check(error, record: nil, root: "folder", share: "First")
        #expect(try town.findings() == [])
    }

    @Test("[SH-07] two shares of one request conflict too")
    func together() async throws {
        try await build()
        #expect(await owner.create("box", under: "shed", in: place) == .done)
        let (shed, box) = (try await owner.record("shed", in: place), try await owner.record("box", in: place))
        let shares = [CKShare(rootRecord: shed), CKShare(rootRecord: box)]
        let answers = try await owner.database(place).modifyRecords(saving: [shed, box] + shares, deleting: [])
        let outcomes = shares.map { Outcome(answers.saveResults[$0.recordID]) }
        #expect(outcomes.contains(.refused(.alreadyShared)), "\(outcomes)")
        #expect(!outcomes.contains(.done), "\(outcomes)")
        #expect(try await owner.record("box", in: place).share == nil)
        #expect(try town.findings() == [])
    }
}
