// What a share takes over when it is saved, and concurrent changes.

import Foundation
@testable import StratusCloud
import StratusModel
import Testing

@testable import StratusKit

@Suite struct ShareSaveTests {
    private let bob = ShareSamples.told("bob", email: "bob@example.com")

    /// Ends a save that `sent` began.
    private func end(_ share: CKShare, _ sent: SentRecord, _ answer: ClientShare, later seconds: Double = 0) {
        let record = ShareSamples.record(
            answer, tag: "\(seconds)", name: share.recordID.recordName, later: seconds)
        share.absorb(record, origin: ShareSamples.origin, sent: sent)
    }

    @Test("[C-04] a saved share is the same object, with URL and participants, which are the same objects too")
    func absorbed() throws {
        let share = CKShare(rootRecord: ShareSamples.root())
        let owner = share.participants[0]
        let guest = ShareSamples.person("bob", email: "bob@example.com")
        let link = CKShare.Participant.oneTimeURLParticipant()
        share.addParticipant(guest)
        share.addParticipant(link)
        #expect(share.claim?.participants.map(\.isAdded) == [false, true, true])
        #expect(share.claim?.participants.map(\.isOneTime) == [false, false, true])
        #expect(share.claim?.participants[0].lookup == nil)
        var told = ShareSamples.told(link.participantID, isOneTime: true)
        told.oneTimeURL = "https://example.com/share/once"
        var invited = bob
        invited.added = ShareSamples.date
        end(share, share.beginSave(), ShareSamples.sharing([invited, told]))
        #expect(share.url != nil)
        #expect(share.recordChangeTag != nil)
        #expect(share.participants.map(\.participantID) == ["owner", "bob", link.participantID])
        #expect(share.participants[0] === owner)
        #expect(owner.participantID == "owner")
        #expect(share.participants[1] === guest)
        #expect(guest.dateAddedToShare == ShareSamples.date)
        #expect(share.participants[2] === link)
        #expect(share.oneTimeURL(for: link.participantID) == URL(string: "https://example.com/share/once"))
        #expect(share.oneTimeURL(for: "bob") == nil)
        #expect(share.claim?.participants.map(\.isAdded) == [false, false, false])
        #expect(share.claim?.participants[1].lookup == nil)
    }

    @Test("[C-04] a person whom the server names differently remains the same object")
    func renamed() {
        let share = CKShare(rootRecord: ShareSamples.root())
        let guest = ShareSamples.person("mine", email: "Bob@example.com")
        share.addParticipant(guest)
        end(share, share.beginSave(), ShareSamples.sharing([bob]))
        #expect(share.participants[1] === guest)
        #expect(guest.participantID == "bob")
    }

    @Test("[C-04] participants that the server dropped are removed, and can be added elsewhere")
    func dropped() {
        let share = ShareSamples.share(ShareSamples.sharing([bob]))
        let guest = share.participants[1]
        share.publicPermission = .readOnly
        end(share, share.beginSave(), ShareSamples.sharing(publicPermission: .readOnly), later: 1)
        #expect(share.participants.count == 1)
        let other = CKShare(rootRecord: ShareSamples.root("2"))
        other.addParticipant(guest)
        #expect(other.participants.count == 2)
        #expect(other.misuse == nil)
    }

