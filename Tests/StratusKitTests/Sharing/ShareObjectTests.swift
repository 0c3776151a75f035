// Shares and participants as objects, without a server.

import Foundation
@testable import StratusCloud
import StratusModel
import Testing

@testable import StratusKit

@Suite struct ShareObjectTests {
    // MARK: Making

    @Test("[C-12] a record's share is named Share-<UUID> in the record's zone, and the record refers to it at once")
    func made() throws {
        let root = ShareSamples.root()
        let share = CKShare(rootRecord: root)
        #expect(share.recordType == CKRecord.SystemType.share)
        #expect(share.recordID.zoneID == root.recordID.zoneID)
        #expect(share.recordID.recordName.hasPrefix("Share-"))
        #expect(UUID(uuidString: String(share.recordID.recordName.dropFirst(6))) != nil)
        #expect(root.share == CKRecord.Reference(recordID: share.recordID, action: .none))
        #expect(root.changedKeys().isEmpty)
        #expect(share.claim?.root == root.recordID.address)
        #expect(CKShare(rootRecord: root).recordID != share.recordID)
    }

    @Test("[C-12][X-25] a share in another zone than its root records the mistake, and the root does not refer to it")
    func wrongZone() {
        let root = ShareSamples.root()
        let share = CKShare(rootRecord: root, shareID: CKRecord.ID(recordName: "s"))
        #expect(share.misuse == "Share must be in the same zone as the current record")
        #expect(root.share == nil)
        let right = CKShare(rootRecord: root, shareID: CKRecord.ID(recordName: "s", zoneID: ShareSamples.zoneID))
        #expect(right.misuse == nil)
        #expect(right.recordID.recordName == "s")
    }

    @Test("[C-13] a zone's share always has the reserved name, and no root")
    func zoneWide() {
        let share = CKShare(recordZoneID: ShareSamples.zoneID)
        #expect(share.recordID == CKRecord.ID(recordName: CKRecordNameZoneWideShare, zoneID: ShareSamples.zoneID))
        #expect(share.claim?.root == nil)
    }

    @Test("[C-14] an unsaved share has no URL, and no participant has a URL of their own")
    func url() {
        let share = CKShare(rootRecord: ShareSamples.root())
        let guest = CKShare.Participant.oneTimeURLParticipant()
        share.addParticipant(guest)
        #expect(share.url == nil)
        #expect(share.oneTimeURL(for: guest.participantID) == nil)
        #expect(ShareSamples.share().url == URL(string: "https://example.com/share/secret"))
    }

    @Test("[C-15] a new share has the user as its owner, as a placeholder; copies are returned")
    func owner() throws {
        let share = CKShare(rootRecord: ShareSamples.root())
        #expect(share.participants.count == 1)
        #expect(share.owner == share.participants[0])
        #expect(share.owner !== share.participants[0])
        let user = try #require(share.currentUserParticipant)
        #expect(user == share.owner)
        #expect(user !== share.participants[0])
        #expect(user.role == .owner)
        #expect(user.acceptanceStatus == .accepted)
        #expect(user.permission == .readWrite)
        #expect(user.userIdentity.userRecordID?.recordName == CKCurrentUserDefaultName)
        #expect(share.publicPermission == .none)
        #expect(!share.allowsAccessRequests)
        #expect(share.requesters.isEmpty)
        #expect(share.blockedIdentities.isEmpty)
    }

    @Test("[X-20] owner and current user are copies, the elements of participants are the share's own")
    func copies() throws {
        let share = ShareSamples.share(ShareSamples.sharing([ShareSamples.told("bob", email: "bob@example.com")]))
        share.owner.permission = .readOnly
        share.currentUserParticipant?.permission = .readOnly
        #expect(share.owner.permission == .readWrite)
        #expect(share.participants[1] === share.participants[1])
        share.participants[1].permission = .readWrite
        #expect(share.participants[1].permission == .readWrite)
        let copy = try #require(share.copy() as? CKShare)
        #expect(copy != share)
        #expect(copy.participants.map(\.participantID) == ["owner", "bob"])
        copy.participants[1].permission = .none
        #expect(share.participants[1].permission == .readWrite)
    }

