// The bytes of a query, as cursors and subscriptions hold it. The numbers never change, for both are kept. That a query
// matches nothing is not in them: such a one has no cursor, and a subscription says so beside it.

import StratusModel

extension CursorWriter {
    mutating func append(_ query: ClientQuery) {
        append(query.recordType)
        append(each: query.filters) { writer, filter in
            writer.append(filter.key)
            writer.append(byte: filter.comparator.rawValue)
            writer.append(filter.operand)
            writer.append(optional: filter.radius) { $0.append($1) }
        }
        append(each: query.sorts) { writer, sort in
            writer.append(sort.key)
            writer.append(byte: sort.isAscending ? 1 : 0)
            writer.append(optional: sort.origin) { $0.append($1) }
        }
    }
}

extension CursorReader {
    mutating func readQuery() throws(Failure) -> ClientQuery {
        var query = ClientQuery(recordType: try readText())
        query.filters = try readEach { (reader: inout Self) throws(Failure) in
            let key = try reader.readText()
            guard let comparator = QueryComparator(rawValue: try reader.readByte()) else { throw Failure() }
            let operand = try reader.readValue()
            let radius = try reader.readOptional { (reader: inout Self) throws(Failure) in try reader.readDouble() }
            return QueryFilter(key: key, comparator: comparator, operand: operand, radius: radius)
        }
        query.sorts = try readEach { (reader: inout Self) throws(Failure) in
            let key = try reader.readText()
            let isAscending = try reader.readByte() == 1
            let origin = try reader.readOptional { (reader: inout Self) throws(Failure) in try reader.readPlace() }
            return QuerySort(key: key, isAscending: isAscending, origin: origin)
        }
        return query
    }
}
