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
    /// Throws `notFound` where it is in none, and where a root bears the mark of a share that has no record.
    func share(of name: RecordName) throws -> (name: RecordName, content: ShareContent) {
        if let content = try record(name)?.record.shareContent() { return (name, content) }
        let membership = try shareMembership(of: name)
        let share = membership?.share ?? ShareContent.zoneWideName
        if let content = try record(share)?.record.shareContent() { return (share, content) }
        guard let membership else { throw ToolError(.notFound, "The record is in no share.", ["record": name.text]) }
        throw ToolError(
            .notFound,
            "The root of the record bears the mark of a share that has no record: it was not made by CloudKit. Take the "
                + "mark away where it was made, or delete the root, and share anew.",
            ["record": name.text, "root": membership.root.text, "share": membership.share.text])
    }
}
