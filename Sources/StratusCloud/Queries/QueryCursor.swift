// Where a query goes on: query, zone and the last result's place in the order. It is a relative position and holds no
// snapshot, so that it outlives the process and costs the server nothing while nobody uses it.
//
// It is sealed as change tokens are, for one account, container and database: any other is refused.

import StratusModel
import StratusRecords

struct QueryCursor: Hashable, Sendable {
    var query: ClientQuery
    /// The zone that was asked for; nil for all of them.
    var zone: ZoneAddress?
    /// The zone of the last result.
    var lastZone: ZoneName
    /// What the results of that zone are ordered by where the query does not say: a field whose index is read.
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

    /// Reads what was sealed. Throws `CursorReader.Failure` for what is no cursor.
    init(_ content: [UInt8]) throws(CursorReader.Failure) {
        var reader = CursorReader(content)
        guard try reader.readByte() == Self.version else { throw CursorReader.Failure() }
        query = try reader.readQuery()
        zone = try reader.readOptional { (reader: inout CursorReader) throws(CursorReader.Failure) in
            try reader.readZone()
        }
        lastZone = ZoneName(try reader.readText())
        order = try reader.readOptional { (reader: inout CursorReader) throws(CursorReader.Failure) in
            FieldKey(try reader.readText())
        }
        let values = try reader.readEach { (reader: inout CursorReader) throws(CursorReader.Failure) in
            try reader.readOptional { (reader: inout CursorReader) throws(CursorReader.Failure) in
                try reader.readSortedValue()
            }
        }
        position = QueryPosition(values: SortedValues(values), name: .name(RecordName(try reader.readText())))
        try reader.expectEnd()
    }

    init(
        query: ClientQuery, zone: ZoneAddress?, lastZone: ZoneName, order: FieldKey?, position: QueryPosition
    ) {
        self.query = query
        self.zone = zone
        self.lastZone = lastZone
        self.order = order
        self.position = position
    }
}
