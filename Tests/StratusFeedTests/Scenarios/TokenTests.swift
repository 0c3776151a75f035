// Tokens: where they are valid, and where they are refused.

import Foundation
import StratusKit
import StratusSharingSupport
import StratusTestSupport
import Testing

@Suite("Tokens of feeds")
struct TokenTests {
    /// What a token is refused with that is none of this feed's.
    private static let refusals: Answers = .refused(.changeTokenExpired)

    @Test("[T-01][X-30] a token is expired for every feed but its own")
    func otherFeeds() async throws {
        let tree = try await TreeTown()
        let (owner, ann, ben, place) = (tree.owner, tree.ann, tree.ben, tree.place)
        let more = try await tree.secondPlace()
        try await tree.share("top", with: ann)
        try await tree.share(nil, with: ann, in: more)
        try await tree.share("lone", with: ben, as: "Lone")

        let zone = try await owner.pull(place).token
        let database = try await owner.pullZones().token
        let shared = try await ann.pull(place).token
        let sharedDatabase = try await ann.pullZones(isShared: true).token
        let annsDatabase = try await ann.pullZones().token

        // Other zones, other kinds, other databases.
        #expect(Self.refusals.contains(await owner.pulling(more, since: zone)))
        #expect(Self.refusals.contains(await owner.pulling(place, since: database)))
        #expect(Self.refusals.contains(await owner.pullingZones(since: zone)))
        #expect(Self.refusals.contains(await ann.pulling(more, since: shared)))
        #expect(Self.refusals.contains(await ann.pulling(place, since: sharedDatabase)))
        #expect(Self.refusals.contains(await ann.pullingZones(isShared: true, since: shared)))
        #expect(Self.refusals.contains(await ann.pullingZones(since: sharedDatabase)))
        #expect(Self.refusals.contains(await ann.pullingZones(isShared: true, since: annsDatabase)))
        // Other people, who see the same zone.
        #expect(Self.refusals.contains(await ann.pulling(place, since: zone)))
        #expect(Self.refusals.contains(await owner.pulling(place, since: shared)))
        #expect(Self.refusals.contains(await ben.pulling(place, since: shared)))
        #expect(Self.refusals.contains(await ben.pullingZones(isShared: true, since: sharedDatabase)))
        #expect(Self.refusals.contains(await ann.pullingZones(since: database)))
        // And each is good for its own.
        #expect(await owner.pulling(place, since: zone) == .done)
        #expect(await owner.pullingZones(since: database) == .done)
        #expect(await ann.pulling(place, since: shared) == .done)
        #expect(await ann.pullingZones(isShared: true, since: sharedDatabase) == .done)
    }

    @Test("[T-01][X-30] a token is expired in another container, and by another store")
    func otherStores() async throws {
        let tree = try await TreeTown()
        let zone = try await tree.owner.pull(tree.place).token
        let database = try await tree.owner.pullZones().token
        let container = tree.town.store.container("iCloud.com.example.other", signedInAs: tree.owner.account)
        let elsewhere = Person(name: "owner", account: tree.owner.account, container: container)
        #expect(await elsewhere.make(tree.place) == .done)
        #expect(Self.refusals.contains(await elsewhere.pulling(tree.place, since: zone)))
        #expect(Self.refusals.contains(await elsewhere.pullingZones(since: database)))

        let other = try await TreeTown { $0.identifiers = .seeded(2) }
        #expect(Self.refusals.contains(await other.owner.pulling(other.place, since: zone)))
        #expect(Self.refusals.contains(await other.owner.pullingZones(since: database)))
    }

