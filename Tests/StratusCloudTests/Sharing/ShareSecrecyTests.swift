// The existence of a share is secret: people who may not know of it get the same answer, by the same path through the
// store.

import Foundation
import StratusModel
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusCloud

@Suite("the secrecy of shares")
struct ShareSecrecyTests {
    private enum Ask: CaseIterable { case metadata, acceptance, access }

    /// An answer and its cost, warm.
    private static func probe(_ town: ShareTown, _ ask: Ask, _ url: String, _ account: StoredAccount) throws -> String {
        func answer() throws -> CloudError? {
            switch ask {
            case .metadata: try town.metadata(url, as: account, root: true).error
            case .acceptance: try town.accept(url, as: account).error
            case .access: try town.ask(url, as: account).error
            }
        }
        _ = try answer()
        let before = town.bench.store.statistics
        let error = try answer()
        let after = town.bench.store.statistics
        let cost = after.cost - before.cost
        return "\(error?.description ?? "no error"); \(cost.pointReads) point reads, \(cost.seeks) seeks, "
            + "\(cost.entriesWritten) writes, \(after.transactionsCommitted - before.transactionsCommitted) commits"
    }

    @Test("[M-04][M-05][X-18] the URL of a foreign share cannot be distinguished from a URL of nothing")
    func sameWay() throws {
        let town = try ShareTown(runsBodiesTwice: false)
        let secret = try town.share(with: [
            town.invited(town.carol),
            town.invited("once", .oneTime(ShareTown.token(50)), .readWrite),
            town.invited("stranger", .handle(.email("stranger@example.com"))),
        ])
        _ = try town.accept(ShareTown.url(50), as: town.dave).get()
        try town.bench.save(.new("large"), .new("open"), .new("gone"))
        let big = Field(.bytes([UInt8](repeating: 7, count: 250_000)))
        let large = try town.share("large", tokenSeed: 100, fields: ["cloudkit.thumbnailImageData": big])
        let open = try town.share("open", tokenSeed: 150) { content in
            content.publicPermission = .readWrite
            content.blocked = [
                SharePetitioner(id: "b", user: town.bob.userName, handle: nil, date: town.bench.clock.now)
            ]
        }
        let stopped = try town.share("gone", with: [town.invited(town.bob)], tokenSeed: 200)
        try town.stop(stopped)

        let urls = [
            ("nothing", ShareTown.url(3)), ("no URL", "x"), ("another's share", secret.url),
            ("a share with a thumbnail", large.url), ("a stopped share", stopped.url),
            ("a public share, blocked", open.url), ("a used one-time URL", ShareTown.url(50)),
        ]
        for ask in Ask.allCases {
            let expected = try Self.probe(town, ask, ShareTown.url(90), town.bob)
            // Where caches only guess, the account is read before the request and in it.
            let reads = TestStores.letCachesAnswer ? 3 : 5
            #expect(expected.hasPrefix("11/2003: Share not found; \(reads) point reads, 1 seeks, 0 writes, 0 commits"))
            for (name, url) in urls {
                #expect(try Self.probe(town, ask, url, town.bob) == expected, "\(ask) of \(name)")
            }
            // The probe does distinguish people who may know.
            #expect(try Self.probe(town, ask, secret.url, town.dave) != expected)
        }
    }

    @Test("no error, event or description contains a secret")
    func noTrace() throws {
        let town = try ShareTown()
        let share = try town.share(with: [town.invited("once", .oneTime(ShareTown.token(50)))])
        let secrets = [ShareTown.token(7).text, ShareTown.token(50).text]
        func isClean(_ text: String) -> Bool { !secrets.contains { text.contains($0) } }
        for url in [share.url, ShareTown.url(50)] {
            let error = try town.metadata(url + "x", as: town.carol).error
            #expect(isClean(error?.description ?? ""))
            _ = try town.accept(url, as: town.bob)
        }
        #expect(isClean("\(town.bench.events.value)"))
        #expect(isClean("\(try town.content(share))"))
        #expect(isClean("\(try town.events())"))
    }
}
