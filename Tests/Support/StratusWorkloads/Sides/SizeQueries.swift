// The queries of W10: a hundred results of a narrow range of an indexed field, and the first hundred sorted by it.

import Foundation
package import StratusCloud
package import StratusModel

/// Queries for files by their size, and the indexes they need.
package enum SizeQueries {
    package static let resultCount = 100
    package static let type = "File"
    private static let field = "size"

    /// The files of a zone by size, each with its index.
    package static func filesBySize(_ zone: ZoneData) -> [(size: Int64, index: Int)] {
        (0..<zone.count).map { (zone.content(of: $0), $0) }.filter { $0.0.type.text == type }
            .map { (size: $0.0.size, index: $0.1) }
            .sorted { ($0.size, $0.index) < ($1.size, $1.index) }
    }

    /// The sizes of as many files as fit on a page.
    package static func sizeRange(_ zone: ZoneData) -> ClosedRange<Int64> {
        let files = filesBySize(zone)
        let middle = files.count / 2
        return files[middle].size...files[middle + resultCount - 1].size
    }

    /// The query for the files whose size is in a range.
    package static func request(_ range: ClosedRange<Int64>, in id: ZoneID) -> QueryRequest {
        query(
            id,
            [
                QueryFilter(key: field, comparator: .greaterThanOrEquals, operand: .int64(range.lowerBound)),
                QueryFilter(key: field, comparator: .lessThanOrEquals, operand: .int64(range.upperBound)),
            ])
    }

    /// The query, and its name.
    package static func requests(_ zone: ZoneData, in id: ZoneID) -> [(String, QueryRequest)] {
        [
            ("\(resultCount) of a range", request(sizeRange(zone), in: id)),
            ("the first \(resultCount), sorted", query(id, [], [QuerySort(key: field, isAscending: false)])),
        ]
    }

    private static func query(_ id: ZoneID, _ filters: [QueryFilter], _ sorts: [QuerySort] = []) -> QueryRequest {
        let query = ClientQuery(recordType: type, filters: filters, sorts: sorts)
        return QueryRequest(
            .query(query, zone: ZoneAddress(zoneName: id.name.text)), limit: resultCount)
    }

    /// Lets the server see a record of each type, from which it learns what to index, and runs the resulting upkeep.
    package static func buildIndexes(
        of data: ZoneData, in id: ZoneID, _ server: ServerSide,
        _ pace: UpkeepPace = UpkeepPace(pause: { usleep(10_000) })
    ) throws {
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
        try server.service.buildIndexes(pace)
    }
}
