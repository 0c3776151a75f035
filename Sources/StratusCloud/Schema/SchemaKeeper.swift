// Whether a record fits its type: fields of the right types (S-14), new types and fields learnt in development and
// refused in production (S-13).
//
// A known type costs no read: the cache holds it since a version, is told of every change in the instant it is
// published, and is passed over while a change of the type is in flight (`SchemaCache`).

import StratusLayout
package import StratusModel
package import StratusRecords
import StratusStore

/// Keeps the schemas of a store's containers.
package final class SchemaKeeper: Sendable {
    let cache = SchemaCache(maximumCount: 10_000)

    package init() {}

    /// Checks records against their types, and in development learns what is new in this transaction. The records are
    /// looked at in their order: the first one decides the type of a new field.
    ///
    /// Returns an error for each record that does not fit; nothing is learnt from it. An empty list teaches nothing, and
    /// fits every field that is a list. In the public database encrypted values are refused (C-08).
    package func admit(
        _ records: [Record], container: ContainerName, mode: SchemaMode, isPublic: Bool = false,
        in transaction: RecordTransaction
    ) throws -> [RecordName: CloudError] {
        var errors: [RecordName: CloudError] = [:]
        var types: [RecordType: RecordTypeSchema] = [:]
        var learnt: Set<RecordType> = []
        for record in records {
            let known = try types[record.type] ?? schema(of: record.type, container: container, in: transaction)
            switch SchemaVerdict(record, known: known, mode: mode, isPublic: isPublic) {
            case .fits: types[record.type] = known
            case .teaches(let schema):
                types[record.type] = schema
                learnt.insert(record.type)
            case .refused(let error): errors[record.name] = error
            }
        }
        for type in learnt.sorted() {
            guard let schema = types[type] else { continue }
            try write(schema, container: container, in: transaction)
        }
        return errors
    }

    /// A record type as the transaction sees it; nil when it is not known.
    package func schema(
        of type: RecordType, container: ContainerName, in transaction: RecordTransaction
    ) throws -> RecordTypeSchema? {
        let cacheKey = SchemaCacheKey(container: container, type: type)
        let key = GlobalKeys.schema(container, type)
        let mayUseCache = !transaction.hasUnpublishedWrite(forKey: key)
        let version = transaction.store.version
        if mayUseCache, let schema = cache.value(for: cacheKey, at: version) { return schema }
        guard !type.text.isEmpty, let schema = try Self.storedSchema(of: type, key, in: transaction) else { return nil }
        if mayUseCache { cache.fill(cacheKey, schema, at: version) }
        return schema
    }

    private static func storedSchema(
        of type: RecordType, _ key: [UInt8], in reader: RecordReader
    ) throws -> RecordTypeSchema? {
        let entry = try reader.store.withValue(forKey: key) { try SchemaEntry(decoding: $0) }
        guard let entry else { return nil }
        guard case .type(let fields, let grants) = entry else {
            throw RecordsError(
                .corruption, "A record type's entry holds something else: restore the store from a backup.",
                ["key": "\(KeyDescription(key))"])
        }
        return RecordTypeSchema(name: type, fields: fields, grants: grants)
    }

    func write(_ schema: RecordTypeSchema, container: ContainerName, in transaction: RecordTransaction) throws {
        let entry = SchemaEntry.type(fields: schema.fields, grants: schema.grants)
        try transaction.set(GlobalKeys.schema(container, schema.name), to: entry.encoded())
        let cacheKey = SchemaCacheKey(container: container, type: schema.name)
        transaction.onPublish { [cache] version in cache.publish(cacheKey, schema, version: version) }
    }

    func remove(_ type: RecordType, container: ContainerName, in transaction: RecordTransaction) throws {
        try transaction.delete(GlobalKeys.schema(container, type))
        let cacheKey = SchemaCacheKey(container: container, type: type)
        transaction.onPublish { [cache] version in cache.publish(cacheKey, nil, version: version) }
    }
}
