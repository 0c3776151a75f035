// URLs for one person each, and the reasons why they cannot be used.

import Foundation
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusCloud

@Suite("one-time URLs")
struct OneTimeURLTests {
    private static let url = ShareTown.url(50)

    private static func share(_ town: ShareTown, with others: [ShareParticipant] = []) throws -> TownShare {
        try town.share(with: [town.invited("once", .oneTime(ShareTown.token(50)), .readWrite)] + others)
    }

    @Test("[P-16] the first person takes the place, and no one after them can")
    func firstCome() throws {
        let town = try ShareTown()
        let share = try Self.share(town)
        let metadata = try town.metadata(Self.url, as: town.bob).get()
        #expect(metadata.status == .pending)
        #expect(metadata.permission == .readWrite)
        #expect(metadata.role == .privateUser)
        #expect(metadata.share.sharing?.currentUserID == "once")
        let pending = metadata.share.sharing?.participants.first { $0.id == "once" }
        #expect(pending?.identity.name == nil)
        #expect(pending?.identity.lookup == nil)
        #expect(pending?.isOneTime == true)

        let sharing = try #require(try town.accept(Self.url, as: town.carol).get().sharing)
        #expect(sharing.currentUserID == "once")
        for account in [town.bob, town.dave] {
            #expect(try town.metadata(Self.url, as: account).code == .unknownItem)
            #expect(try town.accept(Self.url, as: account).code == .unknownItem)
        }
        let place = try town.content(share).participants[1]
        #expect(place.user == town.carol.userName)
        #expect(place.status == .accepted)
        #expect(place.invitation == .oneTime(ShareTown.token(50)))
        #expect(try town.acceptance(town.carol, share)?.permission == .readWrite)
    }

    @Test("[P-16] the owner sees the URL while the participant stays; after its use it is the share's URL")
    func ownersView() throws {
        let town = try ShareTown()
        let share = try Self.share(town)
        func shown() throws -> ClientParticipant? {
            try town.metadata(share.url, as: town.alice).get().share.sharing?.participants.last
        }
        #expect(try shown()?.oneTimeURL == Self.url)
        #expect(try shown()?.isOneTime == true)
        #expect(try town.metadata(Self.url, as: town.bob).get().share.sharing?.participants.last?.oneTimeURL == nil)
        _ = try town.accept(Self.url, as: town.bob).get()
        #expect(try shown()?.oneTimeURL == share.url)
        #expect(try shown()?.isOneTime == false)
        #expect(try shown()?.identity.name?.given == "Bob")
        #expect(try shown()?.identity.lookup == nil)
    }

    @Test("[P-16] of many people who use a URL at once, one is admitted")
    func race() async throws {
        try await TestThreads.offPool {
            let town = try ShareTown(runsBodiesTwice: false)
            let share = try Self.share(town)
            let guests = [town.bob, town.carol, town.dave]
            let admitted = Locked<[UserName]>([])
            let codes = Locked<[CloudError.Code]>([])
            try TestThreads.run(9) { index in
                let guest = guests[index % 3]
                switch try town.accept(Self.url, as: guest) {
                case .success: admitted.withLock { $0.append(guest.userName) }
                case .failure(let error): codes.withLock { $0.append(error.code) }
                }
            }
            #expect(Set(admitted.value).count == 1)
            #expect(admitted.value.count == 3)
            #expect(codes.value == Array(repeating: .unknownItem, count: 6))
            #expect(try town.content(share).participants.last?.user == admitted.value.first)
            #expect(try guests.map { try town.acceptanceCount($0) }.reduce(0, +) == 1)
        }
    }

    @Test("[P-17] a person with another invitation accepts that first, and leaves the one-time place to others")
    func alreadyInvited() throws {
        let town = try ShareTown()
        let share = try Self.share(town, with: [town.invited(town.bob)])
        #expect(try town.metadata(Self.url, as: town.bob).code == .participantAlreadyInvited)
        #expect(try town.accept(Self.url, as: town.bob).code == .participantAlreadyInvited)
        #expect(
            cloudError { _ = try town.service.openShare(Self.url, as: town.bob.id) }?.code == .participantAlreadyInvited
        )
        _ = try town.accept(share.url, as: town.bob).get()
        // Now they are in, and the other place stays as it is.
        let again = try town.accept(Self.url, as: town.bob).get()
        #expect(again.sharing?.currentUserID == "bob")
        #expect(try town.content(share).participants.map(\.status) == [.accepted, .pending, .accepted])
        #expect(try town.accept(Self.url, as: town.carol).get().sharing?.currentUserID == "once")
    }

    @Test("[X-26] a one-time URL becomes invalid with its participant, used or not", arguments: [false, true])
    func dies(isUsed: Bool) throws {
        let town = try ShareTown()
        let share = try Self.share(town)
        if isUsed { _ = try town.accept(Self.url, as: town.bob).get() }
        try town.change(share) { $0.participants.removeAll { $0.id == "once" } }
        for account in [town.bob, town.carol, town.alice] {
            #expect(try town.metadata(Self.url, as: account).code == .unknownItem)
            #expect(try town.accept(Self.url, as: account).code == .unknownItem)
        }
        #expect(try town.metadata(share.url, as: town.alice).error == nil)
        #expect(try ShareVerifier(engine: town.service.engine).verify().findings == [])
    }

    @Test("[X-26] the share's URL is the same when its root is shared again, without the former participants")
    func stable() throws {
        let town = try ShareTown()
        let share = try town.share(with: [town.invited(town.bob)])
        _ = try town.accept(share.url, as: town.bob).get()
        try town.stop(share)
        #expect(try town.metadata(share.url, as: town.bob).code == .unknownItem)
        let kept = try town.service.engine.read { reader in
            let keys = try reader.existingZone(town.zone).keys
            return try reader.store.withValue(forKey: keys.shareToken("folder")) {
                try ShareTokenEntry(decoding: $0).token
            }
        }
        #expect(kept == ShareTown.token(7))
        #expect(try town.share(with: [town.invited(town.carol)]).url == share.url)
        #expect(try town.metadata(share.url, as: town.bob).code == .unknownItem)
        #expect(try town.accept(share.url, as: town.carol).error == nil)
        #expect(try town.acceptanceCount(town.bob) == 0)
        #expect(try ShareVerifier(engine: town.service.engine).verify().findings == [])
    }
}
