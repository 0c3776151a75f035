// Records as plain values, and change tags. `Record` is what a caller stores; `StoredRecord` is what the store returns.

package import FoundationEssentials

/// The content of a record, which its writer decides.
package struct Record: Hashable, Sendable {
    package var name: RecordName
    package var type: RecordType
    /// The record above this one in its hierarchy (X-07: only `parent` forms hierarchies).
    package var parent: RecordName?
    /// The share whose hierarchical root this record is; nil for every other record.
    package var share: RecordName?
    package var fields: RecordFields

    package init(
        name: RecordName, type: RecordType, parent: RecordName? = nil, share: RecordName? = nil,
        fields: RecordFields = RecordFields()
    ) {
        self.name = name
        self.type = type
        self.parent = parent
        self.share = share
        self.fields = fields
    }
}

/// The fields that the store sets at every write of a record (S-09).
package struct SystemFields: Hashable, Sendable {
    /// The position of the record's latest write in its zone's change feed.
    package var changeSequence: UInt64
    /// A random number that makes the tag of this write unique, also in a store that was restored to an earlier state
    /// and uses the sequence again.
    package var tagSalt: UInt32
    package var created: Stamp
    package var modified: Stamp

    /// The change tag: opaque to clients, new at every write. It is computed at every call.
    package var changeTag: String { ChangeTag.text(sequence: changeSequence, salt: tagSalt) }

    package init(changeSequence: UInt64, tagSalt: UInt32, created: Stamp, modified: Stamp) {
        self.changeSequence = changeSequence
        self.tagSalt = tagSalt
        self.created = created
        self.modified = modified
    }
}

/// The time and the user of a write.
package struct Stamp: Hashable, Sendable {
    package var date: Date
    package var user: UserName

    package init(date: Date, user: UserName) {
        self.date = date
        self.user = user
    }
}

/// A record in the store.
package struct StoredRecord: Hashable, Sendable {
    package var record: Record
    package var system: SystemFields

    package init(record: Record, system: SystemFields) {
        self.record = record
        self.system = system
    }
}

/// Builds change tags, which are opaque to clients and new at every write. A record stores the sequence of its write
/// and a salt; the text is made of both.
///
/// The text is the sequence in base 36 without leading zeros, then the salt in base 36 in exactly seven digits. So
/// different numbers give different texts. A store that was restored to an earlier state uses sequences again, but with
/// new salts.
package enum ChangeTag {
    private static let saltDigitCount = 7
    private static let radix: UInt64 = 36

    /// The text of a tag.
    package static func text(sequence: UInt64, salt: UInt32) -> String {
        // Seven digits of salt and at most thirteen of a 64-bit number, written from the end.
        var digits: InlineArray<20, UInt8> = .init(repeating: 0)
        var start = digits.count
        var rest = UInt64(salt)
        for _ in 0..<saltDigitCount {
            start -= 1
            digits[start] = digit(rest % radix)
            rest /= radix
        }
        rest = sequence
        repeat {
            start -= 1
            digits[start] = digit(rest % radix)
            rest /= radix
        } while rest > 0
        // Digits are ASCII, so the check never fails. It builds the string without a loop of appends.
        guard let text = try? UTF8Span(validating: digits.span.extracting(start..<digits.count)) else { return "" }
        return String(copying: text)
    }

    private static func digit(_ value: UInt64) -> UInt8 {
        let value = UInt8(truncatingIfNeeded: value)
        return value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
