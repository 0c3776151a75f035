// The meaning of the numbers in a history, so that its text stays short: zones, clock readings, types and fields. The
// same number means the same on every run.

package import FoundationEssentials
package import StratusModel
package import StratusRecords

/// The meaning of the numbers in a history.
package enum HistoryContent {
    /// The zones of every history: two in one database, one in another of the same owner, one in a public database.
    package static let zones: [ZoneID] = {
        let container = ContainerName("iCloud.test")
        let privateDatabase = DatabaseID(container: container, owner: "alice", scope: .private)
        let publicDatabase = DatabaseID(container: container, owner: nil, scope: .public)
        let other = DatabaseID(container: "iCloud.other", owner: "alice", scope: .private)
        return [
            ZoneID(database: privateDatabase, name: "notes"), ZoneID(database: privateDatabase, name: "notes2"),
            ZoneID(database: publicDatabase, name: "notes"), ZoneID(database: other, name: "_default"),
        ]
    }()

    /// Every seventh number gives a record of several chunks, if it is above this.
    private static let firstLargeContent = 900

    /// The time of the clock. It stands still and runs back now and then.
    package static func stamp(_ time: Int) -> Stamp {
        let seconds = Double(time - time % 3 + (time % 11 == 0 ? -50 : 0))
        return Stamp(date: Date(timeIntervalSinceReferenceDate: seconds), user: UserName("user\(time % 3)"))
    }

    package static func salt(_ time: Int) -> UInt32 { UInt32(truncatingIfNeeded: time &* 2_654_435_761) }

    /// An identity from a number, never zero.
    package static func identity(_ number: Int) -> UUID {
        let bytes = (0..<8).map { UInt8(truncatingIfNeeded: (number + 1) >> ($0 * 8)) }
        return UUID(
            uuid: (
                bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], 0x4A, bytes[7], 0x80, 1, 2, 3, 4, 5, 6, 7
            ))
    }

    /// The parameters of the zone with this birth.
    package static func birth(_ number: Int) -> ZoneBirth {
        let drawn = identity(number)
        return ZoneBirth(identity: drawn, incarnation: drawn, stamp: stamp(number), databaseIdentity: drawn)
    }

    package static func record(name: RecordName, parent: RecordName?, share: RecordName?, content: Int) -> Record {
        Record(name: name, type: type(content), parent: parent, share: share, fields: fields(content))
    }

    package static func type(_ content: Int) -> RecordType { ["Note", "Folder", "N"][abs(content) % 3] }

    package static func fields(_ content: Int) -> RecordFields {
        var fields: RecordFields = ["content": Field(.int64(Int64(content)))]
        if content % 2 == 0 { fields["title"] = Field(.string("note \(content)\u{0}é"), isEncrypted: content % 4 == 0) }
        if content % 3 == 0 {
            fields["owner"] = Field(.reference(RecordReference(target: target(content), action: .deleteSelf)))
        }
        if content % 5 == 0 {
            let references = (0..<3).map { RecordReference(target: target(content / 5 + $0 % 2), action: .none) }
            fields["friends"] = Field(.list(references.map { .reference($0) }))
        }
        if content % 7 == 0 {
            let byteCount = content > firstLargeContent ? 150_000 : 40
            fields["bytes"] = Field(.bytes([UInt8](repeating: UInt8(truncatingIfNeeded: content), count: byteCount)))
        }
        return fields
    }

    private static func target(_ number: Int) -> RecordName { ["a", "b", "c", "missing"][number % 4] }
}

extension HistoryItem {
    package var oracleItem: OracleItem {
        switch self {
        case .save(let name, let parent, let share, let content):
            .save(HistoryContent.record(name: name, parent: parent, share: share, content: content))
        case .delete(let name): .delete(name)
        }
    }
}