    @Test("[X-12][X-22] a change of permission or role is claimed by a save, and nothing else of a participant is")
    func claims() throws {
        let share = ShareSamples.share(ShareSamples.sharing([ShareSamples.told("bob", email: "bob@example.com")]))
        share.participants[1].permission = .readWrite
        share.participants[1].role = .administrator
        let claim = try #require(share.claim)
        #expect(
            claim.participants == [
                ParticipantClaim(id: "owner", role: .owner, permission: .readWrite),
                ParticipantClaim(id: "bob", role: .administrator, permission: .readWrite),
            ])
        share.participants[1].permission = .unknown
        #expect(share.claim?.participants[1].permission == .some(nil))
    }

    // MARK: Participants

    @Test("[C-18] a participant is a private user with read-only permission who has not accepted")
    func defaults() {
        for participant in [ShareSamples.person("bob", email: "b@example.com"), .oneTimeURLParticipant()] {
            #expect(participant.role == .privateUser)
            #expect(participant.permission == .readOnly)
            #expect(participant.acceptanceStatus == .pending)
            #expect(participant.dateAddedToShare == nil)
            #expect(!participant.isApprovedRequester)
        }
    }

    @Test("[C-18] participants are equal if they are the same person: by user record, or else handle, or else name")
    func equality() {
        let byMail = ShareSamples.person("1", email: "Bob@Example.com")
        #expect(byMail == ShareSamples.person("2", email: " bob@example.com"))
        #expect(byMail.hash == ShareSamples.person("2", email: " bob@example.com").hash)
        #expect(byMail != ShareSamples.person("1", email: "eve@example.com"))
        #expect(ShareSamples.person("1", phone: "+49 123 456") == ShareSamples.person("2", phone: "0049123456"))
        let known = ShareSamples.person("1", email: "bob@example.com", user: "_bob")
        #expect(known == ShareSamples.person("2", phone: "123", user: "_bob"))
        #expect(known != byMail)
        let guests = [CKShare.Participant.oneTimeURLParticipant(), .oneTimeURLParticipant()]
        #expect(guests[0] != guests[1])
        #expect(guests[0] == guests[0].copy() as? CKShare.Participant)
        #expect(Set([byMail, ShareSamples.person("2", email: "bob@example.com")] + guests).count == 3)
    }

    @Test("[C-18] __defaultOwner__ of two people is not the same person")
    func ownNames() {
        let mine = CKShareParticipant(ShareSamples.owner(), viewer: AccountID("alice"))
        #expect(mine == CKShareParticipant(ShareSamples.owner(), viewer: AccountID("alice")))
        #expect(mine != CKShareParticipant(ShareSamples.owner(), viewer: AccountID("bob")))
    }

    @Test("[C-16] adding a person again updates them, by whatever handle or record they are known")
    func updating() {
        let share = CKShare(rootRecord: ShareSamples.root())
        let bob = ShareSamples.person("1", email: "bob@example.com")
        share.addParticipant(bob)
        let again = ShareSamples.person("2", email: "BOB@example.com", user: "_bob")
        again.permission = .readWrite
        share.addParticipant(again)
        #expect(share.participants.count == 2)
        #expect(share.participants.last === bob)
        #expect(bob.permission == .readWrite)
        #expect(share.misuse == nil)
        #expect(share.claim?.participants.last?.lookup == .email("bob@example.com"))
        #expect(share.claim?.participants.last?.isAdded == true)
    }

    @Test("[C-16] two people known by their user records stay two, whatever address led to both")
    func movedAddress() throws {
        let bob = ShareSamples.told("bob", email: "bob@example.com", user: "_bob", status: .accepted)
        let share = ShareSamples.share(ShareSamples.sharing([bob]))
        let carol = ShareSamples.person("new", email: "bob@example.com", user: "_carol")
        carol.permission = .readWrite
        share.addParticipant(carol)
        try #require(share.participants.count == 3)
        #expect(share.participants[2] === carol)
        #expect(share.participants[1].permission == .readOnly)
        #expect(share.claim?.participants.last?.lookup == .email("bob@example.com"))
        // Where only one of them is known by user record the address decides.
        let unknown = ShareSamples.person("other", email: "bob@example.com")
        share.addParticipant(unknown)
        #expect(share.participants.count == 3)
        #expect(share.misuse == nil)
    }

    @Test("[C-16][X-25] a participant of one share must be removed before being added to another; a copy can be added")
    func twoShares() {
        let first = CKShare(rootRecord: ShareSamples.root("1"))
        let second = CKShare(rootRecord: ShareSamples.root("2"))
        let bob = ShareSamples.person("1", email: "bob@example.com")
        first.addParticipant(bob)
        second.addParticipant(bob)
        #expect(second.participants.count == 1)
        #expect(second.misuse?.contains("another share") == true)
        let third = CKShare(rootRecord: ShareSamples.root("3"))
        if let copy = bob.copy() as? CKShare.Participant { third.addParticipant(copy) }
        #expect(third.participants.count == 2)
        #expect(third.misuse == nil)
        first.removeParticipant(bob)
        let fourth = CKShare(rootRecord: ShareSamples.root("4"))
        fourth.addParticipant(bob)
        #expect(fourth.participants.count == 2)
        #expect(fourth.misuse == nil)
        #expect(first.misuse == nil)
    }

    @Test("[C-16][X-25] removing an unknown participant or the owner is a mistake, recorded until the save")
    func removing() {
        let share = CKShare(rootRecord: ShareSamples.root())
        share.removeParticipant(ShareSamples.person("1", email: "bob@example.com"))
        #expect(share.misuse?.contains("not in this share") == true)
        let other = ShareSamples.share(ShareSamples.sharing([ShareSamples.told("bob", email: "bob@example.com")]))
        other.removeParticipant(ShareSamples.person("x", email: "bob@example.com"))
        #expect(other.participants.count == 1)
        #expect(other.misuse == nil)
        #expect(other.claim?.participants.map(\.id) == ["owner"])
        other.removeParticipant(other.owner)
        #expect(other.participants.count == 1)
        #expect(other.misuse?.contains("owner") == true)
    }

    @Test("[C-17][X-25] a public share accepts no participants and returns none")
    func publicShare() {
        for change in [
            { (share: CKShare) in share.addParticipant(ShareSamples.person("1", email: "eve@example.com")) },
            { (share: CKShare) in share.removeParticipant(share.participants[1]) },
        ] {
            let share = ShareSamples.share(ShareSamples.sharing([ShareSamples.told("bob", email: "bob@example.com")]))
            share.publicPermission = .readOnly
            #expect(share.misuse == nil)
            change(share)
            #expect(share.participants.count == 2)
            #expect(share.misuse?.contains("publicPermission") == true)
        }
        let share = ShareSamples.share(ShareSamples.sharing(publicPermission: .readOnly))
        share.publicPermission = .none
        share.addParticipant(ShareSamples.person("1", email: "eve@example.com"))
        #expect(share.misuse == nil)
        #expect(share.participants.count == 2)
    }

    // MARK: Access requests

    private func askedFor(currentUserID: String = "owner", role: ParticipantRole = .privateUser) -> CKShare {
        ShareSamples.share(
            ShareSamples.sharing(
                [
                    ShareSamples.told("me", user: CKCurrentUserDefaultName, role: role, status: .accepted),
                    ShareSamples.told("dan", email: "dan@example.com", user: "_dan", status: .accepted),
                ], currentUserID: currentUserID,
                requesters: [
                    ShareSamples.petitioner("r1", email: "carol@example.com", user: "_carol"),
                    ShareSamples.petitioner("r2", email: "dan@example.com", user: "_dan"),
                ], blocked: [ShareSamples.petitioner("b1", email: "eve@example.com", user: "_eve")]))
    }

    @Test("[P-20] denying removes from one list, blocking from both, unblocking from the other, and the save says so")
    func requests() throws {
        let share = askedFor()
        #expect(share.requesters.map(\.participantLookupInfo.emailAddress) == ["carol@example.com", "dan@example.com"])
        share.denyRequesters([share.requesters[0]])
        share.blockRequesters([share.requesters[0]])
        share.unblockIdentities(Array(share.blockedIdentities.prefix(1)))
        share.allowsAccessRequests = true
        #expect(share.requesters.isEmpty)
        #expect(share.blockedIdentities.map(\.userIdentity.userRecordID?.recordName) == ["_dan"])
        #expect(share.participants.map(\.participantID) == ["owner", "me"])
        let claim = try #require(share.claim)
        #expect(claim.denied == ["r1"])
        #expect(claim.blocked == ["r2"])
        #expect(claim.unblocked == ["b1"])
        #expect(claim.allowsAccessRequests)
        #expect(share.misuse == nil)
        share.unblockIdentities(share.blockedIdentities)
        #expect(share.claim?.blocked == [])
        #expect(share.claim?.unblocked == ["b1"])
    }

    @Test("[P-14][X-25] only owner and administrators decide about access requests")
    func managers() {
        let changes: [(CKShare) -> Void] = [
            { $0.allowsAccessRequests = true }, { $0.denyRequesters($0.requesters) },
            { $0.blockRequesters($0.requesters) }, { $0.unblockIdentities($0.blockedIdentities) },
        ]
        for change in changes {
            let share = askedFor(currentUserID: "me")
            change(share)
            #expect(share.requesters.count == 2)
            #expect(share.blockedIdentities.count == 1)
            #expect(!share.allowsAccessRequests)
            #expect(share.misuse?.contains("administrators") == true)
            let managed = askedFor(currentUserID: "me", role: .administrator)
            change(managed)
            #expect(managed.misuse == nil)
        }
    }

    @Test("[X-19] a contact is recreated from name and handle")
    func contact() throws {
        let requester = askedFor().requesters[0]
        let contact = requester.contact
        #expect(contact !== requester.contact)
        #expect(contact.givenName == "r1")
        #expect(contact.familyName == "")
        #expect(contact.emailAddresses.map { $0.value as String } == ["carol@example.com"])
        #expect(contact.phoneNumbers.isEmpty)
        #expect(askedFor().blockedIdentities[0].contact.givenName == "b1")
    }

    // MARK: Records

    @Test("[SH-15] title, thumbnail and type are fields, and any other key is too")
    func fields() {
        let share = CKShare(rootRecord: ShareSamples.root())
        share[CKShare.SystemFieldKey.title] = "Holiday"
        share[CKShare.SystemFieldKey.thumbnailImageData] = Data([1])
        share[CKShare.SystemFieldKey.shareType] = "com.example.folder"
        share["colour"] = "blue"
        #expect(share.allKeys() == ["cloudkit.thumbnailImageData", "cloudkit.title", "cloudkit.type", "colour"])
        #expect(share.misuse == nil)
    }

    @Test("[X-25] a plain record of a share's type cannot be saved")
    func plainRecord() {
        let record = CKRecord(recordType: CKRecord.SystemType.share)
        #expect(record.beginSave().makeSave(to: ShareSamples.origin).misuse?.contains("CKShare") == true)
    }

    @Test("a share from the server is always a CKShare, in every call that returns records")
    func fromServer() {
        let answer = ShareSamples.record(ShareSamples.sharing())
        #expect(CKRecord.from(answer, origin: nil) is CKShare)
        let error = CKError(CloudError(.alreadyShared, "in the way", serverRecord: answer))
        #expect((error.serverRecord as? CKShare)?.url != nil)
        #expect(error.clientRecord == nil)
    }

    @Test("[C-18][X-20] metadata are equal if their contents are equal, and return copies")
    func metadata() throws {
        let root = ClientRecord(
            ToldRecord(
                address: ShareSamples.root().recordID.address, type: "Folder", changeTag: "1",
                creationDate: ShareSamples.date, modificationDate: ShareSamples.date, creatorUserName: "_a",
                lastModifiedUserName: "_a"))
        let metadata = ShareSamples.metadata(ShareSamples.metadata(root: root))
        #expect(metadata == ShareSamples.metadata(ShareSamples.metadata(root: root)))
        #expect(metadata.hash == ShareSamples.metadata(ShareSamples.metadata(root: root)).hash)
        #expect(metadata != ShareSamples.metadata(ShareSamples.metadata()))
        #expect(
            metadata != ShareSamples.metadata(ShareSamples.metadata(url: "https://example.com/share/x", root: root)))
        #expect(metadata.share !== metadata.share)
        #expect(metadata.rootRecord !== metadata.rootRecord)
        metadata.share["cloudkit.title"] = "other"
        #expect(metadata.share["cloudkit.title"] as? String == "Holiday")
        #expect(metadata.hierarchicalRootRecordID == ShareSamples.root().recordID)
        #expect(metadata.rootRecord?.recordID == ShareSamples.root().recordID)
        #expect(metadata.containerIdentifier == "iCloud.com.example.app")
        #expect(metadata.participantRole == .privateUser)
        #expect(metadata.participantStatus == .pending)
        #expect(metadata.participantPermission == .readWrite)
        #expect(metadata.ownerIdentity.nameComponents?.givenName == "Olga")
        #expect(metadata.share.currentUserParticipant == nil)
    }

    @Test("no description contains a URL")
    func descriptions() {
        let share = ShareSamples.share(ShareSamples.sharing([ShareSamples.told("bob", email: "bob@example.com")]))
        for text in [share.description, "\(share.participants)", "\(ShareSamples.metadata(ShareSamples.metadata()))"] {
            #expect(!text.contains("secret"))
        }
    }
}
