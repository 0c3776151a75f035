// The shares of a zone.

import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

extension ZoneReader {
    /// Visits every share of the zone in the byte order of their names.
    func visitShares(_ visit: (RecordName, ShareContent) throws -> Void) throws {
        var names: [RecordName] = []
        try store.scan(keys.types(of: ShareContent.recordType).keyRange) { key, _ in
            names.append(try keys.readTypeKey(key).name)
            return .next
        }
        for name in names {
            if let content = try record(name)?.record.shareContent() { try visit(name, content) }
        }
    }

    /// The share that a record is, or that it is in.
    ///
    /// Throws `notFound` where it is in none.
    func share(of name: RecordName) throws -> (name: RecordName, content: ShareContent) {
        if let content = try record(name)?.record.shareContent() { return (name, content) }
        let share = try shareMembership(of: name)?.share ?? ShareContent.zoneWideName
        guard let content = try record(share)?.record.shareContent() else {
            throw ToolError(.notFound, "The record is in no share.", ["record": name.text])
        }
        return (share, content)
    }
}
