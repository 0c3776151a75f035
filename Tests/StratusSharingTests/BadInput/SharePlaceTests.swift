// Shares in invalid places: without their root, in zones and databases that cannot be shared.

import Foundation
import StratusKit
import StratusSharingSupport
import Testing

@Suite("Shares in the wrong place")
struct SharePlaceTests {
    private let town: Town
    private let owner: Person
    private let place: Place

    init() throws {
        town = try Town(["owner", "other"])
        owner = town.people[0]
        place = Place("Docs", of: owner)
    }

    private func outcome(
        saving records: [CKRecord], in database: CKDatabase, of record: CKRecord, atomically: Bool = true
    ) async -> Outcome {
        do {
            let answers = try await database.modifyRecords(saving: records, deleting: [], atomically: atomically)
            return Outcome(answers.saveResults[record.recordID])
        } catch { return Outcome(error) }
    }

    @Test("[SH-04][A-03] a new share without its root fails the whole operation", arguments: [true, false])
    func withoutRoot(atomically: Bool) async throws {
        #expect(await owner.make(place) == .done)
        #expect(await owner.create("folder", in: place) == .done)
        let root = try await owner.record("folder", in: place)
        let share = CKShare(rootRecord: root)
        let bystander = owner.fresh("bystander", in: place)
        do {
            _ = try await owner.database(place)
                .modifyRecords(saving: [share, bystander], deleting: [], atomically: atomically)
            Issue.record("the operation succeeds")
        } catch {
            #expect(Outcome(error) == .refused(.invalidArguments))
            let text = (error as? CKError)?.localizedDescription ?? ""
            #expect(
                text.contains(
                    "An added share is being saved without its rootRecord being saved in the same operation"), "\(text)"
            )
        }
        #expect(await owner.read("bystander", in: place) == .refused(.unknownItem))
        #expect(try await owner.record("folder", in: place).share == nil)
        // With it, it is saved; and later without.
        #expect(await owner.save(share, with: root, in: place) == .done)
        #expect(await owner.rename(share.recordID.recordName, "title", in: place) == .done)
        #expect(try town.findings() == [])
    }

    @Test("[SH-04] another record cannot replace the root")
    func otherRecord() async throws {
        #expect(await owner.make(place) == .done)
        #expect(await owner.create("folder", in: place) == .done)
        #expect(await owner.create("other", in: place) == .done)
        let share = CKShare(rootRecord: try await owner.record("folder", in: place))
        let other = try await owner.record("other", in: place)
        #expect(
            await outcome(saving: [share, other], in: owner.database(place), of: share) == .refused(.invalidArguments))
        #expect(try await owner.record("other", in: place).share == nil)
    }

    @Test("[SH-01][X-21] nothing can be shared in the default zone", arguments: [true, false])
    func defaultZone(atomically: Bool) async throws {
        let database = owner.container.privateCloudDatabase
        let root = CKRecord(recordType: Person.recordType)
        let share = CKShare(rootRecord: root)
        let refused = await outcome(saving: [root, share], in: database, of: share, atomically: atomically)
        #expect(refused == .refused(.invalidArguments))
        let zoneShare = CKShare(recordZoneID: .default)
        #expect(await outcome(saving: [zoneShare], in: database, of: zoneShare) == .refused(.invalidArguments))
        #expect(try town.findings() == [])
    }

    @Test("[X-21] nothing can be shared in the public database")
    func publicDatabase() async throws {
        let database = owner.container.publicCloudDatabase
        let root = CKRecord(recordType: Person.recordType)
        let share = CKShare(rootRecord: root)
        #expect(await outcome(saving: [root, share], in: database, of: share) == .refused(.badDatabase))
        let saved = try await database.save(CKRecord(recordType: Person.recordType))
        let later = CKShare(rootRecord: saved)
        #expect(await outcome(saving: [saved, later], in: database, of: later) == .refused(.badDatabase))
        let zoneShare = CKShare(recordZoneID: .default)
        #expect(await outcome(saving: [zoneShare], in: database, of: zoneShare) == .refused(.badDatabase))
    }

    @Test("[C-12][X-21] a share must be in its root's zone")
    func otherZone() async throws {
        let elsewhere = Place("Elsewhere", of: owner)
        #expect(await owner.make(place) == .done)
        #expect(await owner.make(elsewhere) == .done)
        let root = owner.fresh("folder", in: place)
        let share = CKShare(rootRecord: root, shareID: owner.recordID("Share", in: elsewhere))
        #expect(
            await outcome(saving: [root, share], in: owner.database(place), of: share) == .refused(.invalidArguments))
        #expect(await owner.read("Share", in: elsewhere) == .refused(.unknownItem))
        #expect(try town.findings() == [])
    }

    @Test("[S-12] nothing can be shared in a missing zone")
    func missingZone() async throws {
        #expect(await owner.share("folder", as: "Share", in: place) == .refused(.zoneNotFound))
        #expect(await owner.shareZone(place) == .refused(.zoneNotFound))
    }

    @Test("[SH-01] a participant cannot share what is shared with them")
    func sharedDatabase() async throws {
        let folder = try await SharedFolder()
        for root in ["folder", "note", "new"] {
            #expect(!(await folder.writer.share(root, as: "Own", in: folder.place).isDone))
        }
        #expect(!(await folder.writer.shareZone(folder.place).isDone))
        #expect(await folder.owner.read("Own", in: folder.place) == .refused(.unknownItem))
        #expect(await folder.owner.read("new", in: folder.place) == .refused(.unknownItem))
        #expect(try await folder.content() == SharedFolder.untouched + folder.url.absoluteString)
        #expect(try folder.town.findings() == [])
    }

    @Test("[D-05] your own zone is not in the shared database, nor another's in the private one")
    func wrongDatabase() async throws {
        let folder = try await SharedFolder()
        let shared = folder.owner.container.sharedCloudDatabase
        let foreign = CKRecordZone.ID(zoneName: folder.place.zone, ownerName: folder.place.owner)
        for zone in [CKRecordZone.ID(zoneName: folder.place.zone), foreign] {
            let id = CKRecord.ID(recordName: "note", zoneID: zone)
            #expect(await Outcome.of { _ = try await shared.record(for: id) } == .refused(.invalidArguments))
            let record = CKRecord(recordType: Person.recordType, recordID: id)
            #expect(await Outcome.of { _ = try await shared.save(record) } == .refused(.invalidArguments))
        }
        let own = folder.reader.container.privateCloudDatabase
        let id = CKRecord.ID(recordName: "note", zoneID: foreign)
        #expect(await Outcome.of { _ = try await own.record(for: id) } == .refused(.invalidArguments))
        let record = CKRecord(recordType: Person.recordType, recordID: id)
        #expect(await Outcome.of { _ = try await own.save(record) } == .refused(.invalidArguments))
    }

    @Test("[P-19] if the container does not allow sharing, nothing of a share is saved")
    func disabled() async throws {
        let town = try Town(["owner"]) { $0.isSharingEnabled = false }
        let owner = town.people[0]
        let place = Place("Docs", of: owner)
        #expect(await owner.make(place) == .done)
        #expect(await owner.share("folder", as: "Share", in: place) == .refused(.permissionFailure))
        #expect(await owner.shareZone(place) == .refused(.permissionFailure))
        #expect(await owner.read("folder", in: place) == .refused(.unknownItem))
    }
}
