// Claims of clients about shares that they cannot have: the server determines all of it from its own data.

import Foundation
import StratusKit
import StratusSharingSupport
import Testing

@Suite("Claims about shares")
struct ShareClaimTests {
    @Test("the folder of these tests has the described contents")
    func folder() async throws {
        let folder = try await SharedFolder()
        #expect(try await folder.content() == SharedFolder.untouched + folder.url.absoluteString)
        #expect(try folder.town.findings() == [])
    }

    @Test(
        "[X-22][P-04] no one can make anyone owner or public user by a save",
        arguments: [Role.owner, .publicUser])
    func claimedRole(role: Role) async throws {
        let folder = try await SharedFolder()
        let before = try await folder.content()
        for other in [folder.reader, folder.invited] {
            let outcome = await folder.owner.change(other, of: SharedFolder.share, in: folder.place) { $0.role = role }
            #expect(outcome == .refused(.invalidArguments))
        }
        let added = await folder.owner.invite(folder.stranger, to: SharedFolder.share, role: role, in: folder.place)
        #expect(added == .refused(.invalidArguments))
        // A participant claims it for themself.
        let own = await folder.writer.change(folder.writer, of: SharedFolder.share, in: folder.place) { $0.role = role }
        #expect(own == .refused(.permissionFailure) || own == .refused(.invalidArguments))
        #expect(try await folder.content() == before)
        #expect(await folder.stranger.see(folder.place) == .refused(.zoneNotFound))
    }

    @Test("[X-22][X-13] a participant cannot change anyone's entry, not even their own")
    func foreignEntries() async throws {
        let folder = try await SharedFolder()
        let before = try await folder.content()
        let changes: [@Sendable (CKShare.Participant) -> Void] = [
            { $0.permission = .readWrite }, { $0.role = .administrator }, { $0.permission = .none },
        ]
        for (index, change) in changes.enumerated() {
            for (person, other) in [
                (folder.reader, folder.reader), (folder.reader, folder.writer), (folder.writer, folder.reader),
            ] {
                let outcome = await person.change(other, of: SharedFolder.share, in: folder.place, change)
                // A writer's entry already says read-write: saving that is no change, and may be refused all the same.
                #expect(!outcome.isDone || other == folder.writer && index == 0)
            }
        }
        #expect(await folder.reader.invite(folder.stranger, to: SharedFolder.share, in: folder.place) != .done)
        #expect(await folder.writer.remove(folder.reader, from: SharedFolder.share, in: folder.place) != .done)
        #expect(await folder.writer.publish(SharedFolder.share, .readWrite, in: folder.place) != .done)
        #expect(
            await folder.writer.edit(SharedFolder.share, in: folder.place) { $0.allowsAccessRequests = true } != .done)
        #expect(try await folder.content() == before)
        #expect(try folder.town.findings() == [])
    }

    @Test("[P-01][X-22] the owner cannot be invited, removed or restricted")
    func ownerEntry() async throws {
        let folder = try await SharedFolder()
        let before = try await folder.content()
        let others = [folder.owner, folder.writer]
        _ = await folder.owner.change(folder.writer, of: SharedFolder.share, in: folder.place) {
            $0.role = .administrator
        }
        for person in others {
            _ = await person.invite(folder.owner, to: SharedFolder.share, permission: .none, in: folder.place)
            _ = await person.remove(folder.owner, from: SharedFolder.share, in: folder.place)
            _ = await person.change(folder.owner, of: SharedFolder.share, in: folder.place) {
                $0.permission = .readOnly
                $0.role = .privateUser
            }
            #expect(await folder.owner.rename(SharedFolder.share, "mine", in: folder.place) == .done)
            #expect(await folder.owner.change("note", to: 1, in: folder.place) == .done)
        }
        let after = try await folder.content()
        #expect(after == before.replacing("writer 3 read-write 2", with: "writer 2 read-write 2"))
        #expect(try folder.town.findings() == [])
    }

    @Test("[L-12][X-10] the hundred and first participant is refused, and nothing is saved")
    func tooMany() async throws {
        let folder = try await SharedFolder()
        func add(_ range: Range<Int>) async -> Outcome {
            await folder.owner.edit(SharedFolder.share, in: folder.place) { share in
                for number in range {
                    let participant = try await folder.owner.container
                        .shareParticipant(forEmailAddress: "guest\(number)@example.net")
                    share.addParticipant(participant)
                }
            }
        }
        let before = try await folder.content()
        #expect(await add(0..<98) == .refused(.tooManyParticipants))
        #expect(try await folder.content() == before)
        // With the three existing ones, a hundred.
        #expect(await add(0..<97) == .done)
        #expect(try await folder.share(as: folder.owner).participants.count == 101)
        #expect(await add(97..<98) == .refused(.tooManyParticipants))
        let title = await folder.owner.rename(SharedFolder.share, "full", in: folder.place)
        #expect(title == .done)
        #expect(await folder.invited.accept(folder.url) == .done)
        #expect(try folder.town.findings() == [])
    }

    @Test("[X-23] a share or record fetched by one account cannot be saved through another's database")
    func otherAccount() async throws {
        let folder = try await SharedFolder()
        let before = try await folder.content()
        let share = try await folder.share(as: folder.owner)
        share.publicPermission = .readWrite
        let note = try await folder.reader.record("note", in: folder.place)
        note[Person.valueKey] = 7
        let shared = folder.writer.container.sharedCloudDatabase
        for database in [
            shared, folder.stranger.container.sharedCloudDatabase, folder.stranger.container.privateCloudDatabase,
        ] {
            #expect(await Outcome.of { _ = try await database.save(share) } == .refused(.invalidArguments))
            #expect(await Outcome.of { _ = try await database.save(note) } == .refused(.invalidArguments))
        }
        #expect(try await folder.content() == before)
        #expect(try await folder.owner.record("note", in: folder.place)[Person.valueKey] as? Int == 0)
    }

    @Test(
        "[S-03] a stale share is refused under every policy",
        arguments: [CKModifyRecordsOperation.RecordSavePolicy.ifServerRecordUnchanged, .changedKeys, .allKeys])
    func staleShare(policy: CKModifyRecordsOperation.RecordSavePolicy) async throws {
        let folder = try await SharedFolder()
        let stale = try await folder.share(as: folder.owner)
        #expect(await folder.owner.rename(SharedFolder.share, "new", in: folder.place) == .done)
        stale.publicPermission = .readWrite
        #expect(await folder.owner.save(stale, in: folder.place, policy: policy) == .refused(.serverRecordChanged))
        #expect(try await folder.content() == SharedFolder.untouched + folder.url.absoluteString)
        // Joining has made a share stale too.
        let early = try await folder.share(as: folder.owner)
        #expect(await folder.invited.accept(folder.url) == .done)
        early[CKShare.SystemFieldKey.title] = "late"
        #expect(await folder.owner.save(early, in: folder.place, policy: policy) == .refused(.serverRecordChanged))
    }
}
