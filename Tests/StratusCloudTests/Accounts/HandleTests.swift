// One person, one form: every spelling of a handle is the same handle.

import StratusModel
import StratusTestSupport
import Testing

@Suite("handles")
struct HandleTests {
    @Test(
        "an e-mail address is compared in lower case, without surrounding white space",
        arguments: [
            ("alice@example.com", "alice@example.com"), (" Alice@Example.COM\n", "alice@example.com"),
            ("a+tag@mail.example.co.uk", "a+tag@mail.example.co.uk"), ("o'neil@example.com", "o'neil@example.com"),
            ("a@localhost", "a@localhost"), ("a@xn--mller-kva.de", "a@xn--mller-kva.de"),
            (longest, longest),
        ])
    func emails(written: String, normalized: String) {
        #expect(Handle.email(written).normalized == .email(normalized))
    }

    /// As long as an address may be.
    private static let longest = String(repeating: "a", count: 242) + "@example.com"

    @Test(
        "a text that is not an e-mail address is malformed",
        arguments: [
            "", " ", "alice", "@example.com", "alice@", "a@b@example.com", "a b@example.com", "a@example..com",
            "a@.example.com", "a@example.com.", "a@-example.com", "a@example-.com", "a@exa mple.com",
            "a@m\u{FC}ller.de",
            "\u{E9}@example.com", "e\u{301}@example.com", "a\0@example.com", "a@exam_ple.com",
            String(repeating: "a", count: 243) + "@example.com",
        ])
    func malformedEmails(written: String) {
        #expect(Handle.email(written).normalized == nil)
    }

    @Test(
        "a telephone number keeps its digits and its international prefix",
        arguments: [
            ("+49 (30) 123-456", "+4930123456"), ("004930123456", "+4930123456"), ("0049 30 / 12.34.56", "+4930123456"),
            ("(555) 123-4567", "5551234567"), ("\u{FF0B}\u{FF14}\u{FF19}\u{FF13}\u{FF10}", "+4930"),
            ("+1\u{2011}555\u{A0}123\u{202C}", "+1555123"), ("\u{661}\u{662}\u{663}", "123"), ("112", "112"),
        ])
    func phones(written: String, normalized: String) {
        #expect(Handle.phone(written).normalized == .phone(normalized))
    }

    @Test(
        "a text that is not a telephone number is malformed",
        arguments: [
            "", "+", "12", "1+23", "++49123", "call me", "+49x123", "0049", "+49 30 #5", "\u{2460}\u{2461}\u{2462}",
            "123456789012345678",
        ])
    func malformedPhones(written: String) {
        #expect(Handle.phone(written).normalized == nil)
    }

    @Test("normalising is idempotent and gives ASCII for every input")
    func idempotent() {
        let seed = SplitMix64.announced("handles")
        let pieces = [
            "a", "B", "@", ".", "-", "+", "0", "9", " ", "(", ")", "\u{E9}", "e\u{301}", "\u{FF11}", "com", "00",
        ]
        var normalizedCount = 0
        for index in 0..<5_000 {
            var random = seed.generator(forCase: index)
            let text = (0..<random.below(9)).map { _ in random.element(of: pieces) }.joined()
            for handle in [Handle.email(text), .email("x@" + text + "y"), .phone(text)] {
                guard let normalized = handle.normalized else { continue }
                normalizedCount += 1
                #expect(normalized.normalized == normalized)
                #expect(normalized.text.utf8.allSatisfy { $0 < 0x80 })
            }
        }
        #expect(normalizedCount > 500)
    }
}
