// The values of shares round-trip, and nothing shown of them, whole or damaged, contains a secret.

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusStore
import StratusTestSupport
import Testing

@Suite("the values of shares")
struct ShareLayoutTests {
    @Test("any content of a share round-trips, also one that no share may have")
    func contents() throws {
        let seed = SplitMix64.announced("contents of shares")
        for index in 0..<2_000 {
            var random = seed.generator(forCase: index)
            let bytes = ShareContentEntry(ShareGenerator.content(&random)).encoded()
            #expect(try ShareContentEntry(decoding: bytes.span).encoded() == bytes)
            let event = ShareEventEntry(ShareGenerator.event(&random)).encoded()
            #expect(try ShareEventEntry(decoding: event.span).encoded() == event)
        }
        for content in [LayoutSamples.smallShare, LayoutSamples.fullShare] {
            let bytes = ShareContentEntry(content).encoded()
            #expect(try ShareContentEntry(decoding: bytes.span).content == content)
        }
    }

    @Test("the numbers of roles, permissions, statuses and events are the recorded ones")
    func numbers() {
        var lines = ParticipantRole.allCases.map { "role \($0.rawValue) \($0)" }
        lines += ParticipantPermission.allCases.map { "permission \($0.rawValue) \($0)" }
        lines += AcceptanceStatus.allCases.map { "status \($0.rawValue) \($0)" }
        lines += ShareEventKind.allCases.map { "event \($0.rawValue) \($0)" }
        #expect(GoldenFile("share-numbers.txt").difference(from: lines.joined(separator: "\n")) == nil)
    }

    @Test("the bytes and the line of a share's content are the recorded ones")
    func golden() throws {
        let key = LayoutSamples.zone.record("Share-1")
        let lines = try LayoutSamples.shareContents.map { entry in
            var stored = LayoutSamples.shareRecord
            stored.record.fields[ShareContent.fieldKey] = Field(.bytes(entry.encoded()))
            let line = ValueDescription.text(of: try RecordCodec.encoded(stored), forKey: key)
            return "\(Hex.text(entry.encoded())) = \(line)"
        }
        #expect(GoldenFile("shares.txt").difference(from: lines.joined(separator: "\n")) == nil)
    }

