// What a person learns about a share by its URL.

import Foundation
import StratusModel
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusCloud

@Suite("a share's metadata")
struct ShareMetadataTests {
    @Test("[M-01] metadata can be fetched in any container, and names the container in which the share is accepted")
    func containers() throws {
        let town = try ShareTown()
        let share = try town.share(with: [town.invited(town.bob)])
        let elsewhere = Caller(container: "iCloud.com.example.elsewhere", account: town.bob.id)
        let metadata = try town.service.shareMetadata(ShareMetadataRequest(urls: [share.url]), as: elsewhere)[0].get()
        #expect(metadata.container == RecordBench.container)
        let refused = try town.service.acceptShares([share.url], as: elsewhere)[0]
        #expect(refused.code == .badContainer)
        #expect(refused.error?.fields["container"] == RecordBench.container.text)
        #expect(try town.acceptance(town.bob, share) == nil)
        // To an outsider the share is in no container at all.
        let outsider = Caller(container: "iCloud.com.example.elsewhere", account: town.carol.id)
        #expect(try town.service.acceptShares([share.url], as: outsider)[0].code == .unknownItem)
        #expect(try town.accept(share.url, as: town.bob).error == nil)
    }

    @Test("[M-02] before acceptance, the root is returned if it is requested, with the requested keys")
    func root() throws {
        let town = try ShareTown()
        let share = try town.share(with: [town.invited(town.bob)])
        #expect(try town.metadata(share.url, as: town.bob).get().rootRecord == nil)
        let zone = ZoneAddress(zoneName: "Notes", ownerName: town.alice.userName.text)
        let metadata = try town.metadata(share.url, as: town.bob, root: true).get()
        let root = try #require(metadata.rootRecord)
        #expect(root.address == RecordAddress(recordName: "folder", zone: zone))
        #expect(root.fields.keys.sorted() == ["size", "title"])
        #expect(root.share?.target == metadata.share.address)
        // The records above the root are not shared; its owner sees them.
        #expect(root.parent == nil)
        #expect(try town.metadata(share.url, as: town.alice, root: true).get().rootRecord?.parent != nil)
        let some = try town.metadata(share.url, as: town.bob, root: true, keys: ["title", "none"]).get()
        #expect(some.rootRecord?.fields.keys.sorted() == ["title"])
        #expect(some.share.sharing?.root == root.address)
        #expect(
            try town.metadata(share.url, as: town.bob, root: true, keys: []).get().rootRecord?.fields.isEmpty == true)
    }

    @Test("[M-02] a share of a whole zone has no root, even if it is requested")
    func wholeZone() throws {
        let town = try ShareTown()
        let share = try town.share(nil, with: [town.invited(town.bob)])
        let metadata = try town.metadata(share.url, as: town.bob, root: true, keys: ["title"]).get()
        #expect(metadata.rootRecord == nil)
        #expect(metadata.share.sharing?.root == nil)
        #expect(metadata.share.address.recordName == "cloudkit.zoneshare")
    }

    @Test("[P-09] a person invited without permission does not get the root")
    func noPermission() throws {
        let town = try ShareTown()
        let share = try town.share(with: [town.invited(town.bob, .none)])
        let metadata = try town.metadata(share.url, as: town.bob, root: true).get()
        #expect(metadata.rootRecord == nil)
        #expect(metadata.permission == .none)
    }

    @Test("[M-03] metadata contains the caller's role, status and permission, and the owner")
    func roles() throws {
        let town = try ShareTown()
        let share = try town.share(with: [
            town.invited(town.bob, .readWrite), town.accepted(town.carol, .readOnly, role: .administrator),
        ])
        let bob = try town.metadata(share.url, as: town.bob).get()
        #expect(bob.role == .privateUser)
        #expect(bob.status == .pending)
        #expect(bob.permission == .readWrite)
        #expect(bob.owner.userName == town.alice.userName.text)
        #expect(bob.owner.name?.given == "Alice")
        #expect(bob.share.sharing?.currentUserID == "bob")
        let carol = try town.metadata(share.url, as: town.carol).get()
        #expect(carol.role == .administrator)
        #expect(carol.status == .accepted)
        #expect(carol.permission == .readOnly)
        let alice = try town.metadata(share.url, as: town.alice).get()
        #expect(alice.role == .owner)
        #expect(alice.status == .accepted)
        #expect(alice.permission == .readWrite)
        #expect(alice.owner.userName == ZoneAddress.currentUser)
        #expect(alice.share.address.zone == RecordBench.notes)
    }

    @Test(
        "[M-03] in a public share that the caller has not joined, the caller is a prospective public user",
        arguments: [
            ParticipantPermission.readOnly, .readWrite,
        ])
    func publicShare(permission: ParticipantPermission) throws {
        let town = try ShareTown()
        let share = try town.share { $0.publicPermission = permission }
        let metadata = try town.metadata(share.url, as: town.bob).get()
        #expect(metadata.role == .publicUser)
        #expect(metadata.status == .pending)
        #expect(metadata.permission == permission)
        #expect(metadata.share.sharing?.currentUserID == nil)
        #expect(try town.content(share).participants.count == 1)
    }

    @Test("[M-04][M-05] unknown URLs, stopped shares and shares for others are all not found")
    func notFound() throws {
        let town = try ShareTown()
        let share = try town.share(with: [town.invited(town.bob)])
        let stopped = try town.share("other", with: [town.invited(town.carol)], tokenSeed: 100)
        try town.stop(stopped)
        for url in [ShareTown.url(9), stopped.url, share.url, "", "https://example.com", share.url + "A"] {
            let error = try #require(try town.metadata(url, as: town.carol).error)
            #expect(error.code == .unknownItem)
            #expect(error.innerCode == 2003)
            #expect(error.message == "Share not found")
            #expect(error.fields.isEmpty, "nothing tells them apart")
            #expect(error.cause == nil, "nothing tells them apart")
            #expect(try town.accept(url, as: town.carol).error?.description == error.description)
            #expect(try town.ask(url, as: town.carol).error?.description == error.description)
        }
        #expect(try town.metadata(stopped.url, as: town.alice).code == .unknownItem)
    }

    @Test("[M-05] a share is gone with its zone, also if another zone takes the name")
    func zoneGone() throws {
        let town = try ShareTown()
        let share = try town.share(with: [town.invited(town.bob), town.accepted(town.carol)])
        let request = ModifyZonesRequest(deletes: [RecordBench.notes])
        _ = try town.service.modifyZones(request, as: town.caller(town.alice), in: .private).deletes[0].get()
        for isMadeAnew in [false, true] {
            if isMadeAnew { try town.bench.makeNotes() }
            for account in [town.alice, town.bob, town.carol] {
                let error = try town.metadata(share.url, as: account).error
                #expect(error?.description == "11/2003: Share not found")
                #expect(try town.accept(share.url, as: account).code == .unknownItem)
            }
        }
    }

    @Test("[M-04] if requests for access are allowed, outsiders learn that they have none")
    func outsiders() throws {
        let town = try ShareTown()
        let share = try town.share(with: [town.invited(town.bob)]) { $0.allowsAccessRequests = true }
        let error = try #require(try town.metadata(share.url, as: town.carol).error)
        #expect(error.code == .permissionFailure)
        #expect(error.innerCode == 2007)
        #expect(try town.accept(share.url, as: town.carol).code == .permissionFailure)
    }

    @Test("[P-18] an invited address without an account may be the caller's, who is asked to verify it")
    func verification() throws {
        let town = try ShareTown()
        let stranger = town.invited("stranger", .handle(.email("stranger@example.com")))
        let share = try town.share(with: [town.invited(town.bob), stranger]) { $0.allowsAccessRequests = true }
        #expect(try town.metadata(share.url, as: town.carol).code == .participantMayNeedVerification)
        #expect(try town.accept(share.url, as: town.carol).code == .participantMayNeedVerification)
        // As soon as the address belongs to another account, it is not the caller's.
        try town.service.changeAccount(town.dave.id) { $0.handles.insert(.email("stranger@example.com")) }
        #expect(try town.metadata(share.url, as: town.carol).code == .permissionFailure)
        #expect(try town.metadata(share.url, as: town.dave).error == nil)
        // With requests off none of this is returned.
        try town.service.changeAccount(town.dave.id) { $0.handles.remove(.email("stranger@example.com")) }
        try town.change(share) { $0.allowsAccessRequests = false }
        #expect(try town.metadata(share.url, as: town.carol).code == .unknownItem)
    }

    @Test("[X-16] a removed person is an outsider at once")
    func removed() throws {
        let town = try ShareTown()
        let share = try town.share(with: [town.invited(town.bob)])
        #expect(try town.accept(share.url, as: town.bob).error == nil)
        try town.change(share) { $0.participants.removeAll { $0.id == "bob" } }
        let outsider = try town.metadata(share.url, as: town.carol).error
        #expect(try town.metadata(share.url, as: town.bob).error?.description == outsider?.description)
        #expect(try town.accept(share.url, as: town.bob).code == .unknownItem)
        #expect(try town.acceptance(town.bob, share) == nil)
    }

    @Test("a request has limits, needs an account in good standing, and a container with sharing enabled")
    func refusals() throws {
        let town = try ShareTown { $0.requestItemCount = 4 }
        let urls = (1...5).map { ShareTown.url($0) }
        func all(_ urls: [String], _ caller: Caller) throws -> [CloudError?] {
            [
                cloudError { _ = try town.service.shareMetadata(ShareMetadataRequest(urls: urls), as: caller) },
                cloudError { _ = try town.service.acceptShares(urls, as: caller) },
                cloudError { _ = try town.service.requestShareAccess(urls, as: caller) },
            ]
        }
        #expect(
            try all(urls, town.caller(town.bob)).map { $0?.code } == [.limitExceeded, .limitExceeded, .limitExceeded])
        #expect(
            try all([], town.caller(nil)).map { $0?.code } == [.notAuthenticated, .notAuthenticated, .notAuthenticated])
        #expect(try all([urls[0]], town.caller(town.bob)).allSatisfy { $0 == nil })
        let off = try ShareTown { $0.isSharingEnabled = false }
        let errors = [
            cloudError {
                _ = try off.service.shareMetadata(ShareMetadataRequest(urls: [urls[0]]), as: off.caller(off.bob))
            },
            cloudError { _ = try off.service.acceptShares([urls[0]], as: off.caller(off.bob)) },
            cloudError { _ = try off.service.requestShareAccess([urls[0]], as: off.caller(off.bob)) },
        ]
        #expect(errors.allSatisfy { $0?.message.hasPrefix("Shared zone update is not enabled for container") == true })
    }
}
