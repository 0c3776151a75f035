// Whether a record fits its type: fields of the right types (S-14), new types and fields learnt in development and
// refused in production (S-13).
//
// A known type costs no read: the cache holds it since a version, is told of every change in the instant it is
// published, and is passed over while a change of the type is in flight (`SchemaCache`).

import StratusLayout
package import StratusModel
package import StratusRecords
import StratusStore

/// What became of records that were held against their types.
package struct SchemaJudgement: Sendable {
    package let container: ContainerName
    /// Why records do not fit.
    package fileprivate(set) var errors: [RecordName: CloudError] = [:]
    /// The types that know more than before.
    package fileprivate(set) var learnt: [RecordType: RecordTypeSchema] = [:]
    /// The types of the records that fit, as they will be known.
    package fileprivate(set) var types: [RecordType: RecordTypeSchema] = [:]

    init(container: ContainerName) { self.container = container }

    /// The most bytes that `learn` writes.
    var byteCount: Int {
        learnt.reduce(0) { sum, entry in
            return sum + entry.value.entry.encoded().count + GlobalKeys.schema(container, entry.key).count
        }
    }
}

/// Keeps the schemas of a store's containers.
package final class SchemaKeeper: Sendable {
    let cache = SchemaCache(maximumCount: 10_000)

    package init() {}

    /// Checks records against their types, in their order: the first one decides the type of a new field.
    ///
    /// Nothing is written: what is learnt in development is in the judgement, for `learn`. A record that does not fit has
    /// an error there, and nothing is learnt from it. An empty list teaches nothing, and fits every field that is a list: as
    /// the first value of a field it is refused, unless another of the records gives the field its type, in any order, or the
    /// record held it before, as those of earlier versions may. `stored` gives the records as they were. In the public
    /// database encrypted values are refused (C-08).
    package func judge(
        _ records: [Record], replacing stored: (RecordName) -> Record? = { _ in nil }, container: ContainerName,
        mode: SchemaMode, isPublic: Bool = false, in reader: RecordReader
    ) throws -> SchemaJudgement {
        var refused: [RecordName: CloudError] = [:]
        while true {
            let left = refused.isEmpty ? records : records.filter { refused[$0.name] == nil }
            var judgement = try judgement(of: left, container, mode, isPublic, in: reader)
            var found: [RecordName: CloudError] = [:]
            for record in left where judgement.errors[record.name] == nil {
                let known = judgement.types[record.type]
                found[record.name] = SchemaVerdict.emptyListError(record, known, replacing: stored)
            }
            judgement.errors.merge(refused) { own, _ in own }
            if found.isEmpty { return judgement }
            // Discard what a refused record taught.
            refused.merge(found) { own, _ in own }
        }
    }

    private func judgement(
        of records: [Record], _ container: ContainerName, _ mode: SchemaMode, _ isPublic: Bool,
        in reader: RecordReader
    ) throws -> SchemaJudgement {
        var judgement = SchemaJudgement(container: container)
        var types: [RecordType: RecordTypeSchema] = [:]
        for record in records {
            let known = try types[record.type] ?? schema(of: record.type, container: container, in: reader)
            switch SchemaVerdict(record, known: known, mode: mode, isPublic: isPublic) {
            case .fits: types[record.type] = known
            case .teaches(let schema):
                types[record.type] = schema
                judgement.learnt[record.type] = schema
            case .refused(let error): judgement.errors[record.name] = error
            }
        }
        judgement.types = types
        return judgement
    }

    /// Whether a record sets a field to an empty list whose type is not known: another record of its batch may give it one.
    func hasEmptyListOfNoType(
        _ record: Record, replacing stored: Record?, container: ContainerName, in reader: RecordReader
    ) throws -> Bool {
        let known = try schema(of: record.type, container: container, in: reader)
        return SchemaVerdict.emptyListError(record, known, replacing: { _ in stored }) != nil
    }

    /// Writes what the judgement of this transaction's records has learnt. Called when all of them are written, so that a
    /// record that something else refuses teaches nothing (S-13).
    package func learn(_ judgement: SchemaJudgement, in transaction: RecordTransaction) throws {
        for (_, schema) in judgement.learnt.sorted(by: { $0.key < $1.key }) {
            try write(schema, container: judgement.container, in: transaction)
        }
    }

    /// A record type as the reader sees it; nil when it is not known.
    package func schema(
        of type: RecordType, container: ContainerName, in reader: RecordReader
    ) throws -> RecordTypeSchema? {
        let cacheKey = SchemaCacheKey(container: container, type: type)
        let key = GlobalKeys.schema(container, type)
        let mayUseCache = (reader as? RecordTransaction)?.hasUnpublishedWrite(forKey: key) != true
        let version = reader.store.version
        if mayUseCache, let schema = cache.value(for: cacheKey, at: version) { return schema }
        guard !type.text.isEmpty, let schema = try Self.storedSchema(of: type, key, in: reader) else { return nil }
        if mayUseCache { cache.fill(cacheKey, schema, at: version) }
        return schema
    }

    private static func storedSchema(
        of type: RecordType, _ key: [UInt8], in reader: RecordReader
    ) throws -> RecordTypeSchema? {
        let entry = try reader.store.withValue(forKey: key) { try SchemaEntry(decoding: $0) }
        guard let entry else { return nil }
        guard case .type(let fields, let grants, let isImported) = entry else {
            throw RecordsError(
                .corruption, "A record type's entry holds something else: restore the store from a backup.",
                ["key": "\(KeyDescription(key))"])
        }
        return RecordTypeSchema(name: type, fields: fields, grants: grants, isImported: isImported)
    }

    func write(_ schema: RecordTypeSchema, container: ContainerName, in transaction: RecordTransaction) throws {
        try transaction.set(GlobalKeys.schema(container, schema.name), to: schema.entry.encoded())
        let cacheKey = SchemaCacheKey(container: container, type: schema.name)
        transaction.onPublish { [cache] version in cache.publish(cacheKey, schema, version: version) }
    }

    func remove(_ type: RecordType, container: ContainerName, in transaction: RecordTransaction) throws {
        try transaction.delete(GlobalKeys.schema(container, type))
        let cacheKey = SchemaCacheKey(container: container, type: type)
        transaction.onPublish { [cache] version in cache.publish(cacheKey, nil, version: version) }
    }
}

extension RecordTypeSchema {
    /// The type as it is stored under its name.
    fileprivate var entry: SchemaEntry { .type(fields: fields, grants: grants, isImported: isImported) }
}

// A container's schema as a whole: read for export, replaced by an import.

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

// Record types in memory.

/// A record type of a container.
struct SchemaCacheKey: Hashable, Sendable {
    let container: ContainerName
    let type: RecordType
}

/// Remembers the record types of containers.
typealias SchemaCache = PublishedCache<SchemaCacheKey, RecordTypeSchema>