    @Test("[C-03][C-04] a change made during a save survives it")
    func meanwhile() throws {
        let share = ShareSamples.share(
            ShareSamples.sharing(
                [bob, ShareSamples.told("dan", email: "dan@example.com")],
                requesters: [ShareSamples.petitioner("r1", email: "carol@example.com", user: "_carol")],
                blocked: [ShareSamples.petitioner("b1", email: "eve@example.com", user: "_eve")]))
        share.participants[1].permission = .readWrite
        let sent = share.beginSave()
        share.participants[1].role = .administrator
        let dan = share.participants[2]
        share.removeParticipant(dan)
        let fay = ShareSamples.person("fay", email: "fay@example.com")
        share.addParticipant(fay)
        share.blockRequesters(share.requesters)
        share.unblockIdentities(Array(share.blockedIdentities.prefix(1)))
        share.allowsAccessRequests = true
        share["cloudkit.title"] = "Later"

        var answered = ShareSamples.sharing(
            [
                ShareSamples.told("bob", email: "bob@example.com", permission: .readWrite, status: .accepted),
                ShareSamples.told("dan", email: "dan@example.com"),
            ], requesters: [ShareSamples.petitioner("r1", email: "carol@example.com", user: "_carol")],
            blocked: [ShareSamples.petitioner("b1", email: "eve@example.com", user: "_eve")])
        answered.url = "https://example.com/share/new"
        end(share, sent, answered, later: 1)
        #expect(share.url?.lastPathComponent == "new")
        #expect(share.participants.map(\.participantID) == ["owner", "bob", "fay"])
        #expect(share.participants[1].permission == .readWrite)
        #expect(share.participants[1].role == .administrator)
        #expect(share.participants[1].acceptanceStatus == .accepted)
        #expect(share.requesters.isEmpty)
        #expect(share.blockedIdentities.map(\.facts.id) == ["r1"])
        #expect(share.allowsAccessRequests)
        #expect(share.changedKeys() == ["cloudkit.title"])
        let claim = try #require(share.claim)
        #expect(claim.participants.map(\.id) == ["owner", "bob", "fay"])
        #expect(claim.participants.map(\.isAdded) == [false, false, true])
        #expect(claim.participants[2].lookup == .email("fay@example.com"))
        #expect(claim.blocked == ["r1"])
        #expect(claim.unblocked == ["b1"])
        #expect(claim.allowsAccessRequests)
    }

    @Test("[C-04] the answer clears what was sent: nothing of it is claimed again")
    func settled() throws {
        let share = ShareSamples.share(
            ShareSamples.sharing(
                [bob], requesters: [ShareSamples.petitioner("r1", email: "carol@example.com", user: "_carol")]))
        share.publicPermission = .none
        share.participants[1].permission = .readWrite
        share.denyRequesters(share.requesters)
        share.allowsAccessRequests = true
        end(share, share.beginSave(), ShareSamples.sharing([bob]), later: 1)
        #expect(share.participants[1].permission == .readOnly)
        #expect(!share.allowsAccessRequests)
        #expect(share.claim?.denied == [])
    }

    @Test("[C-04] a late answer changes only what it was sent for")
    func overtaken() {
        let share = ShareSamples.share(ShareSamples.sharing([bob]))
        let first = share.beginSave()
        share.publicPermission = .readOnly
        let second = share.beginSave()
        end(share, second, ShareSamples.sharing(publicPermission: .readOnly), later: 2)
        end(share, first, ShareSamples.sharing([bob]), later: 1)
        #expect(share.publicPermission == .readOnly)
        #expect(share.participants.count == 1)
    }

    @Test("[S-05] the ancestor of a share is the server's last version, as a share")
    func ancestor() throws {
        let share = ShareSamples.share(ShareSamples.sharing([bob]))
        share.participants[1].permission = .readWrite
        share.removeParticipant(share.participants[1])
        let ancestor = try #require(share.makeAncestor() as? CKShare)
        #expect(ancestor.participants.map(\.participantID) == ["owner", "bob"])
        #expect(ancestor.participants[1].permission == .readOnly)
        #expect(ancestor.url == share.url)
        let fresh = try #require(CKShare(rootRecord: ShareSamples.root()).makeAncestor() as? CKShare)
        #expect(fresh.url == nil)
        #expect(fresh.participants.count == 1)
    }

