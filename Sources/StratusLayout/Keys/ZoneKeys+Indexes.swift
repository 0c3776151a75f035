// The keys of a zone's indexes, its feed and its history.

package import StratusModel

extension ZoneKeys {
    package func reference(
        target: RecordName, source: RecordName, field: FieldKey, action: ReferenceAction, into key: inout [UInt8]
    ) {
        begin(.references, into: &key)
        TupleWriter.appendString(target.text, to: &key)
        TupleWriter.appendString(source.text, to: &key)
        TupleWriter.appendString(field.text, to: &key)
        TupleWriter.appendInteger(UInt64(action.rawValue), to: &key)
    }
    package func reference(
        target: RecordName, source: RecordName, field: FieldKey, action: ReferenceAction
    ) -> [UInt8] {
        key { reference(target: target, source: source, field: field, action: action, into: &$0) }
    }

    package func type(_ type: RecordType, name: RecordName, into key: inout [UInt8]) {
        begin(.types, into: &key)
        TupleWriter.appendString(type.text, to: &key)
        TupleWriter.appendString(name.text, to: &key)
    }
    package func type(_ type: RecordType, name: RecordName) -> [UInt8] {
        key { self.type(type, name: name, into: &$0) }
    }

    /// Throws `.invalidValue` when `value` nests tuples too deeply.
    package func field(
        type: RecordType, field: FieldKey, value: TupleElement, name: RecordName, into key: inout [UInt8]
    ) throws(LayoutError) {
        begin(.fields, into: &key)
        TupleWriter.appendString(type.text, to: &key)
        TupleWriter.appendString(field.text, to: &key)
        do throws(TupleError) {
            try TupleWriter.append(value, to: &key)
        } catch {
            throw LayoutError(.invalidValue, "The indexed value nests tuples too deeply.", ["field": field.text])
        }
        TupleWriter.appendString(name.text, to: &key)
    }
    package func field(
        type: RecordType, field: FieldKey, value: TupleElement, name: RecordName
    ) throws(LayoutError) -> [UInt8] {
        var key: [UInt8] = []
        try self.field(type: type, field: field, value: value, name: name, into: &key)
        return key
    }

    /// The same for an element that nests no tuples, as those of `IndexedValue`.
    package func fieldEntry(
        type: RecordType, field: FieldKey, element: TupleElement, name: RecordName, into key: inout [UInt8]
    ) {
        do throws(LayoutError) {
            try self.field(type: type, field: field, value: element, name: name, into: &key)
        } catch {
            preconditionFailure("An element of an index nests no tuples.")
        }
    }

    package func token(_ token: String, field: FieldKey, name: RecordName, into key: inout [UInt8]) {
        begin(.tokens, into: &key)
        TupleWriter.appendString(token, to: &key)
        TupleWriter.appendString(field.text, to: &key)
        TupleWriter.appendString(name.text, to: &key)
    }
    package func token(_ token: String, field: FieldKey, name: RecordName) -> [UInt8] {
        key { self.token(token, field: field, name: name, into: &$0) }
    }

    package func change(sequence: UInt64, into key: inout [UInt8]) {
        begin(.changes, into: &key)
        TupleWriter.appendInteger(sequence, to: &key)
    }
    package func change(sequence: UInt64) -> [UInt8] { key { change(sequence: sequence, into: &$0) } }

    /// The key of a parent that `child` had until the change `ended`.
    package func endedParent(child: RecordName, ended: UInt64, into key: inout [UInt8]) {
        begin(.endedParents, into: &key)
        TupleWriter.appendString(child.text, to: &key)
        TupleWriter.appendInteger(ended, to: &key)
    }
    package func endedParent(child: RecordName, ended: UInt64) -> [UInt8] {
        key { endedParent(child: child, ended: ended, into: &$0) }
    }

    /// The key of a child that `parent` had until the change `ended`. The change stands before the child, so that the
    /// children that ended after a token are one range.
    package func endedChild(parent: RecordName, child: RecordName, ended: UInt64, into key: inout [UInt8]) {
        begin(.endedChildren, into: &key)
        TupleWriter.appendString(parent.text, to: &key)
        TupleWriter.appendInteger(ended, to: &key)
        TupleWriter.appendString(child.text, to: &key)
    }
    package func endedChild(parent: RecordName, child: RecordName, ended: UInt64) -> [UInt8] {
        key { endedChild(parent: parent, child: child, ended: ended, into: &$0) }
    }

    /// The key of a share that `root` was the root of until the change `ended`.
    package func endedShare(root: RecordName, ended: UInt64, into key: inout [UInt8]) {
        begin(.endedShares, into: &key)
        TupleWriter.appendString(root.text, to: &key)
        TupleWriter.appendInteger(ended, to: &key)
    }
    package func endedShare(root: RecordName, ended: UInt64) -> [UInt8] {
        key { endedShare(root: root, ended: ended, into: &$0) }
    }
}
