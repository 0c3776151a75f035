// Stores the schemas of containers and checks records against them: fields must have the right types (S-14); new types
// and fields are added in development and refused in production (S-13).
//
// A known type costs no read. The cache holds it with the version since which it is valid, gets every change at the
// time of its publication, and is not used while a change of the type is in flight. Where other processes write to the
// store the cache remembers nothing: who announces reads knows the key without it.

import FoundationEssentials
import StratusLayout
package import StratusModel
package import StratusRecords
package import StratusStore

/// The result of checking records against their types.
package struct SchemaJudgement: Sendable {
    package let container: ContainerName
    /// The errors of records that do not fit.
    package fileprivate(set) var errors: [RecordName: CloudError] = [:]
    /// The types that are new or have new fields.
    package fileprivate(set) var learnt: [RecordType: RecordTypeSchema] = [:]
    /// The types of the records that fit, after the save.
    package fileprivate(set) var types: [RecordType: RecordTypeSchema] = [:]

    init(container: ContainerName) { self.container = container }

    /// The bytes that `learn` counts.
    var countedByteCount: Int {
        learnt.reduce(0) { sum, entry in
            let key = GlobalKeys.schema(container, entry.key)
            return sum
                + StoreLimits.countedByteCount(writingKey: key.count, value: entry.value.entry.encoded().count)
        }
    }
}

/// Keeps the schemas of a store's containers.
package final class SchemaKeeper: Sendable {
    private let cache: PublishedCache<[UInt8], RecordTypeSchema>

    package init(role: CacheRole = .answers) {
        cache = PublishedCache(maximumCount: role == .answers ? 10_000 : 0, role: role)
    }

    /// Checks records against their types, in their order: the first record with a new field determines its type.
    ///
    /// Writes nothing: the result has the additions of development mode, for `learn`. A record that does not fit has an
    /// error there and adds nothing. An empty list adds no field, and fits every list field. As the first value of a
    /// field it is refused, unless another of the records, in any order, gives the field its type, or the record held
    /// it before, as records of earlier versions may. `stored` returns the records as they were. In the public database
    /// encrypted values are refused (C-08).
    package func judge(
        _ records: [Record], replacing stored: (RecordName) -> Record? = { _ in nil }, container: ContainerName,
        mode: SchemaEnvironment, isPublic: Bool = false, in reader: RecordReader
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
            // Check again, without what refused records have added.
            refused.merge(found) { own, _ in own }
        }
    }

    private func judgement(
        of records: [Record], _ container: ContainerName, _ mode: SchemaEnvironment, _ isPublic: Bool,
        in reader: RecordReader
    ) throws -> SchemaJudgement {
        var judgement = SchemaJudgement(container: container)
        for record in records {
            let known = try judgement.types[record.type] ?? schema(of: record.type, container: container, in: reader)
            do throws(CloudError) {
                let learnt = try SchemaVerdict.learnt(from: record, known: known, mode: mode, isPublic: isPublic)
                judgement.types[record.type] = learnt ?? known
                if let learnt { judgement.learnt[record.type] = learnt }
            } catch { judgement.errors[record.name] = error }
        }
        return judgement
    }

    /// Writes the additions of the judgement of this transaction's records. Call it after writing all of them, so that
    /// a record that is refused for another reason adds nothing (S-13).
    package func learn(_ judgement: SchemaJudgement, in transaction: RecordTransaction) throws {
        for (type, schema) in judgement.learnt.sorted(by: { $0.key < $1.key }) {
            try set(type, to: schema, container: judgement.container, in: transaction)
        }
    }

    /// A record type as the reader sees it; nil if it is not known.
    package func schema(
        of type: RecordType, container: ContainerName, in reader: RecordReader
    ) throws -> RecordTypeSchema? {
        let key = GlobalKeys.schema(container, type)
        let mayUseCache = (reader as? RecordTransaction)?.hasUnpublishedWrite(forKey: key) != true
        let version = reader.store.version
        if mayUseCache, let schema = cache.value(for: key, at: version) { return schema }
        guard !type.text.isEmpty, let entry = try reader.store.withValue(forKey: key, { try SchemaEntry(decoding: $0) })
        else { return nil }
        guard case .type(let fields, let grants, let isImported) = entry else {
            throw StoreError(
                .corruption, "The entry of a record type is damaged. Restore the store from a backup.",
                ["key": KeyDescription.text(of: key)])
        }
        let schema = RecordTypeSchema(name: type, fields: fields, grants: grants, isImported: isImported)
        if mayUseCache { cache.fill(key, schema, at: version) }
        return schema
    }

    private func set(
        _ type: RecordType, to schema: RecordTypeSchema?, container: ContainerName, in transaction: RecordTransaction
    ) throws {
        let key = GlobalKeys.schema(container, type)
        if let schema { try transaction.set(key, to: schema.entry.encoded()) } else { try transaction.delete(key) }
        transaction.onPublish { [cache] version in cache.publish(key, schema, version: version) }
    }
}

