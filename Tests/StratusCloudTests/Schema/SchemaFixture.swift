// An engine in memory with a keeper of schemas.

import Foundation
import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport

struct SchemaFixture {
    static let container: ContainerName = "iCloud.com.example"

    let engine: RecordEngine
    let keeper: SchemaKeeper

    init(on given: (any OrderedStore)? = nil, keeper: SchemaKeeper? = nil) throws {
        let store = try given ?? TestStores.make()
        engine = try RecordEngine(store: store, incarnation: UUID())
        self.keeper = keeper ?? SchemaKeeper(role: store.cacheRole)
    }

    /// What a save with these records is answered.
    @discardableResult
    func admit(
        _ records: Record..., container: ContainerName = Self.container, mode: SchemaEnvironment = .development,
        isPublic: Bool = false
    ) throws -> [RecordName: CloudError] {
        try engine.transact { transaction in
            try keeper.admit(records, container: container, mode: mode, isPublic: isPublic, in: transaction)
        }
    }

    func schema(of container: ContainerName = Self.container) throws -> ContainerSchema {
        try engine.read { try keeper.schema(of: container, in: $0) }
    }

    func fieldType(_ key: FieldKey, of type: RecordType = "Note") throws -> FieldType? {
        try schema().types[type]?.fields[key]?.type
    }
}

extension SchemaKeeper {
    /// The outcome of a save whose records are refused only for their schema.
    func admit(
        _ records: [Record], container: ContainerName, mode: SchemaEnvironment, isPublic: Bool = false,
        in transaction: RecordTransaction
    ) throws -> [RecordName: CloudError] {
        let judgement = try judge(records, container: container, mode: mode, isPublic: isPublic, in: transaction)
        try learn(judgement, in: transaction)
        return judgement.errors
    }
}

/// A record of one field, named as the field is.
func note(_ key: FieldKey, _ value: FieldValue, isEncrypted: Bool = false, type: RecordType = "Note") -> Record {
    Record(name: RecordName(key.text), type: type, fields: [key: Field(value, isEncrypted: isEncrypted)])
}
