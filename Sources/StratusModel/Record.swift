// A record as a plain value. `Record` is what a caller wants stored; `StoredRecord` is what the store answers with.

package import FoundationEssentials

/// The content of a record: what its writer decides.
package struct Record: Hashable, Sendable {
    package var name: RecordName
    package var type: RecordType
    /// The record above this one in its hierarchy (X-07: only `parent` makes hierarchy).
    package var parent: RecordName?
    /// The share of which this record is the hierarchical root; nil for every other record.
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

/// What the store adds to a record at every write (S-09).
package struct SystemFields: Hashable, Sendable {
    /// The position of the record's latest write in its zone's change feed.
    package var changeSequence: UInt64
    /// What makes the tag of this write another than that of any other write with this sequence, in a store that was
    /// restored to an earlier state.
    package var tagSalt: UInt32
    package var created: Stamp
    package var modified: Stamp

    /// Opaque to clients, and new at every write of the record. Made each time it is asked for.
    package var changeTag: String { ChangeTag.text(sequence: changeSequence, salt: tagSalt) }

    package init(changeSequence: UInt64, tagSalt: UInt32, created: Stamp, modified: Stamp) {
        self.changeSequence = changeSequence
        self.tagSalt = tagSalt
        self.created = created
        self.modified = modified
    }
}

/// When something was written, and by whom.
package struct Stamp: Hashable, Sendable {
    package var date: Date
    package var user: UserName

    package init(date: Date, user: UserName) {
        self.date = date
        self.user = user
    }
}

/// A record as it lies in the store.
package struct StoredRecord: Hashable, Sendable {
    package var record: Record
    package var system: SystemFields

    package init(record: Record, system: SystemFields) {
        self.record = record
        self.system = system
    }
}

// The change tag: opaque to everybody above, new at every write. It is not stored as text: a record keeps the sequence
// of its write and a salt, and the text is made of both.
//
// The text is the sequence in base 36 without leading zeros, then the salt in base 36 in exactly seven digits. So the
// map between text and numbers is one to one, and a store that was restored to an earlier state, where sequences come
// again, gives other tags as its salts are drawn anew.

/// Makes and reads change tags.
package enum ChangeTag {
    private static let saltDigitCount = 7
    private static let radix: UInt64 = 36

    /// The text of a tag.
    package static func text(sequence: UInt64, salt: UInt32) -> String {
        // Seven digits of salt and at most thirteen of a 64-bit number: twenty, written from the end.
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
        // Digits are ASCII, so that the check never fails; it is the way to a string without a loop of appends.
        guard let text = try? UTF8Span(validating: digits.span.extracting(start..<digits.count)) else { return "" }
        return String(copying: text)
    }

    /// The numbers of a tag, or nil when `text` is not a tag this software made.
    package static func numbers(of text: String) -> (sequence: UInt64, salt: UInt32)? {
        let digits = text.utf8
        let sequenceDigitCount = digits.count - saltDigitCount
        guard (1...13).contains(sequenceDigitCount) else { return nil }
        guard
            let sequence = number(digits.prefix(sequenceDigitCount)),
            let wideSalt = number(digits.suffix(saltDigitCount)), let salt = UInt32(exactly: wideSalt),
            sequenceDigitCount == 1 || digits.first != UInt8(ascii: "0")
        else { return nil }
        return (sequence, salt)
    }

    /// Whether `text` is the tag of this sequence and salt.
    package static func matches(_ text: String, sequence: UInt64, salt: UInt32) -> Bool {
        guard let numbers = numbers(of: text) else { return false }
        return numbers.sequence == sequence && numbers.salt == salt
    }

    private static func digit(_ value: UInt64) -> UInt8 {
        let value = UInt8(truncatingIfNeeded: value)
        return value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }

    private static func number(_ digits: some Sequence<UInt8>) -> UInt64? {
        var result: UInt64 = 0
        for digit in digits {
            let value: UInt8
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = digit - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "z"): value = digit - UInt8(ascii: "a") + 10
            default: return nil
            }
            let (product, overflow) = result.multipliedReportingOverflow(by: radix)
            let (sum, carry) = product.addingReportingOverflow(UInt64(value))
            guard !overflow, !carry else { return nil }
            result = sum
        }
        return result
    }
}
