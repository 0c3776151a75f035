// Which indexes a record type wants: (type) → what of each field is entered. What is encrypted, and bytes and assets,
// never is. User records cannot be queried, so they have none.

import StratusLayout
import StratusModel

extension RecordTypeSchema {
    var queryIndexes: [FieldKey: QueryIndexKinds] {
        guard name != SchemaNames.usersType else { return [:] }
        var wanted: [FieldKey: QueryIndexKinds] = [:]
        for (key, field) in fields {
            let kinds = field.queryIndexKinds
            // The name of a record and its version are found without.
            if !kinds.isEmpty, key != "___recordID", key != "___etag" { wanted[key] = kinds }
        }
        return wanted
    }
}

extension FieldSchema {
    fileprivate var queryIndexKinds: QueryIndexKinds {
        guard !type.isEncrypted, type.scalar != .bytes, type.scalar != .asset else { return [] }
        var kinds: QueryIndexKinds = []
        if indexes.contains(.queryable) { kinds.insert(.values) }
        // Places are sorted by their distance, lists not at all.
        if indexes.contains(.sortable), !type.isList, type.scalar != .location { kinds.formUnion([.values, .missing]) }
        if indexes.contains(.searchable), type.scalar == .string { kinds.insert(.words) }
        return kinds
    }
}
