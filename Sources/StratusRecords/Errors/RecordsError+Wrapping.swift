// Errors of the floors below, in the words of this one: keys are named, codes keep their names.

import StratusLayout
import StratusStore

extension RecordsError {
    /// A store's error. Where it names keys, the keyspace and the key are given in readable form too.
    init(wrapping error: StoreError) {
        var fields = error.fields
        for (name, value) in error.fields where name.hasSuffix("Key") || name == "key" {
            guard let bytes = [UInt8](hexadecimal: value) else { continue }
            fields[name + "Description"] = "\(KeyDescription(bytes))"
        }
        self.init(
            Code(description: error.code.description), message: error.message, fields, cause: error.cause)
    }

    /// What the layout could not read or would not write. Damaged bytes are corruption; the rest keeps its code.
    init(wrapping error: LayoutError) {
        switch error.code {
        case .newerFormat:
            self.init(
                .newerFormat, "A newer version of this software wrote the store: open it with that version.",
                error.fields)
        case .corruptKey, .corruptValue:
            self.init(
                .corruption, "A key or value is damaged: verify the store, then restore it from a backup.",
                error.fields, cause: "\(error)")
        default:
            self.init(.invalidRequest, message: error.message, error.fields, cause: nil)
        }
    }
}

extension [UInt8] {
    /// The bytes of a text of hexadecimal digit pairs, or nil when it is not one.
    init?(hexadecimal text: String) {
        let digits = Array<UInt8>(text.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        self = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = Self.value(ofDigit: digits[index]), let low = Self.value(ofDigit: digits[index + 1])
            else { return nil }
            append(high << 4 | low)
        }
    }

    private static func value(ofDigit digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

extension UInt64 {
    /// The next number of a counter that lies in the store. Throws `corruption` where only damage can have put it so high.
    func advanced(in counter: StaticString) throws -> UInt64 {
        let (next, isOverflow) = addingReportingOverflow(1)
        guard !isOverflow else {
            throw RecordsError(
                .corruption, "A counter is at its end, which no store reaches: restore it from a backup.",
                ["counter": "\(counter)"])
        }
        return next
    }
}
