// Shares in archives: they round-trip, and hand-edited parts are claims like any other.

import Foundation
import StratusCloud
import StratusModel
import StratusTestSupport
import Testing

@testable import StratusKit

@Suite struct ShareArchivingTests {
    private static func share() -> CKShare {
        let share = ShareSamples.share(
            ShareSamples.sharing(
                [
                    ShareSamples.told("bob", email: "bob@example.com", user: "_bob", status: .accepted),
                    ShareSamples.told("zoe", phone: "+49 123"),
                ],
                requesters: [
                    ShareSamples.petitioner("r1", email: "carol@example.com", user: "_carol"),
                    ShareSamples.petitioner("r2", email: "dan@example.com", user: "_dan"),
                ], blocked: [ShareSamples.petitioner("b1", email: "eve@example.com", user: "_eve")]))
        share.participants[1].permission = .readWrite
        share.addParticipant(ShareSamples.person("fay", email: "fay@example.com"))
        share.removeParticipant(share.participants[2])
        share.denyRequesters([share.requesters[0]])
        share.blockRequesters(share.requesters)
        share.unblockIdentities(Array(share.blockedIdentities.prefix(1)))
        share.allowsAccessRequests = true
        share["cloudkit.title"] = "Späti"
        return share
    }

    private static func systemFields<Share: CKRecord>(_ share: Share, as way: ArchivingTests.Way) throws -> Share {
        let data = ArchiveSamples.systemFields(of: share)
        guard way == .foundation else { return try StratusArchive.decode(Share.self, from: data) }
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: data)
        unarchiver.requiresSecureCoding = true
        defer { unarchiver.finishDecoding() }
        return try #require(Share(coder: unarchiver))
    }

    @Test(
        "[C-06] a share round-trips with its participants and the changes that were not saved",
        arguments: ArchivingTests.Way.allCases)
    func full(way: ArchivingTests.Way) throws {
        let share = Self.share()
        let decoded = try way.decode(CKShare.self, from: ArchiveSamples.archive(share))
        #expect(decoded != share)
        #expect(decoded.recordID == share.recordID)
        #expect(decoded.url == share.url)
        #expect(decoded.participants.map(\.participantID) == ["owner", "bob", "fay"])
        #expect(decoded.participants[1].permission == .readWrite)
        #expect(decoded.participants[1].acceptanceStatus == .accepted)
        #expect(decoded.participants[1].userIdentity.nameComponents?.givenName == "bob")
        #expect(decoded.participants[1] == share.participants[1])
        #expect(decoded.owner.participantID == "owner")
        #expect(decoded.currentUserParticipant?.role == .owner)
        #expect(decoded.requesters.isEmpty)
        #expect(decoded.blockedIdentities.count == share.blockedIdentities.count)
        #expect(decoded["cloudkit.title"] as? String == "Späti")
        #expect(decoded.changedKeys() == ["cloudkit.title"])
        #expect(decoded.claim == share.claim)
        #expect(decoded.claim?.denied == ["r1"])
        #expect(decoded.claim?.blocked == ["r2"])
        #expect(decoded.claim?.unblocked == ["b1"])
        #expect(decoded.claim?.allowsAccessRequests == true)
        #expect((decoded.makeAncestor() as? CKShare)?.participants.map(\.participantID) == ["owner", "bob", "zoe"])
        #expect(try way.decode(CKRecord.self, from: ArchiveSamples.archive(share)) is CKShare)
    }

    @Test(
        "[C-05] the system fields of a share are the server's last ones, without changes",
        arguments: ArchivingTests.Way.allCases)
    func systemFields(way: ArchivingTests.Way) throws {
        let share = Self.share()
        let decoded = try Self.systemFields(share, as: way)
        #expect(decoded.participants.map(\.participantID) == ["owner", "bob", "zoe"])
        #expect(decoded.participants[1].permission == .readOnly)
        #expect(decoded.url == share.url)
        #expect(decoded.allKeys().isEmpty)
        #expect(decoded.changedKeys().isEmpty)
        #expect(decoded.claim?.denied == [])
        #expect(decoded.claim?.participants.allSatisfy { !$0.isAdded } == true)
        let fresh = CKShare(rootRecord: ShareSamples.root())
        let decodedFresh = try Self.systemFields(fresh, as: way)
        #expect(decodedFresh.url == nil)
        #expect(decodedFresh.claim?.root == ShareSamples.root().recordID.address)
        #expect(decodedFresh.participants.map(\.role) == [.owner])
    }

    @Test(
        "participants, requesters, metadata and options round-trip", arguments: ArchivingTests.Way.allCases)
    func others(way: ArchivingTests.Way) throws {
        let share = Self.share()
        let bob = share.participants[1]
        let decoded = try way.decode(CKShare.Participant.self, from: ArchiveSamples.archive(bob))
        #expect(decoded == bob)
        #expect(decoded.permission == .readWrite)
        #expect(decoded.participantID == "bob")
        let requester = CKShareAccessRequester(
            PetitionerFacts(ShareSamples.petitioner("r", email: "x@example.com", user: "_x")))
        let decodedRequester = try way.decode(CKShare.AccessRequester.self, from: ArchiveSamples.archive(requester))
        #expect(decodedRequester.participantLookupInfo == requester.participantLookupInfo)
        let blocked = try way.decode(
            CKShare.BlockedIdentity.self, from: ArchiveSamples.archive(CKShareBlockedIdentity(requester.facts)))
        #expect(blocked.userIdentity.userRecordID?.recordName == "_x")
        let metadata = ShareSamples.metadata(ShareSamples.metadata())
        let decodedMetadata = try way.decode(CKShare.Metadata.self, from: ArchiveSamples.archive(metadata))
        #expect(decodedMetadata == metadata)
        #expect(decodedMetadata.share.participants.count == 1)
        let options = CKAllowedSharingOptions(
            allowedParticipantPermissionOptions: .readOnly, allowedParticipantAccessOptions: .anyoneWithLink)
        options.allowsAccessRequests = true
        let decodedOptions = try way.decode(CKAllowedSharingOptions.self, from: ArchiveSamples.archive(options))
        #expect(decodedOptions.allowedParticipantPermissionOptions == .readOnly)
        #expect(decodedOptions.allowedParticipantAccessOptions == .anyoneWithLink)
        #expect(decodedOptions.allowsAccessRequests)
        #expect(!decodedOptions.allowsParticipantsToInviteOthers)
    }

    // MARK: Edited by hand

    /// A share's archive with other people in it.
    private static func edited(_ json: String, key: String = "StratusSharing", type: String = "cloudkit.share") -> Data
    {
        var objects = AppleArchive.recordObjects
        objects[1] = .text(type)
        let block = objects.count
        objects.append(.dictionary([("$class", .reference(block + 1)), ("NS.data", .bytes(Array(json.utf8)))]))
        objects.append(.className("NSData"))
        let root = objects.count
        objects.append(.className("CKShare"))
        objects.append(
            .dictionary(
                AppleArchive.recordTop + [
                    ("$class", .reference(root)), (key, .reference(block)),
                ]))
        return AppleArchive.archive(objects: objects, top: [("root", .reference(root + 1))])
    }

    private static func people(_ participants: String, owner: String = "o") -> String {
        #"{"participants":[\#(participants)],"ownerID":"\#(owner)","publicPermission":9,"allowsAccessRequests":true,"#
            + #""requesters":[],"blocked":[],"url":"https://example.com/x","root":"r"}"#
    }

    private static func participant(_ id: String, role: Int = 3, permission: Int = 2, status: Int = 1) -> String {
        #"{"id":"\#(id)","identity":{"user":"_\#(id)","hasAccount":true},"role":\#(role),"permission":\#(permission),"#
            + #""status":\#(status),"isApprovedRequester":true,"isOneTime":false}"#
    }

    @Test(
        "[X-17] unknown numbers decode as unknown, and a save does not claim them",
        arguments: ArchivingTests.Way.allCases)
    func foreign(way: ArchivingTests.Way) throws {
        let share = try way.decode(
            CKShare.self,
            from: Self.edited(Self.people(Self.participant("o", role: 77, permission: -1, status: 200))))
        #expect(share.publicPermission == .unknown)
        #expect(share.owner.role == .unknown)
        #expect(share.owner.permission == .unknown)
        #expect(share.owner.acceptanceStatus == .unknown)
        #expect(share.claim?.publicPermission == .some(nil))
        #expect(share.claim?.participants[0].role == .some(nil))
    }

    @Test("[X-22] an owner or acceptance from an archive is a claim by name, role and permission only")
    func claims() throws {
        let people = [
            Self.participant("o", role: 1, permission: 3, status: 2),
            Self.participant("eve", role: 1, permission: 3, status: 2), Self.participant("o", role: 4),
        ]
        let share = try StratusArchive.decode(
            CKShare.self, from: Self.edited(Self.people(people.joined(separator: ","))))
        #expect(
            share.claim?.participants == [
                ParticipantClaim(id: "o", role: .owner, permission: .readWrite),
                ParticipantClaim(id: "eve", role: .owner, permission: .readWrite),
                ParticipantClaim(id: "o", role: .publicUser, permission: .readOnly),
            ])
        #expect(share.owner.participantID == "o")
    }

    @Test("[C-15] a share whose archive names no owner, or no one at all, still has an owner to show")
    func nobody() throws {
        for json in [Self.people(""), Self.people(Self.participant("a"), owner: "b")] {
            let share = try StratusArchive.decode(CKShare.self, from: Self.edited(json))
            #expect(share.owner.role == .owner)
            #expect(share.participants.contains { $0 == share.owner })
        }
        // The key is one of those that are left out.
        let share = try StratusArchive.decode(CKShare.self, from: Self.edited("{}", key: "InvitedPCS"))
        #expect(share.owner.role == .owner)
        #expect(share.url == nil)
        #expect(share.claim?.participants.count == 1)
    }

    @Test("[X-29] a share with unreadable participants is refused, or cannot be saved", arguments: ["[]", "{", ""])
    func unreadable(json: String) throws {
        let data = Self.edited(json)
        #expect(throws: StratusArchiveError.self) { try StratusArchive.decode(CKShare.self, from: data) }
        let share = try NSKeyedUnarchiver.unarchivedObject(ofClass: CKShare.self, from: data)
        #expect(share?.misuse?.contains("archive") == true)
    }

    @Test("an archive of another record as a CKShare is refused, and a share decoded from it cannot be saved")
    func damaged() throws {
        let data = Self.edited(Self.people(""), type: "Note")
        #expect(throws: StratusArchiveError.self) { try StratusArchive.decode(CKShare.self, from: data) }
        let other = try NSKeyedUnarchiver.unarchivedObject(ofClass: CKShare.self, from: data)
        #expect(other?.misuse?.contains("archive") == true)
        let fields = ArchiveSamples.systemFields(of: ArchiveSamples.record())
        #expect(throws: StratusArchiveError.self) { try StratusArchive.decode(CKShare.self, from: fields) }
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: fields)
        #expect(CKShare(coder: unarchiver).misuse?.contains("archive") == true)
        #expect(throws: StratusArchiveError.self) {
            try StratusArchive.decode(CKShare.Metadata.self, from: ArchiveSamples.archive(ArchiveSamples.recordID))
        }
    }

    private static let damagedCount = CaseCount.of(1_500, full: 20_000)

    @Test("damaged archives of shares and metadata are refused or decode, and none traps")
    func mutations() async throws {
        let random = SplitMix64.announced("damaged shares")
        // This takes too long for the threads that all tests share.
        let decoded = try await TestThreads.offPool { try Self.decodedCount(random) }
        #expect((Self.damagedCount / 100..<Self.damagedCount * 99 / 100).contains(decoded), "\(decoded) decoded")
    }

    private static func decodedCount(_ random: SplitMix64) throws -> Int {
        let corpus = [
            try ArchiveSamples.archive(share()), ArchiveSamples.systemFields(of: share()),
            try ArchiveSamples.archive(ShareSamples.metadata(ShareSamples.metadata())),
            try ArchiveSamples.archive(share().participants[1]),
            edited(people([participant("o"), participant("a")].joined(separator: ","))),
        ].map { [UInt8]($0) }
        var decoded = 0
        for index in 0..<Self.damagedCount {
            var generator = random.generator(forCase: index)
            var bytes = generator.element(of: corpus)
            for _ in 0..<1 + generator.below(4) {
                bytes[generator.below(bytes.count)] = UInt8(generator.below(256))
            }
            let data = Data(bytes)
            if let share = try? StratusArchive.decode(CKShare.self, from: data) {
                decoded += 1
                use(share)
            } else if let metadata = try? StratusArchive.decode(CKShare.Metadata.self, from: data) {
                decoded += 1
                use(metadata.share)
                _ = metadata.description
            } else if let participant = try? StratusArchive.decode(CKShare.Participant.self, from: data) {
                decoded += 1
                _ = (participant.description, participant.hash, participant.claim(isAdded: true, isNew: true))
            }
        }
        return decoded
    }

    private static func use(_ share: CKShare) {
        _ = (share.description, share.owner, share.currentUserParticipant, share.url, share.claim)
        share.addParticipant(ShareSamples.person("x", email: "x@example.com"))
        _ = share.requesters.map(\.contact)
        share.blockRequesters(share.requesters)
        _ = (share.copy(), share.makeAncestor())
    }
}