    @Test("no line and no error contains a secret, whichever byte is damaged and wherever the value is truncated")
    func secrets() throws {
        let zone = LayoutSamples.zone
        var entries: [(key: [UInt8], value: [UInt8])] = [
            (zone.record("Share-1"), try RecordCodec.encoded(LayoutSamples.shareRecord)),
            (zone.shareToken(nil), ShareTokenEntry(token: LayoutSamples.token).encoded()),
        ]
        for content in LayoutSamples.shareContents { entries.append((zone.shareToken(nil), content.encoded())) }
        for entry in entries {
            var variants = entry.value.indices.map { Array(entry.value[..<$0]) } + [entry.value, entry.value + [0]]
            for index in entry.value.indices {
                for mask: UInt8 in [0x01, 0x80, 0xFF] {
                    var damaged = entry.value
                    damaged[index] ^= mask
                    variants.append(damaged)
                }
            }
            for bytes in variants {
                let shown = [
                    ValueDescription.text(of: bytes, forKey: entry.key),
                    Self.error { _ = try ShareContentEntry(decoding: bytes.span) },
                    Self.error { _ = try ShareTokenEntry(decoding: bytes.span) },
                ]
                for line in shown { #expect(!Self.showsSecret(line), "\(line)") }
            }
        }
    }

    @Test("neither a chunk of a share's record nor its errors contain a secret")
    func secretsInChunks() throws {
        var stored = LayoutSamples.shareRecord
        // The secret is at the beginning of the second chunk.
        stored.record.fields["A"] = Field(.bytes([UInt8](repeating: 0, count: 99_850)))
        let bytes = try RecordCodec.encoded(stored)
        let chunks = try RecordChunks.split(bytes, record: "Share-1", changeSequence: 1)
        let key = LayoutSamples.zone.recordChunk("Share-1", index: 1)
        let shown = Self.error { _ = try RecordChunks.join([chunks[0], chunks[1] + [0]]) }
        #expect(Self.showsSecret(Hex.text(Array(chunks[1].prefix(64)))))
        #expect(shown.contains("RecordChunk"))
        #expect(!Self.showsSecret(shown))
        #expect(ValueDescription.text(of: chunks[1], forKey: key) == "chunk, \(chunks[1].count) bytes")
        let first = ValueDescription.text(of: chunks[0], forKey: LayoutSamples.zone.record("Share-1"))
        #expect(first.hasPrefix("live in 2 chunks"))
        #expect(!Self.showsSecret(first))
    }

    @Test("the description of a secret reveals nothing, in every form")
    func description() {
        for text in ["\(LayoutSamples.token)", String(reflecting: ShareTokenEntry(token: LayoutSamples.token))] {
            #expect(!Self.showsSecret(text))
            #expect(text.contains("secret"))
        }
        #expect(Self.showsSecret(Hex.text(LayoutSamples.oneTimeToken.bytes)))
        #expect(Self.showsSecret("x" + LayoutSamples.token.text))
    }

    @Test("the keys of shares decode to their parts")
    func keys() throws {
        let zone = LayoutSamples.zone
        let acceptance = AcceptanceKeyParts(user: "u\0", zone: LayoutSamples.second, share: "S")
        let key = GlobalKeys.acceptance(user: acceptance.user, zone: acceptance.zone, share: acceptance.share)
        #expect(try GlobalKeys.readAcceptanceKey(key.span) == acceptance)
        for root: RecordName? in [nil, "", "r"] {
            #expect(try zone.readShareTokenKey(zone.shareToken(root).span) == root)
        }
        let event = ShareEventKeyParts(sequence: 300, index: 2)
        #expect(try zone.readShareEventKey(zone.shareEvent(event).span) == event)
        let ended = zone.endedAcceptance(user: "u", ended: 300, share: "S")
        #expect(try zone.readEndedAcceptanceKey(ended.span) == ("u", 300, "S"))
    }

    @Test("a person's ended entries after a change, their acceptances of a zone, and later events are one range each")
    func ranges() {
        let zone = LayoutSamples.zone
        let range = zone.endedAcceptances(of: "b", after: 300)
        #expect(range.contains(zone.endedAcceptance(user: "b", ended: 301, share: "a")))
        #expect(!range.contains(zone.endedAcceptance(user: "b", ended: 300, share: "z")))
        #expect(!range.contains(zone.endedAcceptance(user: "b\u{1}", ended: 301, share: "a")))
        #expect(!range.contains(zone.endedAcceptance(user: "a", ended: 301, share: "a")))
        let (first, second) = (LayoutSamples.first, LayoutSamples.second)
        let accepted = GlobalKeys.acceptances(of: "b", zone: first)
        #expect(accepted.contains(GlobalKeys.acceptance(user: "b", zone: first, share: "a")))
        #expect(!accepted.contains(GlobalKeys.acceptance(user: "b", zone: second, share: "a")))
        #expect(GlobalKeys.acceptances(of: "b").contains(GlobalKeys.acceptance(user: "b", zone: second, share: "a")))
        #expect(!GlobalKeys.acceptances(of: "b").contains(GlobalKeys.acceptance(user: "bb", zone: second, share: "a")))
        let events = zone.shareEvents(after: ShareEventKeyParts(sequence: 5, index: 1))
        #expect(events.contains(zone.shareEvent(sequence: 5, index: 2)))
        #expect(!events.contains(zone.shareEvent(sequence: 5, index: 1)))
        #expect(events.contains(zone.shareEvent(sequence: 256, index: 0)))
    }

    private static func error(_ body: () throws -> Void) -> String {
        do {
            try body()
            return ""
        } catch { return "\(error)" }
    }

    /// Whether a text shows a piece of one of the samples' secrets, as hexadecimal digits, numbers or as a URL does.
    private static func showsSecret(_ text: String) -> Bool {
        LayoutSamples.secretBytes.contains { byte in
            let hex = Hex.text([byte, byte])
            return text.contains(hex) || text.contains("\(byte), \(byte)")
        } || text.contains(LayoutSamples.token.text) || text.contains(LayoutSamples.oneTimeToken.text)
    }

    @Test("[M-05] a token parses only from its own text, and equals only itself")
    func tokenTexts() throws {
        let token = try #require(ShareToken(bytes: [UInt8](repeating: 0xA5, count: 16)))
        let text = token.text
        #expect(text.utf8.count == 22)
        #expect(ShareToken(text: text) == token)
        // The last digit holds two bits of the token; changing the other four gives another text.
        for digit in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_" where digit != text.last {
            let other = ShareToken(text: String(text.dropLast()) + String(digit))
            #expect(other != token)
            if let other { #expect(other.text.last == digit) }
        }
        #expect(ShareToken(text: text + "A") == nil)
        let neighbour = try #require(ShareToken(bytes: [UInt8](repeating: 0xA5, count: 15) + [0xA4]))
        #expect(token.isSame(as: token))
        #expect(!token.isSame(as: neighbour))
    }
}
