// Which fields of a type a zone has in its indexes for queries, and how far the work on them has come.

package import StratusModel

/// What of a field is entered. The bits are stored; they never change.
package struct QueryIndexKinds: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The field's values.
    package static let values = QueryIndexKinds(rawValue: 1 << 0)
    /// Records without a value too, so that the entries alone give the order of all records.
    package static let missing = QueryIndexKinds(rawValue: 1 << 1)
    /// The words of the field's texts.
    package static let words = QueryIndexKinds(rawValue: 1 << 2)
    package static let all: QueryIndexKinds = [.values, .missing, .words]
}

/// How far the work on an index has come. The raw values are stored; they never change.
package enum QueryIndexPhase: UInt8, Hashable, Sendable, CaseIterable {
    /// All records of the type are entered.
    case ready = 1
    /// Records up to the type's position are entered, and all that were written since.
    case filling = 2
    /// Records up to the type's position are not entered any more, nor are those written since.
    case clearing = 3
}

/// One field's index.
package struct QueryIndexState: Hashable, Sendable {
    package var kinds: QueryIndexKinds
    package var phase: QueryIndexPhase

    package init(kinds: QueryIndexKinds, phase: QueryIndexPhase) {
        self.kinds = kinds
        self.phase = phase
    }
}

/// The indexes over one type's records in one zone. A field that is not named has no entries there.
///
/// Bytes: version 1 · number: fields · for each, in the byte order of names: text: field, byte: kinds, byte: phase ·
/// byte: 1 there is a position, else 0 · (1) text: position.
package struct QueryIndexesEntry: LayoutValue {
    package var fields: [FieldKey: QueryIndexState]
    /// The record, in the order of names, up to which the work in hand is done; nil before its beginning.
    package var position: RecordName?

    package init(fields: [FieldKey: QueryIndexState] = [:], position: RecordName? = nil) {
        self.fields = fields
        self.position = position
    }

    /// Whether there is work in hand.
    package var isUnfinished: Bool { fields.values.contains { $0.phase != .ready } }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        ValueWriter.append(number: UInt64(fields.count), to: &bytes)
        for (key, state) in fields.sorted(by: { $0.key < $1.key }) {
            ValueWriter.append(key.text, to: &bytes)
            bytes.append(state.kinds.rawValue)
            bytes.append(state.phase.rawValue)
        }
        bytes.append(position == nil ? 0 : 1)
        if let position { ValueWriter.append(position.text, to: &bytes) }
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "QueryIndexesEntry")
        try reader.expectVersion(1)
        fields = [:]
        var last: FieldKey?
        for _ in 0..<(try reader.readCount()) {
            let key = FieldKey(try reader.readText())
            if let last, !(last < key) { throw reader.corrupt("The fields of an index are not in order.") }
            last = key
            let kinds = QueryIndexKinds(rawValue: try reader.readByte())
            guard kinds.isSubset(of: .all), !kinds.isEmpty, let phase = QueryIndexPhase(rawValue: try reader.readByte())
            else { throw reader.corrupt("A state of an index is unknown.") }
            fields[key] = QueryIndexState(kinds: kinds, phase: phase)
        }
        switch try reader.readByte() {
        case 0: position = nil
        case 1: position = RecordName(try reader.readText())
        default: throw reader.corrupt("The mark of a position is neither 0 nor 1.")
        }
        try reader.expectEnd()
    }
}
