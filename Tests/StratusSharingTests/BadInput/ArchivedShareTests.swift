// Shares decoded from archives that were edited by hand: no edit admits anyone (X-22).
//
// The edits know little of how shares are archived. Archives are binary property lists, in which a small number is the
// byte 10 and its value, a flag is the byte 08 or 09, and a text is stored unchanged, JSON included. Each of these is
// changed wherever it occurs, and texts become others of the same length that name another person.

import Foundation
import StratusKit
import StratusSharingSupport
import Testing

@Suite("Edited archives of shares")
struct ArchivedShareTests {
    /// All shares that decode from the archive with one change, each once, by their contents.
    private static func editions(of share: CKShare, _ people: [Person]) throws -> [String: CKShare] {
        let bytes = [UInt8](try NSKeyedArchiver.archivedData(withRootObject: share, requiringSecureCoding: true))
        var editions: [String: CKShare] = [:]
        func add(_ edited: [UInt8]) {
            guard edited != bytes, let share = try? StratusArchive.decode(CKShare.self, from: Data(edited)) else {
                return
            }
            editions[claim(of: share)] = share
        }
        for index in bytes.indices {
            var edited = bytes
            if bytes[index] == 0x08 || bytes[index] == 0x09 {
                edited[index] ^= 1
                add(edited)
            }
            guard index > 0 else { continue }
            let isText =
                bytes[index - 1] == UInt8(ascii: ":") && (UInt8(ascii: "0")...UInt8(ascii: "9")) ~= bytes[index]
            guard isText || bytes[index - 1] == 0x10 else { continue }
            for value in 0...5 as ClosedRange<UInt8> {
                edited[index] = isText ? UInt8(ascii: "0") + value : value
                add(edited)
            }
        }
        for range in Data(bytes).ranges(of: Data("false".utf8)) {
            var edited = Data(bytes)
            edited.replaceSubrange(range, with: Data("true ".utf8))
            add([UInt8](edited))
        }
        let texts = people.map(\.userName) + people.map(\.email) + share.participants.map(\.participantID)
        for text in texts {
            for other in texts + [CKCurrentUserDefaultName] where other != text && other.utf8.count == text.utf8.count {
                add([UInt8](Data(bytes).replacing(text.utf8, with: other.utf8)))
            }
        }
        return editions
    }

    /// A share's data about its participants.
    private static func claim(of share: CKShare) -> String {
        let people = share.participants.map { participant in
            "\(participant.participantID) \(participant.role.rawValue) \(participant.permission.rawValue) "
                + "\(participant.acceptanceStatus.rawValue) \(participant.userIdentity.userRecordID?.recordName ?? "-") "
                + "\(participant.userIdentity.lookupInfo?.emailAddress ?? "-")"
        }
        return "\(share.recordID) \(share.recordChangeTag ?? "-") \(share.publicPermission.rawValue) "
            + "\(share.allowsAccessRequests) \(share.url?.absoluteString ?? "-") \(people)"
    }

    @Test("the edits reach roles, permissions, statuses, people and flags")
    func reach() async throws {
        let folder = try await SharedFolder()
        let share = try await folder.share(as: folder.owner)
        let editions = try Self.editions(of: share, folder.town.people).values
        func some(_ condition: (CKShare) -> Bool) -> Bool { editions.contains(where: condition) }
        #expect(some { $0.participants.filter { $0.role == .owner }.count > 1 })
        #expect(some { $0.participants.contains { $0.role == .publicUser } })
        #expect(some { $0.participants.filter { $0.acceptanceStatus == .accepted }.count > 3 })
        #expect(some { $0.publicPermission == .readWrite })
        #expect(
            some { share in
                share.participants.contains {
                    $0.userIdentity.userRecordID?.recordName == folder.stranger.userName
                }
            })
    }

    @Test(
        "[X-22][P-14] a participant who edits the archive of a share changes nothing", arguments: ["reader", "writer"])
    func participant(name: String) async throws {
        let folder = try await SharedFolder()
        let before = try await folder.content()
        let person = try #require(folder.town.person(name))
        let editions = try Self.editions(of: try await folder.share(as: person), folder.town.people)
        #expect(editions.count > 10)
        for (claim, share) in editions.sorted(by: { $0.key < $1.key }) {
            share[CKShare.SystemFieldKey.title] = "edited"
            let outcome = await Outcome.of { _ = try await person.container.sharedCloudDatabase.save(share) }
            #expect(!outcome.isDone, "\(claim)")
            guard try await folder.content() == before else {
                Issue.record("what was claimed has come true: \(claim)")
                return
            }
        }
        #expect(await folder.stranger.see(folder.place) == .refused(.zoneNotFound))
        #expect(await folder.invited.see(folder.place) == .refused(.zoneNotFound))
        #expect(try folder.town.findings() == [])
    }

    @Test("[X-22][P-04] an owner who edits the archive of a share accepts for no one, and admits no one")
    func owner() async throws {
        var folder = try await SharedFolder()
        let editions = try Self.editions(of: try await folder.share(as: folder.owner), folder.town.people)
        #expect(editions.count > 10)
        for claim in editions.keys.sorted() {
            // Every store of these tests is the same, tags and identifiers included, so that one archive fits all.
            guard let share = editions[claim] else { continue }
            share[CKShare.SystemFieldKey.title] = "edited"
            let outcome = await Outcome.of { _ = try await folder.owner.container.privateCloudDatabase.save(share) }
            try await checkNobodyGotIn(folder, claim)
            if outcome.isDone { folder = try await SharedFolder() }
        }
    }

    /// No one has accepted except those who did, and only the owner owns the share.
    private func checkNobodyGotIn(_ folder: SharedFolder, _ claim: String) async throws {
        #expect(await folder.stranger.see(folder.place) == .refused(.zoneNotFound), "\(claim)")
        #expect(await folder.invited.see(folder.place) == .refused(.zoneNotFound), "\(claim)")
        // An edited name gives another share, or none: then there is nothing more to check.
        guard let share = try? await folder.share(as: folder.owner) else { return }
        #expect(share.url == folder.url, "\(claim)")
        #expect(folder.owner.entry(of: folder.owner, in: share)?.role == .owner, "\(claim)")
        #expect(share.participants.filter { $0.role == .owner }.count == 1, "\(claim)")
        let isPublic = share.publicPermission != .none
        for participant in share.participants where participant.acceptanceStatus != .pending {
            let isOneOfThem = [folder.owner, folder.reader, folder.writer].contains {
                folder.owner.isIdentity(participant.userIdentity, of: $0)
            }
            #expect(isOneOfThem, "\(claim)")
            #expect(participant.acceptanceStatus == .accepted, "\(claim)")
            #expect(isPublic || participant.role != .publicUser, "\(claim)")
        }
        let findings = try folder.town.findings()
        #expect(findings == [], "\(claim)")
    }
}

extension Data {
    /// The same bytes with some of them replaced by as many others.
    fileprivate func replacing(_ text: String.UTF8View, with other: String.UTF8View) -> Data {
        var data = self
        var start = data.startIndex
        while let range = data.range(of: Data(text), in: start..<data.endIndex) {
            data.replaceSubrange(range, with: Data(other))
            start = range.upperBound
        }
        return data
    }
}
