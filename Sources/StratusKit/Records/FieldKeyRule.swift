// Which keys a record's fields may have (L-10), as checked when a value is set.

/// The client's check of keys. The server's own is stricter (L-09).
enum FieldKeyRule {
    /// Keys of system fields that a client may set like any other: those of a share.
    private static let systemKeys: Set = ["cloudkit.title", "cloudkit.thumbnailImageData", "cloudkit.type"]

    /// What is wrong with a key; nil when nothing is.
    static func misuse(of key: String) -> String? {
        guard let first = key.utf8.first else { return "recordKey can not be empty" }
        let isWellFormed = isLetter(first) && key.utf8.dropFirst().allSatisfy { isLetter($0) || isDigitOrDollar($0) }
        return isWellFormed || systemKeys.contains(key) ? nil : "recordKey (\(key)) contains invalid characters"
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"): true
        default: false
        }
    }

    private static func isDigitOrDollar(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "$"): true
        default: false
        }
    }
}