    @Test("[T-01] a token round-trips through an archive, equal to the original")
    func archiving() async throws {
        let tree = try await TreeTown()
        let tokens = [try await tree.owner.pull(tree.place).token, try await tree.owner.pullZones().token]
        #expect(tokens[0] != tokens[1])
        for token in tokens {
            let data = try NSKeyedArchiver.archivedData(withRootObject: token, requiringSecureCoding: true)
            let read = try #require(
                try NSKeyedUnarchiver.unarchivedObject(ofClass: CKServerChangeToken.self, from: data))
            #expect(read == token)
            #expect(read.hash == token.hash)
            #expect(token.copy() as? CKServerChangeToken == token)
        }
        #expect(await tree.owner.create("new", in: tree.place) == .done)
        let data = try NSKeyedArchiver.archivedData(withRootObject: tokens[0], requiringSecureCoding: true)
        let token = try NSKeyedUnarchiver.unarchivedObject(ofClass: CKServerChangeToken.self, from: data)
        #expect(try await tree.owner.pull(tree.place, since: token).names == ["new"])
    }

    @Test("[X-24] an archived token with any change is unreadable or refused")
    func damagedTokens() async throws {
        let tree = try await TreeTown()
        let zone = try await tree.owner.pull(tree.place, limit: 2).token
        let database = try await tree.owner.pullZones().token
        var random = SplitMix64.announced("damaged tokens")
        var refusedCount = 0
        for token in [zone, database] {
            let data = try NSKeyedArchiver.archivedData(withRootObject: token, requiringSecureCoding: true)
            for index in data.indices where index % 2 == random.below(2) {
                var damaged = data
                damaged[index] ^= UInt8(1 << random.below(8))
                guard let read = try? StratusArchive.decode(CKServerChangeToken.self, from: damaged), read != token
                else { continue }
                let outcome =
                    token == zone
                    ? await tree.owner.pulling(tree.place, since: read) : await tree.owner.pullingZones(since: read)
                #expect(Self.refusals.contains(outcome), "byte \(index)")
                refusedCount += 1
            }
        }
        #expect(refusedCount >= 16, "\(refusedCount) damaged tokens could be read")
    }

    @Test("[T-09] a token of a zone that was deleted and created again has expired")
    func newZone() async throws {
        let tree = try await TreeTown()
        let (owner, ann, place) = (tree.owner, tree.ann, tree.place)
        try await tree.share("top", with: ann)
        let token = try await owner.pull(place).token
        let annsToken = try await ann.pull(place).token
        #expect(await owner.drop(place) == .done)
        #expect(await owner.pulling(place, since: token) == .refused(.zoneNotFound))
        #expect(await ann.pulling(place, since: annsToken) == .refused(.zoneNotFound))
        try await TreeTown.fill(place, by: owner)
        #expect(await owner.pulling(place, since: token) == .refused(.changeTokenExpired))
        // No feed shows that the zone exists again until it is shared again.
        #expect(await ann.pulling(place, since: annsToken) == .refused(.zoneNotFound))
        try await tree.share("top", with: ann)
        #expect(await ann.pulling(place, since: annsToken) == .refused(.changeTokenExpired))
        #expect(try await owner.pull(place).names.count == TreeTown.names.count + 1)
        // The databases' tokens are valid, and report the zone.
        #expect(try await owner.pullZones().changed == [owner.zoneID(place)])
    }

    @Test("[T-09] a token older than the kept history expires, and with newer ones nothing is missed")
    func purgedHistory() async throws {
        let clock = Stratus.ManualClock()
        let tree = try await TreeTown {
            $0.clock = .manual(clock)
            $0.historySeconds = 1_000
        }
        let (owner, ann, place) = (tree.owner, tree.ann, tree.place)
        try await tree.share("top", with: ann)
        let old = try await owner.pull(place).token
        let annsOld = try await ann.pull(place).token
        let gone = Place("Gone", of: owner)
        #expect(await owner.make(gone) == .done)
        let oldDatabase = try await owner.pullZones().token
        #expect(await owner.drop(gone) == .done)
        #expect(await owner.delete("leaf", in: place) == .done)
        clock.advance(by: 500)
        let middle = try await owner.pull(place).token
        #expect(await owner.delete("right", in: place) == .done)
        clock.advance(by: 600)
        try await tree.town.store.performUpkeep()
        #expect(await owner.pulling(place, since: old) == .refused(.changeTokenExpired))
        #expect(await ann.pulling(place, since: annsOld) == .refused(.changeTokenExpired))
        // A deleted zone is reported as long as a token may know it.
        let zones = await Outcome.of {
            let deleted = try await owner.pullZones(since: oldDatabase).deleted
            #expect(deleted == [owner.zoneID(gone): .deleted])
        }
        #expect(zones == .done || zones == .refused(.changeTokenExpired))
        #expect(try await owner.pull(place, since: middle).deleted == ["right": "Item"])
        #expect(try await ann.pull(place).names == ["Share", "left", "top"])
    }

    @Test("[T-09] tokens survive closing the store, and a copy of it refuses them")
    func reopening() async throws {
        let directory = ScratchDirectory()
        let url = directory.url.appendingPathComponent("store")
        try FileManager.default.createDirectory(at: directory.url, withIntermediateDirectories: true)
        let copy = directory.url.appendingPathComponent("copy")
        let tree = try await TreeTown(in: url)
        let token = try await tree.owner.pull(tree.place).token
        let database = try await tree.owner.pullZones().token
        let store = tree.town.store
        try await TestThreads.offPool { _ = try store.backup(to: copy) }
        #expect(await tree.owner.create("later", in: tree.place) == .done)
        let later = try await tree.owner.pull(tree.place).token
        await tree.town.close()

        func open(_ url: URL) throws -> (Stratus, Person) {
            var options = Stratus.Options()
            options.logger = nil
            let store = try Stratus.open(at: url, options: options)
            let account = try #require(try store.account(externalID: "owner"))
            return (
                store,
                Person(
                    name: "owner", account: account,
                    container: store.container(Town.containerName, signedInAs: account))
            )
        }
        let (again, owner) = try open(url)
        #expect(try await owner.pull(tree.place, since: token).names == ["later"])
        #expect(await owner.pullingZones(since: database) == .done)
        try await TestThreads.offPool { again.close() }

        let (copied, other) = try open(copy)
        for token in [token, later] {
            #expect(await other.pulling(tree.place, since: token) == .refused(.changeTokenExpired))
        }
        #expect(await other.pullingZones(since: database) == .refused(.changeTokenExpired))
        #expect(try await other.pull(tree.place).names == TreeTown.names)
        try await TestThreads.offPool { copied.close() }
        _ = directory
    }

    @Test("[T-09] a token of the future, from a store that was restored to an earlier state, is refused")
    func setBack() async throws {
        let directory = ScratchDirectory()
        try FileManager.default.createDirectory(at: directory.url, withIntermediateDirectories: true)
        let (url, saved) = (
            directory.url.appendingPathComponent("store"), directory.url.appendingPathComponent("saved")
        )
        let tree = try await TreeTown(in: url)
        let store = tree.town.store
        try await TestThreads.offPool { _ = try store.backup(to: saved) }
        for number in 0..<3 { #expect(await tree.owner.create("later\(number)", in: tree.place) == .done) }
        let token = try await tree.owner.pull(tree.place).token
        await tree.town.close()
        // The copy replaces the store.
        try FileManager.default.removeItem(at: url)
        try FileManager.default.moveItem(at: saved, to: url)
        var options = Stratus.Options()
        options.logger = nil
        let again = try await Stratus.open(at: url, options: options)
        let account = try #require(try await again.account(externalID: "owner"))
        let owner = Person(
            name: "owner", account: account, container: again.container(Town.containerName, signedInAs: account))
        #expect(await owner.create("other", in: tree.place) == .done)
        let outcome = await owner.pulling(tree.place, since: token)
        #expect(outcome == .refused(.changeTokenExpired), "\(outcome)")
        try await TestThreads.offPool { again.close() }
        _ = directory
    }

    @Test("[T-09] tokens of the future are refused after the files of an older copy replaced the store's")
    func copiedBack() async throws {
        let directory = ScratchDirectory()
        try FileManager.default.createDirectory(at: directory.url, withIntermediateDirectories: true)
        let url = directory.url.appendingPathComponent("store")
        let saved = directory.url.appendingPathComponent("saved")
        let tree = try await TreeTown(in: url)
        await tree.town.close()
        try FileManager.default.copyItem(at: url, to: saved)
        var options = Stratus.Options()
        options.logger = nil
        func person(in store: Stratus) throws -> Person {
            let account = try #require(try store.account(externalID: "owner"))
            let container = store.container(Town.containerName, signedInAs: account)
            return Person(name: "owner", account: account, container: container)
        }
        let later = try await Stratus.open(at: url, options: options)
        let before = try person(in: later)
        for number in 0..<3 { #expect(await before.create("later\(number)", in: tree.place) == .done) }
        let token = try await before.pull(tree.place).token
        let databaseToken = try await before.container.privateCloudDatabase.databaseChanges(since: nil).changeToken
        try await TestThreads.offPool { later.close() }
        try FileManager.default.removeItem(at: url)
        try FileManager.default.moveItem(at: saved, to: url)
        let again = try await Stratus.open(at: url, options: options)
        let owner = try person(in: again)
        #expect(await owner.create("other", in: tree.place) == .done)
        #expect(await owner.pulling(tree.place, since: token) == .refused(.changeTokenExpired))
        let error = await #expect(throws: CKError.self) {
            try await owner.container.privateCloudDatabase.databaseChanges(since: databaseToken)
        }
        #expect(error?.code == .changeTokenExpired)
        try await TestThreads.offPool { again.close() }
        _ = directory
    }
}
