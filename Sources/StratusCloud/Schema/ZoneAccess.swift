// What a caller may do with the records of one zone: everything in a private database, in the public one what the
// container's schema grants.

import StratusModel
import StratusRecords

struct ZoneAccess {
    private let keeper: SchemaKeeper
    private let container: ContainerName
    private let isPublic: Bool
    /// The caller's name, when the caller has an account that may be used.
    private let caller: UserName?

    init(_ keeper: SchemaKeeper, to zone: ResolvedZone, caller: UserName?) {
        self.keeper = keeper
        container = zone.id.database.container
        isPublic = zone.isPublic
        self.caller = caller
    }

    /// What the caller may do with a record that is there.
    func permissions(for stored: StoredRecord, in reader: RecordReader) throws -> RecordPermissions {
        try permissions(stored.record.type, isCreator: stored.system.created.user == caller, in: reader)
    }

    /// What the caller may do with records of a type that nobody has created yet.
    func permissions(toCreate type: RecordType, in reader: RecordReader) throws -> RecordPermissions {
        try permissions(type, isCreator: false, in: reader)
    }

    private func permissions(
        _ type: RecordType, isCreator: Bool, in reader: RecordReader
    ) throws -> RecordPermissions {
        guard isPublic else { return .all }
        let schema = try keeper.schema(of: type, container: container, in: reader)
        return GrantVerdict.permissions(schema, hasAccount: caller != nil, isCreator: isCreator)
    }
}
