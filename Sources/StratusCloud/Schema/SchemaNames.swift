// What record types and fields may be called (L-09), and the names that the server itself gives.

import StratusModel

enum SchemaNames {
    static let usersType: RecordType = "Users"
    static let shareTitle: FieldKey = "cloudkit.title"

    /// Fields whose names have a form of their own, with their types.
    static let shareFields: [FieldKey: ScalarType] = [
        shareTitle: .string, "cloudkit.thumbnailImageData": .bytes, "cloudkit.type": .string,
    ]

    /// An ASCII letter first, then letters, digits and `_`, at most 255 characters.
    static func isPlain(_ name: String) -> Bool {
        guard let first = name.utf8.first, isLetter(first), name.utf8.count <= 255 else { return false }
        return name.utf8.allSatisfy { byte in
            isLetter(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "_")
        }
    }

    static func isValid(_ type: RecordType) -> Bool { type == ShareContent.recordType || isPlain(type.text) }

    static func isValid(_ key: FieldKey) -> Bool { shareFields[key] != nil || isPlain(key.text) }

    private static func isLetter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        default: false
        }
    }
}
