// Queries: one page, in one snapshot.
//
//   1. Check the caller's account, unless the database is the public one.          (AccountVerdict)
//   2. Open the cursor, if it belongs to this caller and database.                 (TokenSeal, QueryCursor)
//   3. Find the zones to query: the named one, or all of the database.             (ScopeVerdict)
//   4. Check the query against the record type.                                    (QueryVerdict)
//   5. Plan the query and read its page in each zone.                              (QueryPlanner, QueryRun)
//   6. Filter and convert what the caller may see.                                 (ZoneAccess, RecordPresenter)

import StratusLayout
import StratusModel
package import StratusRecords
package import StratusStore

extension CloudService {
    /// One page of a query (Q-14).
    ///
    /// Throws `invalidArguments` for an invalid query (Q-01, Q-10, Q-11), for a query without a zone in the shared
    /// database (D-09), and for a cursor of another caller or database (X-24); `unknownItem` for a record type without
    /// saved records (Q-11); `limitExceeded` for a list that is too long (L-11); `permissionFailure` for a type that
    /// the caller may not read in the public database; `zoneNotFound` or `userDeletedZone`; `notAuthenticated` and
    /// similar errors; a planned fault; the store's failures.
    package func query(
        _ request: QueryRequest, as caller: Caller, in database: DatabaseSelector
    ) throws(CloudError) -> QueryResponse {
        try reporting(.query, caller, itemCount: 0) { event in
            let (page, binding, query, zone) = try answer(request, caller, database)
            event.itemCount = page.records.count
            var response = QueryResponse(records: page.records, cursor: nil, work: page.work)
            if let position = page.position, let lastZone = page.lastZone {
                let cursor = QueryCursor(
                    query: query, zone: zone, lastZone: lastZone, order: page.order, position: position)
                response.cursor = try tokenKeeper.seal(of: engine, environment.identifiers)
                    .sealed(cursor.content, .query, for: binding)
            }
            return response
        }
    }

    /// How a page of a query is answered, and its cost. It reads the page.
    ///
    /// Throws like `query`.
    package func explainQuery(
        _ request: QueryRequest, as caller: Caller, in database: DatabaseSelector
    ) throws(CloudError) -> DatabaseQueryPlan {
        try answering {
            let page = try answer(request, caller, database).page
            return DatabaseQueryPlan(
                zones: page.plans, resultCount: page.records.count, isMoreComing: page.position != nil)
        }
    }

    private func answer(
        _ request: QueryRequest, _ caller: Caller, _ database: DatabaseSelector
    ) throws -> (page: DatabaseQuery.Page, binding: TokenBinding, query: ClientQuery, zone: ZoneAddress?) {
        if database != .public { try claimedAccount(of: caller) }
        let limit = request.limit > 0 ? min(request.limit, options.queryPageLimit) : options.queryPageCount
        let claimed = try caller.account.flatMap { try accountDirectory.cache.guess(for: $0) ?? account($0) }
        let claim = TokenBinding(user: claimed?.userName, container: caller.container, database: database)
        let (query, zone, cursor) = try opened(request.start, claim)
        let fault = zone.flatMap { environment.faults?.error(at: .zone($0, caller, .query)) }
        if let fault { throw fault }
        let (page, binding) = try engine.read { reader in
            if let reads = RequestReads(reader), RequestReads.mayBeKey(query.recordType) {
                reads.account(of: caller)
                reads.schema(of: [RecordType(query.recordType)], in: caller.container)
                announce(zone, database, caller, user: claimed?.userName, RecordType(query.recordType), reads)
            }
            // Every caller may read public data, regardless of the account's status (S-17).
            let found =
                try database == .public
                ? caller.account.flatMap { try accountDirectory.account($0, in: reader) }
                : accountDirectory.requireAccount(of: caller, in: reader)
            // This account decides: the other may have been deleted since.
            let binding = TokenBinding(user: found?.userName, container: caller.container, database: database)
            guard cursor == nil || binding.user == claim.user else { throw CloudError.foreignCursor }
            let account = AccountVerdict.status(of: found) == .available ? found : nil
            let zones = try zones(zone, database, caller, found, in: reader)
            let verdict = try verdict(query, caller, account, isPublic: database == .public, in: reader)
            let run = DatabaseQuery(
                service: self, caller: caller, account: account, database: database, verdict: verdict, zones: zones,
                desiredKeys: request.desiredKeys, reader: reader)
            return (try run.page(after: cursor, limit: limit), binding)
        }
        return (page, binding, query, zone)
    }

    private func opened(
        _ start: QueryRequest.Start, _ binding: TokenBinding
    ) throws -> (ClientQuery, ZoneAddress?, QueryCursor?) {
        switch start {
        case .query(let query, let zone): return (query, zone, nil)
        case .cursor(let bytes):
            let seal = try tokenKeeper.seal(of: engine, environment.identifiers)
            guard let content = seal.opened(bytes, .query, for: binding), let cursor = try? QueryCursor(content) else {
                throw CloudError.foreignCursor
            }
            return (cursor.query, cursor.zone, cursor)
        }
    }

