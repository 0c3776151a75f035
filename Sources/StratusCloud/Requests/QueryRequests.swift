// What a client can ask of queries, and what it is answered.

package import StratusRecords

/// A query, or the page after a cursor.
package struct QueryRequest: Sendable {
    package enum Start: Sendable {
        /// The first page. Without a zone all zones of the database are asked.
        case query(ClientQuery, zone: ZoneAddress?)
        /// The page after the one that gave this cursor. It holds query, zone and position.
        case cursor([UInt8])
    }

    package var start: Start
    /// Results in one page; 0 lets the server decide (L-14).
    package var limit: Int
    /// The fields to hand out; nil for all of them.
    package var desiredKeys: Set<String>?

    package init(_ start: Start, limit: Int = 0, desiredKeys: Set<String>? = nil) {
        self.start = start
        self.limit = limit
        self.desiredKeys = desiredKeys
    }
}

/// One result of a query.
package enum QueryResult: Sendable {
    case record(ClientRecord)
    /// A record that was found and cannot be handed out.
    indirect case failure(RecordAddress, CloudError)

    package var address: RecordAddress {
        switch self {
        case .record(let record): record.address
        case .failure(let address, _): address
        }
    }

    package func get() throws(CloudError) -> ClientRecord {
        switch self {
        case .record(let record): return record
        case .failure(_, let error): throw error
        }
    }
}

/// One page of results, in order.
package struct QueryResponse: Sendable {
    package var records: [QueryResult]
    /// Nil at the end.
    package var cursor: [UInt8]?
    /// What was done for the page, by itself.
    package var work: QueryWork

    package init(records: [QueryResult], cursor: [UInt8]?, work: QueryWork) {
        self.records = records
        self.cursor = cursor
        self.work = work
    }
}
