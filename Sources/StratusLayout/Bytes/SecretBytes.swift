// Which bytes must not be shown, whatever else is wrong with them: those of shares, which hold the secrets of URLs.

import StratusModel

/// Recognises values that may hold a secret.
enum SecretBytes {
    /// The words of which every whole record of a share holds both, so that one damaged byte hides neither its secrets.
    private static let marks = [ShareContent.fieldKey.text, ShareContent.recordType.text].map { Array($0.utf8) }

    /// Whether the bytes look like the record of a share, or a part of one. It is asked for errors and descriptions alone.
    static func mayBe(in bytes: Span<UInt8>) -> Bool {
        for start in bytes.indices {
            for mark in marks where starts(bytes, at: start, with: mark) { return true }
        }
        return false
    }

    private static func starts(_ bytes: Span<UInt8>, at start: Int, with mark: [UInt8]) -> Bool {
        guard bytes.count - start >= mark.count else { return false }
        for (offset, byte) in mark.enumerated() where bytes[start + offset] != byte { return false }
        return true
    }
}
