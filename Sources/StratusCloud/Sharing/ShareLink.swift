// The URLs of shares: a base that the host chooses, and behind its last slash the secret.
//
// Only the secret means anything. Host, path, query and fragment may be what they like, so that links outlive a change
// of the base, and a client may hang a title on them (SH-14).

package import StratusModel

/// Makes and reads the URLs of shares.
package enum ShareLink {
    /// The longest text that is looked at, in bytes.
    static let maximumByteCount = 4_096

    package static func url(_ base: String, _ token: ShareToken) -> String {
        base.utf8.last == UInt8(ascii: "/") ? base + token.text : base + "/" + token.text
    }

    /// The secret of a URL: its last path component. Nil where that is none.
    package static func token(of url: String) -> ShareToken? {
        guard url.utf8.count <= maximumByteCount else { return nil }
        let path = url.utf8.prefix { $0 != UInt8(ascii: "#") && $0 != UInt8(ascii: "?") }
        let slash = UInt8(ascii: "/")
        guard let end = path.lastIndex(where: { $0 != slash }) else { return nil }
        let trimmed = path[...end]
        let start = trimmed.lastIndex(of: slash).map { trimmed.index(after: $0) } ?? trimmed.startIndex
        return ShareToken(text: String(decoding: trimmed[start...], as: UTF8.self))
    }
}