    /// The zones to query, in the order of their names (Q-12).
    private func zones(
        _ zone: ZoneAddress?, _ database: DatabaseSelector, _ caller: Caller, _ account: StoredAccount?,
        in reader: RecordReader
    ) throws -> [ResolvedZone] {
        if let zone {
            return [
                try ScopeVerdict.zone(zone, in: database, container: caller.container, caller: account?.userName)
            ]
        }
        guard database != .shared else {
            throw CloudError(.invalidArguments, "SharedDB does not support Zone Wide queries", ["rule": "D-09"])
        }
        let standard = try ScopeVerdict.zone(
            .defaultZone, in: database, container: caller.container, caller: account?.userName)
        guard database == .private else { return [standard] }
        return try reader.zones(in: standard.id.database).map { listing in
            ResolvedZone(
                id: ZoneID(database: standard.id.database, name: listing.name),
                address: ZoneAddress(zoneName: listing.name.text))
        }
    }

    /// The checked query.
    func verdict(
        _ query: ClientQuery, _ caller: Caller, _ account: StoredAccount?, isPublic: Bool, in reader: RecordReader
    ) throws -> QueryVerdict {
        if let refusal = QueryVerdict.typeRefusal(query.recordType) { throw refusal }
        let name = RecordType(query.recordType)
        guard let type = try schemaKeeper.schema(of: name, container: caller.container, in: reader) else {
            throw QueryVerdict.unknownType(query.recordType)
        }
        let verdict = try QueryVerdict(query, type: type, mode: options.schemaMode)
        unknownFields.note(verdict.unknownFields, of: name, in: caller.container)
        if isPublic {
            let permissions = GrantVerdict.permissions(type, hasAccount: account != nil, isCreator: true)
            guard permissions.contains(.read) else {
                throw CloudError.notPermitted("QUERY operation not permitted", ["recordType": query.recordType])
            }
        }
        return verdict
    }
}

/// Where a query continues: the query, the zone and the last result's position in the order. It is a relative position
/// without a snapshot (Q-14), so it outlives the process, and an unused one costs nothing.
///
/// It is sealed like a change token, for one account, container and database (X-24).
struct QueryCursor: Hashable, Sendable {
    var query: ClientQuery
    /// The zone of the request; nil for all zones.
    var zone: ZoneAddress?
    /// The zone of the last result.
    var lastZone: ZoneName
    /// If the query has no sort keys, the field whose index orders the results of that zone.
    var order: FieldKey?
    var position: QueryPosition

    private static let version: UInt8 = 1

    /// The bytes to seal.
    var content: [UInt8] {
        var writer = CursorWriter()
        writer.append(byte: Self.version)
        writer.append(query)
        writer.append(optional: zone) { $0.append($1) }
        writer.append(lastZone.text)
        writer.append(optional: order) { $0.append($1.text) }
        writer.append(each: position.values.all) { writer, value in writer.append(optional: value) { $0.append($1) } }
        if case .name(let name) = position.name { writer.append(name.text) } else { writer.append("") }
        return writer.bytes
    }

}

extension QueryCursor {
    /// Reads the sealed bytes. Throws `CursorReader.Failure` for other bytes.
    init(_ content: [UInt8]) throws {
        var reader = CursorReader(content)
        guard try reader.readByte() == Self.version else { throw CursorReader.Failure() }
        query = try reader.readQuery()
        zone = try reader.readOptional { try $0.readZone() }
        lastZone = ZoneName(try reader.readText())
        order = try reader.readOptional { FieldKey(try $0.readText()) }
        let values = try reader.readEach { try $0.readOptional { try $0.readSortedValue() } }
        position = QueryPosition(values: SortedValues(values), name: .name(RecordName(try reader.readText())))
        try reader.expectEnd()
    }
}

/// How a page of a query was read in one zone.
package struct ZoneQueryPlan: Sendable, CustomStringConvertible {
    package var zone: ZoneAddress
    package var plan: QueryPlan
    package var rowCount: Int
    /// Records read.
    package var examinedCount: Int
    package var cost: StoreCost

    /// The plan in words.
    package var planText: String { plan.description }
    /// Point reads and seeks.
    package var readCount: Int { cost.reads }
    /// Entries that cursors visited.
    package var cursorStepCount: Int { cost.cursorSteps }

    package var description: String {
        "\(zone.zoneName): \(plan); \(examinedCount.counting("record")) looked at, \(rowCount) found, "
            + "\(cost.reads.counting("read")), \(cost.cursorSteps.counting("entry", "entries"))"
    }
}

/// How a page of a query was answered.
package struct DatabaseQueryPlan: Sendable, CustomStringConvertible {
    package var zones: [ZoneQueryPlan]
    package var resultCount: Int
    /// Whether there are further pages.
    package var isMoreComing: Bool

    package var description: String {
        let end = resultCount.counting("result") + (isMoreComing ? ", more to come" : "")
        return (zones.map(\.description) + [end]).joined(separator: "\n")
    }
}