    @Test("[C-04][A-06][S-05] an operation saves the same share, and a conflict contains shares")
    func operation() async throws {
        let server = ScriptedServer()
        let share = CKShare(rootRecord: ShareSamples.root())
        let told = ShareSamples.record(ShareSamples.sharing([bob]), name: share.recordID.recordName)
        server.onModify = { request in
            ModifyRecordsResponse(
                saves: request.saves.map { save in
                    save.baseTag == nil
                        ? .success(told)
                        : .failure(CloudError(.serverRecordChanged, inner: 2004, "changed", serverRecord: told))
                }, deletes: [])
        }
        let database = server.container().privateCloudDatabase
        #expect(try await database.save(share) === share)
        #expect(share.url != nil)
        #expect(share.participants.count == 2)
        let error = await #expect(throws: CKError.self) { try await database.save(share) }
        let serverShare = try #require(error?.serverRecord as? CKShare)
        #expect(serverShare.participants.count == 2)
        #expect(error?.clientRecord === share)
        #expect(error?.ancestorRecord is CKShare)
    }

    @Test("an observer gets its user's saved and stopped shares, with their errors, and nothing else")
    func observer() async throws {
        let server = ScriptedServer()
        let container = server.container()
        let trace = Trace()
        let observer = CKSystemSharingUIObserver(container: container)
        observer.systemSharingUIDidSaveShareBlock = { id, result in
            trace.note("saved \(id.recordName) \(outcome(result)) \(((try? result.get()) ?? nil)?.url != nil)")
        }
        observer.systemSharingUIDidStopSharingBlock = { trace.note("stopped \($0.recordName) \(outcome($1))") }
        let share = CKShare(
            rootRecord: ShareSamples.root(), shareID: CKRecord.ID(recordName: "s", zoneID: ShareSamples.zoneID))
        let root = ShareSamples.root()
        server.onModify = { request in
            ModifyRecordsResponse(
                saves: request.saves.map { save in
                    var answer = ShareSamples.record(
                        save.sharing == nil ? nil : ShareSamples.sharing(), name: save.address.recordName)
                    answer.type = save.type
                    return .success(answer)
                },
                deletes: request.deletes.map {
                    $0.recordName == "denied" ? .failure(CloudError(.permissionFailure, "no")) : .success(Done())
                }, endedShares: request.deletes.filter { $0.recordName == "s" })
        }
        server.onFetch = { request in
            #expect(request.desiredKeys == [])
            #expect(request.isUnasked)
            #expect(request.addresses.map(\.recordName) == ["denied"])
            return FetchRecordsResponse(
                records: request.addresses.map { address in
                    var answer = ShareSamples.record(nil, name: address.recordName)
                    if address.recordName == "note" { answer.type = "Note" }
                    return .success(answer)
                })
        }
        let names = ["s", "note", "denied"].map { CKRecord.ID(recordName: $0, zoneID: ShareSamples.zoneID) }
        _ = try await container.privateCloudDatabase.modifyRecords(saving: [share, root], deleting: [])
        _ = try await container.sharedCloudDatabase.modifyRecords(saving: [], deleting: names)
        #expect(trace.all == ["saved s ok true", "stopped s ok", "stopped denied permissionFailure"])
        server.onModify = { _ in throw ScriptedServer.refusal }
        await #expect(throws: CKError.self) { try await container.privateCloudDatabase.save(share) }
        #expect(trace.all.last == "saved s networkUnavailable false")

        let other = CKContainer(
            session: container.scope.session, identifier: ShareSamples.container.text, account: AccountID("bob"))
        await #expect(throws: CKError.self) { try await other.privateCloudDatabase.save(share) }
        #expect(trace.all.count == 4)
        withExtendedLifetime(observer) {}
    }

    @Test("without an observer, a deletion sends no additional request")
    func unobserved() async throws {
        let server = ScriptedServer()
        server.onModify = { _ in ModifyRecordsResponse(saves: [], deletes: [.success(Done())]) }
        let container = server.container()
        _ = CKSystemSharingUIObserver(container: container)
        _ = try await container.privateCloudDatabase.deleteRecord(withID: CKRecord.ID(recordName: "a"))
        #expect(server.requestCount == 1)
    }
}
