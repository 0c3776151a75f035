// The name of a file as text, and back. Any bytes can be escaped without loss, and no two names have the same text.
//
// Invariants: a name that is valid UTF-8 and has no "%" is its own text. In others, "%" is written "%25", and every
// byte that is not part of valid UTF-8 is written "%XX", so the text of one name is never the text of another.

import FoundationEssentials

/// The name of a file: bytes without "/" and NUL.
struct FileName: Hashable, Sendable {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The name as text, or nil when its bytes are not valid UTF-8.
    var validText: String? { String(validating: bytes, as: UTF8.self) }

    /// The name escaped: unique, and valid UTF-8.
    var escapedText: String { PercentText.escaping(bytes) }

    /// The text to show and to search for: the name if it is valid UTF-8, otherwise escaped.
    var displayText: String { validText ?? escapedText }
}

/// Bytes as UTF-8 text with "%XX" for invalid bytes, and "%25" for "%" itself.
enum PercentText {
    static func escaping(_ bytes: [UInt8]) -> String {
        if let valid = String(validating: bytes, as: UTF8.self), !bytes.contains(UInt8(ascii: "%")) { return valid }
        var text = ""
        var parser = Unicode.UTF8.ForwardParser()
        var unread = bytes.makeIterator()
        var position = 0
        while true {
            switch parser.parseScalar(from: &unread) {
            case .valid(let sequence):
                let scalar = Unicode.UTF8.decode(sequence)
                if scalar == "%" { text += "%25" } else { text.unicodeScalars.append(scalar) }
                position += sequence.count
            case .error(let length):
                text += bytes[position..<position + length].map(escape).joined()
                position += length
            case .emptyInput: return text
            }
        }
    }

    /// The bytes that `escaping` has escaped, or nil if `text` is not an escaped text.
    static func bytes(of text: String) -> [UInt8]? {
        var bytes: [UInt8] = []
        let escaped = Array(text.utf8)
        var position = 0
        while position < escaped.count {
            guard escaped[position] == UInt8(ascii: "%") else {
                bytes.append(escaped[position])
                position += 1
                continue
            }
            guard position + 2 < escaped.count, let high = hexadecimal(escaped[position + 1]),
                let low = hexadecimal(escaped[position + 2])
            else { return nil }
            bytes.append(high << 4 | low)
            position += 3
        }
        return bytes
    }

    static func escape(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 16, uppercase: true)
        return "%" + (byte < 16 ? "0" : "") + digits
    }

    private static func hexadecimal(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

enum AbsolutePath {
    /// The absolute path of a path from the command line. Links are not resolved.
    static func of(_ path: String) -> String {
        let whole = path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
        var parts: [Substring] = []
        for part in whole.split(separator: "/") where part != "." {
            if part == ".." {
                _ = parts.popLast()
            } else {
                parts.append(part)
            }
        }
        return "/" + parts.joined(separator: "/")
    }
}
