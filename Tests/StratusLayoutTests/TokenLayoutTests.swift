// The contents of change tokens, before they are sealed: clients keep tokens for months, so their bytes are recorded
// like those on disk.

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusStore
import StratusTestSupport
import Testing

extension LayoutSamples {
    private static func guest(_ round: GuestRound?, redelivers: Bool = false) -> ZoneToken {
        ZoneToken(
            identity: first, incarnation: second,
            progress: .guest(GuestProgress(base: 7, redelivers: redelivers, round: round)))
    }

    private static func round(_ walk: GuestWalk?) -> GuestRound {
        var round = GuestRound(end: 300)
        guard let walk else { return round }
        round.willRedeliver = true
        round.phase = .laterChanges
        round.sequence = 200
        round.share = "Share-1"
        round.walk = walk
        return round
    }

    /// Tokens of every kind and in every state.
    static let tokens: [any LayoutValue] = [
        ZoneToken(
            identity: first, incarnation: second, progress: .owner(OwnerProgress(position: 5, beginning: 300))),
        guest(nil), guest(nil, redelivers: true), guest(round(nil)), guest(round(GuestWalk(top: nil))),
        guest(round(GuestWalk(top: nil, last: "a.txt")), redelivers: true),
        guest(round(GuestWalk(top: "folder"))), guest(round(GuestWalk(top: "folder", last: "a.txt"))),
        DatabaseToken(incarnation: first, identity: nil, progress: OwnerProgress(position: 0, beginning: 0)),
        DatabaseToken(incarnation: first, identity: second, progress: OwnerProgress(position: 300, beginning: 1)),
        SharedDatabaseToken(incarnation: first, zones: []),
        SharedDatabaseToken(
            incarnation: first,
            zones: [
                KnownZone(owner: "_alice", name: "Notes", identity: first, sequence: 9),
                KnownZone(owner: "_bob", name: "Notes", identity: second, sequence: 300),
            ], last: .init(owner: "_alice", name: "Notes")),
        ZoneToken(identity: first, incarnation: second, progress: .firstSync(FirstSync(end: 300))),
        ZoneToken(identity: first, incarnation: second, progress: .firstSync(FirstSync(end: 5, last: "a.txt"))),
    ]
}

@Suite("contents of tokens")
struct TokenLayoutTests {
    @Test("[T-01] the bytes of every token are the recorded ones")
    func golden() {
        let lines = LayoutSamples.tokens.map { "\(type(of: $0)) \(Hex.text($0.encoded()))" }
        #expect(GoldenFile("tokens.txt").difference(from: lines.joined(separator: "\n")) == nil)
    }

    @Test("[X-24] a token round-trips; truncated, longer and damaged bytes never trap, and decode canonically")
    func damage() throws {
        for token in LayoutSamples.tokens { try check(token) }
        let seed = SplitMix64.announced("damaged tokens")
        for index in 0..<2_000 {
            var random = seed.generator(forCase: index)
            let token = random.element(of: LayoutSamples.tokens).encoded()
            let bytes = Array(token.prefix(random.below(token.count))) + random.bytes(count: random.below(30))
            for type in [ZoneToken.self, DatabaseToken.self, SharedDatabaseToken.self] as [any LayoutValue.Type] {
                let isSame = isCanonical(bytes, type)
                #expect(isSame)
            }
        }
    }

    private func check<Token: LayoutValue>(_ token: Token) throws {
        let bytes = token.encoded()
        #expect(try Token(decoding: bytes.span) == token)
        #expect(throws: StoreError.self) { try Token(decoding: (bytes + [0]).span) }
        for index in bytes.indices {
            #expect(throws: StoreError.self) { try Token(decoding: Array(bytes[..<index]).span) }
            for value in [0, 1, 0x7F, 0x80, 0xFF] as [UInt8] {
                var damaged = bytes
                damaged[index] = value
                #expect(isCanonical(damaged, Token.self))
            }
        }
    }

    private func isCanonical<Token: LayoutValue>(_ bytes: [UInt8], _ type: Token.Type) -> Bool {
        guard let token = try? Token(decoding: bytes.span) else { return true }
        return token.encoded() == bytes
    }
}
