// Whole keys that the products only append to others.

package import StratusLayout
package import StratusModel

extension ZoneKeys {
    package func reference(
        target: RecordName, source: RecordName, field: FieldKey, action: ReferenceAction
    ) -> [UInt8] {
        var key: [UInt8] = []
        reference(target: target, source: source, field: field, action: action, into: &key)
        return key
    }

    /// The element must not nest tuples more deeply than keys may.
    package func field(type: RecordType, field: FieldKey, value: TupleElement, name: RecordName) -> [UInt8] {
        var key: [UInt8] = []
        fieldEntry(type: type, field: field, element: value, name: name, into: &key)
        return key
    }

    package func token(_ token: String, field: FieldKey, name: RecordName) -> [UInt8] {
        var key: [UInt8] = []
        self.token(token, field: field, name: name, into: &key)
        return key
    }
}
