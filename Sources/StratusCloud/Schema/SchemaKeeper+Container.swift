// A container's schema as a whole: read for export, replaced by an import.

import StratusLayout
package import StratusModel
package import StratusRecords
import StratusStore

extension SchemaKeeper {
    /// All that is known of a container's record types.
    package func schema(of container: ContainerName, in reader: RecordReader) throws -> ContainerSchema {
        var schema = ContainerSchema()
        try reader.store.scan(GlobalKeys.schema(of: container).keyRange) { key, value in
            let type = try GlobalKeys.readSchemaKey(key).type
            switch (type, try SchemaEntry(decoding: value)) {
            case (let type?, .type(let fields, let grants, let isImported)):
                schema.types[type] = RecordTypeSchema(
                    name: type, fields: fields, grants: grants, isImported: isImported)
            case (nil, .roles(let roles)): schema.roles = roles
            default:
                throw RecordsError(
                    .corruption, "An entry of a schema holds something else: restore the store from a backup.",
                    ["key": "\(KeyDescription([UInt8](copying: key)))"])
            }
            return .next
        }
        return schema
    }

    /// Replaces a container's schema. In production it may only grow; in development what is missing is forgotten, and
    /// learnt again from the next record that has it. Records are never changed.
    ///
    /// Throws `CloudError` with `invalidArguments` or `limitExceeded` when the change is not allowed; nothing is changed.
    package func replaceSchema(
        of container: ContainerName, with new: ContainerSchema, mode: SchemaMode, in transaction: RecordTransaction
    ) throws {
        let old = try schema(of: container, in: transaction)
        let change = try SchemaChange(from: old, to: new, mode: mode)
        for type in change.written { try write(type, container: container, in: transaction) }
        for type in change.removed { try remove(type, container: container, in: transaction) }
        for type in change.written.map(\.name) + change.removed {
            // The zones' indexes follow in the background.
            try transaction.set(GlobalKeys.indexReview(container, type), to: IndexReviewEntry().encoded())
        }
        if change.roles != old.roles {
            let key = GlobalKeys.schemaRoles(container)
            if change.roles.isEmpty {
                try transaction.delete(key)
            } else {
                try transaction.set(key, to: SchemaEntry.roles(change.roles).encoded())
            }
        }
    }
}
