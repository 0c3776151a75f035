// The queries of W10: a hundred results of a narrow range of an indexed field, and the first hundred sorted by it.

import Foundation
package import StratusCloud
package import StratusModel

/// Queries for files by their size, and the indexes they need.
package enum SizeQueries {
    package static let resultCount = 100
    package static let type = "File"
    private static let field = "size"

    /// The sizes of as many files as fit on a page.
    package static func sizeRange(_ zone: ZoneData) -> ClosedRange<Int64> {
        let sizes = (0..<zone.count).map { zone.content(of: $0) }.filter { $0.type.text == type }.map(\.size).sorted()
        let middle = sizes.count / 2
        return sizes[middle]...sizes[middle + resultCount - 1]
    }

    /// The query, and its name.
    package static func requests(_ zone: ZoneData, in id: ZoneID) -> [(String, QueryRequest)] {
        let range = sizeRange(zone)
        return [
            (
                "\(resultCount) of a range",
                query(
                    id,
                    [
                        QueryFilter(key: field, comparator: .greaterThanOrEquals, operand: .int64(range.lowerBound)),
                        QueryFilter(key: field, comparator: .lessThanOrEquals, operand: .int64(range.upperBound)),
                    ])
            ),
            ("the first \(resultCount), sorted", query(id, [], [QuerySort(key: field, isAscending: false)])),
        ]
    }

    private static func query(_ id: ZoneID, _ filters: [QueryFilter], _ sorts: [QuerySort] = []) -> QueryRequest {
        let query = ClientQuery(recordType: type, filters: filters, sorts: sorts)
        return QueryRequest(
            .query(query, zone: ZoneAddress(zoneName: id.name.text)), limit: resultCount)
    }

    /// Lets the server see a record of each type, from which it learns what to index, and runs the resulting upkeep.
    package static func buildIndexes(of data: ZoneData, in id: ZoneID, _ server: ServerSide) throws {
        let zone = ZoneAddress(zoneName: id.name.text)
        let saves = (0..<2).map { index in
            let content = data.content(of: index)
            return RecordSave(
                address: RecordAddress(recordName: "learnt \(content.type.text)", zone: zone), type: content.type.text,
                fields: [
                    "title": ClientField(.string(content.title)), "size": ClientField(.int64(content.size)),
                    "mode": ClientField(.int64(content.mode)), "digest": ClientField(.bytes(.init(content.digest))),
                ])
        }
        let learnt = try server.service.modifyRecords(
            ModifyRecordsRequest(saves: saves), as: server.owner, in: .private)
        for save in learnt.saves { _ = try save.get() }
        _ = try server.service.modifyRecords(
            ModifyRecordsRequest(deletes: saves.map(\.address)), as: server.owner, in: .private)
        try server.service.buildIndexes(UpkeepPace(pause: { usleep(10_000) }))
    }
}
