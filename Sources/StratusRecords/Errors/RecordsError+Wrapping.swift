// Errors of the floors below, in the words of this one: keys are named, codes keep their names.

import StratusLayout
package import StratusStore

extension RecordsError {
    /// A store's error. Where it names keys, the keyspace and the key are given in readable form too.
    package init(wrapping error: StoreError) {
        var fields = error.fields
        for (name, value) in error.fields where name.hasSuffix("Key") || name == "key" {
            guard let bytes = Hex.bytes(value) else { continue }
            fields[name + "Description"] =
                name == "key" ? "\(KeyDescription(bytes))" : KeyDescription.text(ofBound: bytes)
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

extension UInt64 {
    /// The next number of a counter that lies in the store. Throws `corruption` where only damage can have put it so high.
    package func advanced(in counter: StaticString) throws -> UInt64 {
        let (next, isOverflow) = addingReportingOverflow(1)
        guard !isOverflow else {
            throw RecordsError(
                .corruption, "A counter is at its end, which no store reaches: restore it from a backup.",
                ["counter": "\(counter)"])
        }
        return next
    }
}
