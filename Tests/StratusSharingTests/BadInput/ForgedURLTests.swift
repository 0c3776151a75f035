// URLs and metadata that a person has invented, found or kept: they open nothing, and reveal nothing.

import Foundation
import StratusKit
import StratusSharingSupport
import StratusTestSupport
import Testing

@Suite("Forged URLs and foreign metadata")
struct ForgedURLTests {
    /// URLs like that of a share, each wrong in one way.
    private static func forged(from url: URL) throws -> [URL] {
        let text = url.absoluteString
        let token = url.lastPathComponent
        var texts = [
            text.replacing(token, with: String(token.dropLast())), text.replacing(token, with: token + "A"),
            text.replacing(token, with: String(token.reversed())), text.replacing(token, with: ""),
            text.replacing(token, with: token.lowercased()), text.replacing(token, with: token + "/more"),
            text.replacing(token, with: String(repeating: "A", count: token.count)),
            text.replacing(token, with: String(repeating: "A", count: 10_000)),
            "https://example.com/share", "file:///tmp/x", "x:", "https://example.com/share/%00", "about:blank",
        ]
        // Every single digit of the secret changed.
        for (index, digit) in token.enumerated() {
            var digits = Array(token)
            digits[index] = digit == "A" ? "B" : "A"
            texts.append(text.replacing(token, with: String(digits)))
        }
        var random = SplitMix64.announced("forged URLs")
        for _ in 0..<50 {
            let bytes = Data(random.bytes(count: 16)).base64EncodedString().filter { $0 != "=" }
            texts.append(
                text.replacing(token, with: bytes.replacing("+", with: "-").replacing("/", with: "_")))
        }
        return texts.compactMap { URL(string: $0) }.filter { $0 != url }
    }

    @Test("[M-05] an invented URL belongs to no share, for everyone")
    func forgedURLs() async throws {
        let folder = try await SharedFolder()
        let urls = try Self.forged(from: folder.url)
        #expect(urls.count > 60)
        for person in [folder.owner, folder.invited, folder.stranger] {
            let answers = try await person.container.shareMetadatas(for: urls)
            for url in urls {
                #expect(Outcome(answers[url]) == .refused(.unknownItem), "\(person)")
            }
            let requests = try await person.container.requestShareAccess(for: urls)
            for url in urls { #expect(Outcome(requests[url]) == .refused(.unknownItem), "\(person)") }
        }
        #expect(try await folder.content() == SharedFolder.untouched + folder.url.absoluteString)
    }

    @Test("[M-04] a share without an invitation looks like one that does not exist")
    func unknown() async throws {
        let folder = try await SharedFolder()
        let unknown = try #require(
            URL(
                string: folder.url.absoluteString.replacing(
                    folder.url.lastPathComponent, with: "AAAAAAAAAAAAAAAAAAAAAA")))
        var texts: [String] = []
        for url in [folder.url, unknown] {
            do {
                _ = try await folder.stranger.container.shareMetadata(for: url)
                Issue.record("the metadata is returned")
            } catch {
                #expect(Outcome(error) == .refused(.unknownItem))
                let text = (error as? CKError).map { "\($0.localizedDescription) \($0.userInfo.keys.sorted())" } ?? ""
                texts.append(text)
            }
        }
        try #require(texts.count == 2, "\(texts)")
        #expect(texts[0] == texts[1], "\(texts)")
    }

