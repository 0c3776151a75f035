// The keys outside every database: (0, 0, tag, …).

package import StratusModel

/// Builds and reads the keys outside every database.
package enum GlobalKeys {
    static let prefix = KeyBuilder.prefix(.outside, .outside)

    /// Every key outside every database.
    package static var all: LayoutRange { KeyBuilder.range(of: prefix) }

    package static func keyspace(_ keyspace: GlobalKeyspace) -> LayoutRange { KeyBuilder.range(of: key(keyspace)) }

    /// The first key of a store. These bytes never change, in any format.
    package static func format() -> [UInt8] { key(.format) }
    package static func header() -> [UInt8] { key(.header) }
    package static func tokenSecret() -> [UInt8] { key(.tokenSecret) }

    package static func database(_ id: DatabaseID) -> [UInt8] {
        key(.databases) {
            TupleWriter.appendString(id.container.text, to: &$0)
            KeyBuilder.append(id.owner.map { RecordName($0.text) }, to: &$0)
            TupleWriter.appendInteger(UInt64(id.scope.rawValue), to: &$0)
        }
    }
    package static var databases: LayoutRange { keyspace(.databases) }
    package static func databases(of container: ContainerName) -> LayoutRange {
        KeyBuilder.range(of: key(.databases) { TupleWriter.appendString(container.text, to: &$0) })
    }
    /// The database of a key of the databases keyspace. Throws `.corruptKey`.
    package static func readDatabaseKey(_ key: Span<UInt8>) throws(LayoutError) -> DatabaseID {
        var reader = try KeyReader(key, after: prefix.count + 2, in: .global(.databases))
        let container = ContainerName(try reader.readText())
        let owner = try reader.readOptionalName()
        guard let number = UInt8(exactly: try reader.readNumber()), let scope = DatabaseScope(rawValue: number)
        else { throw reader.corrupt("No database scope has this number: check or restore the store.") }
        try reader.expectEnd()
        return DatabaseID(container: container, owner: owner.map { UserName($0.text) }, scope: scope)
    }

    package static func purge(_ database: DatabaseNumber, _ zone: ZoneNumber) -> [UInt8] {
        key(.purges, database, zone)
    }
    package static var purges: LayoutRange { keyspace(.purges) }
    package static func purges(in database: DatabaseNumber) -> LayoutRange {
        KeyBuilder.range(of: key(.purges) { TupleWriter.appendInteger(database.rawValue, to: &$0) })
    }
    /// The zone of a key of the purges keyspace. Throws `.corruptKey`.
    package static func readPurgeKey(_ key: Span<UInt8>) throws(LayoutError) -> (DatabaseNumber, ZoneNumber) {
        try readZone(key, .purges)
    }

    package static func release(_ database: DatabaseNumber, _ zone: ZoneNumber) -> [UInt8] {
        key(.releases, database, zone)
    }
    package static var releases: LayoutRange { keyspace(.releases) }
    package static func releases(in database: DatabaseNumber) -> LayoutRange {
        KeyBuilder.range(of: key(.releases) { TupleWriter.appendInteger(database.rawValue, to: &$0) })
    }
    package static func releases(after database: DatabaseNumber, _ zone: ZoneNumber) -> LayoutRange {
        LayoutRange(lower: KeyBuilder.successor(of: release(database, zone)), upper: releases.upper)
    }
    /// The zone of a key of the releases keyspace. Throws `.corruptKey`.
    package static func readReleaseKey(_ key: Span<UInt8>) throws(LayoutError) -> (DatabaseNumber, ZoneNumber) {
        try readZone(key, .releases)
    }

    package static func rebuild(_ database: DatabaseNumber, _ zone: ZoneNumber) -> [UInt8] {
        key(.rebuilds, database, zone)
    }
    package static var rebuilds: LayoutRange { keyspace(.rebuilds) }
    /// The zone of a key of the rebuilds keyspace. Throws `.corruptKey`.
    package static func readRebuildKey(_ key: Span<UInt8>) throws(LayoutError) -> (DatabaseNumber, ZoneNumber) {
        try readZone(key, .rebuilds)
    }

    package static func indexBuild(_ database: DatabaseNumber, _ zone: ZoneNumber) -> [UInt8] {
        key(.indexBuilds, database, zone)
    }
    package static var indexBuilds: LayoutRange { keyspace(.indexBuilds) }
    /// The zone of a key of the index builds keyspace. Throws `.corruptKey`.
    package static func readIndexBuildKey(_ key: Span<UInt8>) throws(LayoutError) -> (DatabaseNumber, ZoneNumber) {
        try readZone(key, .indexBuilds)
    }

    package static func indexReview(_ container: ContainerName, _ type: RecordType) -> [UInt8] {
        key(.indexReviews) {
            TupleWriter.appendString(container.text, to: &$0)
            TupleWriter.appendString(type.text, to: &$0)
        }
    }
    package static func indexing() -> [UInt8] { key(.indexing) }
    package static var indexReviews: LayoutRange { keyspace(.indexReviews) }
    /// The container and the record type of a key of the index reviews keyspace. Throws `.corruptKey`.
    package static func readIndexReviewKey(
        _ key: Span<UInt8>
    ) throws(LayoutError) -> (container: ContainerName, type: RecordType) {
        var reader = try KeyReader(key, after: prefix.count + 2, in: .global(.indexReviews))
        let parts = (ContainerName(try reader.readText()), RecordType(try reader.readText()))
        try reader.expectEnd()
        return parts
    }

    private static func key(
        _ keyspace: GlobalKeyspace, _ database: DatabaseNumber, _ zone: ZoneNumber
    ) -> [UInt8] {
        key(keyspace) {
            TupleWriter.appendInteger(database.rawValue, to: &$0)
            TupleWriter.appendInteger(zone.rawValue, to: &$0)
        }
    }

    private static func readZone(
        _ key: Span<UInt8>, _ keyspace: GlobalKeyspace
    ) throws(LayoutError) -> (DatabaseNumber, ZoneNumber) {
        var reader = try KeyReader(key, after: prefix.count + 2, in: .global(keyspace))
        let database = DatabaseNumber(try reader.readNumber())
        let zone = ZoneNumber(try reader.readNumber())
        guard database != .outside, zone != .outside else {
            throw reader.corrupt("Neither a database nor a zone has the number 0: check or restore the store.")
        }
        try reader.expectEnd()
        return (database, zone)
    }

    package static func receipt(_ id: [UInt8]) -> [UInt8] {
        key(.receipts) { TupleWriter.appendBytes(id, to: &$0) }
    }
    package static var receipts: LayoutRange { keyspace(.receipts) }

    package static func asset(owner: UserName, digest: [UInt8]) -> [UInt8] {
        key(.assets) {
            TupleWriter.appendString(owner.text, to: &$0)
            TupleWriter.appendBytes(digest, to: &$0)
        }
    }
    package static func assets(of owner: UserName) -> LayoutRange {
        KeyBuilder.range(of: key(.assets) { TupleWriter.appendString(owner.text, to: &$0) })
    }

    package static var assets: LayoutRange { keyspace(.assets) }
    /// The owner and the digest of a key of the assets keyspace. Throws `.corruptKey`.
    package static func readAssetKey(_ key: Span<UInt8>) throws(LayoutError) -> (owner: UserName, digest: [UInt8]) {
        var reader = try KeyReader(key, after: prefix.count + 2, in: .global(.assets))
        let owner = UserName(try reader.readText())
        guard case .bytes(let digest) = try reader.readElement() else {
            throw reader.corrupt("The digest of an asset is missing: check or restore the store.")
        }
        try reader.expectEnd()
        return (owner, digest)
    }

    package static func schema(_ container: ContainerName, _ type: RecordType) -> [UInt8] {
        key(.schema) {
            TupleWriter.appendString(container.text, to: &$0)
            TupleWriter.appendString(type.text, to: &$0)
        }
    }
    package static func schema(of container: ContainerName) -> LayoutRange {
        KeyBuilder.range(of: key(.schema) { TupleWriter.appendString(container.text, to: &$0) })
    }

    package static var schema: LayoutRange { keyspace(.schema) }
    /// The container's roles lie under the record type without a name, which no record has.
    package static func schemaRoles(_ container: ContainerName) -> [UInt8] { schema(container, "") }
    /// The container and the record type of a key of the schema keyspace; the type is nil for the container's roles.
    ///
    /// Throws `.corruptKey`.
    package static func readSchemaKey(
        _ key: Span<UInt8>
    ) throws(LayoutError) -> (container: ContainerName, type: RecordType?) {
        var reader = try KeyReader(key, after: prefix.count + 2, in: .global(.schema))
        let container = ContainerName(try reader.readText())
        let type = try reader.readText()
        try reader.expectEnd()
        return (container, type.isEmpty ? nil : RecordType(type))
    }

    static func key(_ keyspace: GlobalKeyspace, _ write: (inout [UInt8]) -> Void = { _ in }) -> [UInt8] {
        KeyBuilder.key(prefix, tag: keyspace.rawValue, write)
    }
}
