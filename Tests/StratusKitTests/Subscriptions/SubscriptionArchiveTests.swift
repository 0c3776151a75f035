// Subscriptions in archives: whole, under Apple's names, with mistakes, and damaged.

import Foundation
import StratusCloud
import StratusTestSupport
import Testing

@testable import StratusKit

@Suite struct SubscriptionArchiveTests {
    /// The object after each kind of archive.
    private func archived(_ subscription: CKSubscription) throws -> [CKSubscription] {
        let data = try ArchiveSamples.archive(subscription)
        return [
            try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKSubscription.self, from: data)),
            try StratusArchive.decode(CKSubscription.self, from: data),
        ]
    }

    @Test("a subscription round-trips through an archive, with its class")
    func whole() throws {
        for subscription in SubscriptionSamples.all {
            for copy in try archived(subscription) {
                #expect(copy == subscription)
                #expect(type(of: copy) == type(of: subscription))
            }
        }
        let info = SubscriptionSamples.info()
        let data = try ArchiveSamples.archive(info)
        #expect(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKNotificationInfo.self, from: data) == info)
        #expect(try StratusArchive.decode(CKSubscription.NotificationInfo.self, from: data) == info)
    }

    @Test("[X-25] mistakes are kept in archives and copies, and a subscription of the base class never decodes")
    func mistakes() throws {
        for subscription in [
            SubscriptionSamples.query("a", NSPredicate { _, _ in true }),
            SubscriptionSamples.query(options: .firesOnce),
            SubscriptionSamples.query("b", NSPredicate(format: "a = ")), SubscriptionSamples.query(type: ""),
        ] {
            for copy in try archived(subscription) + [#require(subscription.copy() as? CKSubscription)] {
                #expect(throws: Misuse.self) { try copy.makeSave(now: Date()) }
            }
        }
        let archive = try ArchiveSamples.archive(SubscriptionSamples.database())
        let coder = try NSKeyedUnarchiver(forReadingFrom: archive)
        #expect(CKSubscription(coder: coder) == nil)
    }

    @Test("an archive under Apple's class names decodes")
    func appleNames() throws {
        let archive = AppleArchive.archive(
            objects: [
                .text("$null"),
                .dictionary([
                    ("$class", .reference(2)), ("StratusSubscriptionID", .reference(3)), ("RecordType", .reference(4)),
                ]),
                .className("CKDatabaseSubscription"), .text("changes"), .text("Note"),
            ], top: [("root", .reference(1))])
        let subscription = try StratusArchive.decode(CKDatabaseSubscription.self, from: archive)
        #expect(subscription.subscriptionID == "changes")
        #expect(subscription.recordType == "Note")
    }

    @Test("5,000 damaged archives of subscriptions are refused or decode, and none traps")
    func damaged() async throws {
        let random = SplitMix64.announced("damaged archives of subscriptions")
        let decoded = try await TestThreads.offPool { try Self.decodedCount(random) }
        #expect((50..<4_950).contains(decoded), "\(decoded) decoded")
    }

    private static func decodedCount(_ random: SplitMix64) throws -> Int {
        let corpus = try SubscriptionSamples.all.map { [UInt8](try ArchiveSamples.archive($0)) }
        let mutator = ByteMutator(
            corpus: corpus, dictionary: [Array("CKNotificationInfo".utf8), Array("StratusSubscriptionID".utf8)])
        var decoded = 0
        for index in 0..<5_000 {
            var generator = random.generator(forCase: index)
            var input = mutator.input(&generator)
            if generator.isOne(in: 2) {
                // One that keeps its length keeps its offsets.
                input = generator.element(of: corpus)
                input[generator.below(input.count)] = UInt8(generator.below(256))
            }
            guard let subscription = try? StratusArchive.decode(CKSubscription.self, from: Data(input)) else {
                continue
            }
            decoded += 1
            _ = subscription.description
            _ = try? subscription.makeSave(now: ShareSamples.date)
        }
        return decoded
    }
}