    @Test("[X-22][M-01] another person's metadata accepts nothing for its holder")
    func foreignMetadata() async throws {
        let folder = try await SharedFolder()
        let before = try await folder.content()
        let metadata = try await folder.invited.container.shareMetadata(for: folder.url)
        #expect(
            await Outcome.of { _ = try await folder.stranger.container.accept(metadata) } == .refused(.unknownItem))
        #expect(await folder.stranger.see(folder.place) == .refused(.zoneNotFound))
        // Existing participants stay as they are.
        #expect(await Outcome.of { _ = try await folder.reader.container.accept(metadata) } == .done)
        #expect(await folder.reader.change("note", to: 1, in: folder.place) == .refused(.permissionFailure))
        #expect(await folder.invited.see(folder.place) == .refused(.zoneNotFound))
        #expect(try await folder.content() == before)
    }

    @Test("[M-01] a share is accepted in its own container")
    func otherContainer() async throws {
        let folder = try await SharedFolder()
        let elsewhere = folder.town.store.container("iCloud.com.example.elsewhere", signedInAs: folder.invited.account)
        let metadata = try await elsewhere.shareMetadata(for: folder.url)
        #expect(metadata.containerIdentifier == Town.containerName)
        #expect(await Outcome.of { _ = try await elsewhere.accept(metadata) } == .refused(.badContainer))
        #expect(await folder.invited.see(folder.place) == .refused(.zoneNotFound))
        #expect(await Outcome.of { _ = try await folder.invited.container.accept(metadata) } == .done)
    }

    @Test("[X-22][M-05] metadata is no permission: the current state of the share decides")
    func oldMetadata() async throws {
        let folder = try await SharedFolder()
        let metadata = try await folder.invited.container.shareMetadata(for: folder.url)
        #expect(await folder.owner.remove(folder.invited, from: SharedFolder.share, in: folder.place) == .done)
        #expect(await Outcome.of { _ = try await folder.invited.container.accept(metadata) } == .refused(.unknownItem))
        #expect(await folder.owner.invite(folder.invited, to: SharedFolder.share, in: folder.place) == .done)
        #expect(await folder.owner.delete(SharedFolder.share, in: folder.place) == .done)
        #expect(await Outcome.of { _ = try await folder.invited.container.accept(metadata) } == .refused(.unknownItem))
        #expect(await folder.invited.see(folder.place) == .refused(.zoneNotFound))
    }

    @Test("[X-22] metadata of another store opens nothing here")
    func otherStore() async throws {
        let folder = try await SharedFolder()
        let other = try await SharedFolder { $0.identifiers = .seeded(2) }
        let metadata = try await folder.invited.container.shareMetadata(for: folder.url)
        #expect(await Outcome.of { _ = try await other.invited.container.accept(metadata) } == .refused(.unknownItem))
    }

    @Test("[P-16][X-26] a one-time URL admits one person, and becomes invalid with its participant")
    func oneTimeURL() async throws {
        let folder = try await SharedFolder()
        let participant = CKShare.Participant.oneTimeURLParticipant()
        participant.permission = .readWrite
        let added = await folder.owner.edit(SharedFolder.share, in: folder.place) { $0.addParticipant(participant) }
        #expect(added == .done)
        let share = try await folder.share(as: folder.owner)
        let entry = try #require(
            share.participants.first { $0.userIdentity.lookupInfo == nil && $0.userIdentity.userRecordID == nil })
        let url = try #require(share.oneTimeURL(for: entry.participantID))
        #expect(url != folder.url)
        for forged in try Self.forged(from: url).prefix(12) {
            #expect(await folder.stranger.accept(forged) == .refused(.unknownItem))
        }
        let guest = try await folder.town.store.createAccount(.init(emails: ["guest@example.com"]), externalID: "guest")
        let container = folder.town.store.container(Town.containerName, signedInAs: guest)
        let other = Person(name: "guest", account: guest, container: container)
        #expect(await folder.stranger.accept(url) == .done)
        #expect(await folder.stranger.change("note", to: 1, in: folder.place) == .done)
        #expect(await other.accept(url) == .refused(.unknownItem))
        #expect(await folder.owner.remove(folder.stranger, from: SharedFolder.share, in: folder.place) == .done)
        #expect(await folder.stranger.accept(url) == .refused(.unknownItem))
        #expect(await other.accept(url) == .refused(.unknownItem))
        #expect(try folder.town.findings() == [])
    }
}
