// Queries of tests against a `RecordBench`.

import Foundation
import StratusCloud
import StratusModel
import StratusRecords
import Testing

extension ClientQuery {
    static func all(_ type: String, _ filters: QueryFilter..., sorted sorts: [QuerySort] = []) -> ClientQuery {
        ClientQuery(recordType: type, filters: filters, sorts: sorts)
    }
}

extension QueryFilter {
    static func `where`(_ key: String, _ comparator: QueryComparator, _ operand: ClientValue) -> QueryFilter {
        QueryFilter(key: key, comparator: comparator, operand: operand)
    }

    static func near(_ key: String, _ latitude: Double, _ longitude: Double, _ radius: Double) -> QueryFilter {
        QueryFilter(key: key, comparator: .isNear, operand: .place(latitude, longitude), radius: radius)
    }
}

extension ClientValue {
    static func place(_ latitude: Double, _ longitude: Double) -> ClientValue {
        .location(Location.at(latitude, longitude))
    }

    static func texts(_ texts: String...) -> ClientValue { .list(texts.map { .string($0) }) }
    static func ints(_ ints: Int64...) -> ClientValue { .list(ints.map { .int64($0) }) }
}

extension Location {
    static func at(_ latitude: Double, _ longitude: Double) -> Location {
        Location(
            latitudeDegrees: latitude, longitudeDegrees: longitude, timestamp: Date(timeIntervalSinceReferenceDate: 0))
    }
}

extension RecordBench {
    /// One page.
    func page(
        _ start: QueryRequest.Start, limit: Int = 0, keys: Set<String>? = nil, by account: StoredAccount? = nil,
        in database: DatabaseSelector = .private
    ) throws -> QueryResponse {
        try service.query(
            QueryRequest(start, limit: limit, desiredKeys: keys), as: caller(account ?? alice), in: database)
    }

    /// All results of all pages, in order.
    func results(
        _ query: ClientQuery, zone: ZoneAddress? = RecordBench.notes, limit: Int = 0, by account: StoredAccount? = nil,
        in database: DatabaseSelector = .private
    ) throws -> [ClientRecord] {
        var start = QueryRequest.Start.query(query, zone: zone)
        var found: [ClientRecord] = []
        while true {
            let page = try page(start, limit: limit, by: account, in: database)
            found += try page.records.map { try $0.get() }
            guard let cursor = page.cursor, found.count < 10_000 else { return found }
            start = .cursor(cursor)
        }
    }

    /// Their names.
    func names(
        _ query: ClientQuery, zone: ZoneAddress? = RecordBench.notes, limit: Int = 0, by account: StoredAccount? = nil,
        in database: DatabaseSelector = .private
    ) throws -> [String] {
        try results(query, zone: zone, limit: limit, by: account, in: database).map(\.address.recordName)
    }

    func explain(
        _ query: ClientQuery, zone: ZoneAddress? = RecordBench.notes, limit: Int = 0
    ) throws -> DatabaseQueryPlan {
        try service.explainQuery(QueryRequest(.query(query, zone: zone), limit: limit), as: caller(alice), in: .private)
    }

    /// Fills and clears all indexes.
    func buildIndexes() throws { try service.buildIndexes(UpkeepPace(pause: {})) }
}