extension RecordTypeSchema {
    /// The type as it is stored under its name.
    fileprivate var entry: SchemaEntry { .type(fields: fields, grants: grants, isImported: isImported) }
}

// MARK: Import and export

extension SchemaKeeper {
    /// The whole schema of a container.
    package func schema(of container: ContainerName, in reader: RecordReader) throws -> ContainerSchema {
        var schema = ContainerSchema()
        try reader.store.forEach(in: GlobalKeys.schema(of: container)) { key, value in
            let type = try GlobalKeys.readSchemaKey(key).type
            switch (type, try SchemaEntry(decoding: value)) {
            case (let type?, .type(let fields, let grants, let isImported)):
                schema.types[type] = RecordTypeSchema(
                    name: type, fields: fields, grants: grants, isImported: isImported)
            case (nil, .roles(let roles)): schema.roles = roles
            default:
                throw StoreError(
                    .corruption, "An entry of a schema is damaged. Restore the store from a backup.",
                    ["key": KeyDescription.text(of: key)])
            }
        }
        return schema
    }

    /// Replaces a container's schema. In production it may only grow. In development missing types and fields are
    /// removed, and added again by the next record that has them. Records never change.
    ///
    /// Throws `invalidArguments` or `limitExceeded` if the change is not allowed; then nothing changes.
    package func replaceSchema(
        of container: ContainerName, with new: ContainerSchema, mode: SchemaEnvironment,
        in transaction: RecordTransaction
    ) throws {
        let old = try schema(of: container, in: transaction)
        let change = try SchemaChange(from: old, to: new, mode: mode)
        for type in change.written { try set(type.name, to: type, container: container, in: transaction) }
        for type in change.removed { try set(type, to: nil, container: container, in: transaction) }
        for type in change.written.map(\.name) + change.removed {
            // Upkeep updates the zones' indexes.
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

/// Collects the fields in queries and subscriptions that no record has had, so that the host gets a warning, once per
/// type and field. A misspelled field finds nothing, without an error, until the schema is deployed to
/// production, which refuses it. The host's hook is called after the request, when no lock or snapshot is held.
final class UnknownFields: Sendable {
    struct Name: Hashable {
        /// The store's, because a process may have several.
        var incarnation: UUID
        var container: ContainerName
        var type: RecordType
        var field: FieldKey
    }

    /// The fields with a warning already. The least recently used field is dropped.
    final class Memory: Sendable {
        static let ofProcess = Memory()

        fileprivate let warned = Locked(RecentEntries<Name, Bool>(room: 1_000))
    }

    private let incarnation: UUID
    private let memory: Memory
    private let pending = Locked<[Name]>([])

    init(incarnation: UUID, memory: Memory = .ofProcess) {
        self.incarnation = incarnation
        self.memory = memory
    }

    func note(_ fields: [FieldKey], of type: RecordType, in container: ContainerName) {
        guard !fields.isEmpty else { return }
        let names = fields.map { Name(incarnation: incarnation, container: container, type: type, field: $0) }
        let new = memory.warned.withLock { warned in
            names.filter { name in
                if warned.find(name) != nil { return false }
                warned.insert(name, true)
                return true
            }
        }
        if !new.isEmpty { pending.withLock { $0 += new } }
    }

    /// The new warnings.
    func takeWarnings() -> [CloudEvent] {
        let names = pending.withLock { pending in
            defer { pending = [] }
            return pending
        }
        return names.map { name in
            CloudEvent(
                kind: .queryUnknownField, caller: Caller(container: name.container, account: nil),
                error: CloudError(
                    .invalidArguments,
                    "A query names a field that no record has had. Check its spelling, or import the schema.",
                    ["field": name.field.text, "recordType": name.type.text]))
        }
    }
}
