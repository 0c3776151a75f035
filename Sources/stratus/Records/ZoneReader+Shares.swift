// The shares of a zone.

import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

extension ZoneReader {
    /// Visits the names of the zone's shares in their byte order. `looking` is called for each.
    func visitShareNames(looking: () -> Void = {}, _ visit: (RecordName) throws -> ScanStep) throws {
        try store.scan(keys.types(of: ShareContent.recordType).keyRange) { key, _ in
            looking()
            return try visit(keys.readTypeKey(key).name)
        }
    }

    /// Whether a record is a share.
    func isShare(_ name: RecordName) throws -> Bool {
        try store.contains(keys.type(ShareContent.recordType, name: name))
    }

    /// What a share holds; nil where a record is none.
    func shareContent(_ name: RecordName) throws -> ShareContent? { try record(name)?.record.shareContent() }

    /// The share that a record is, or that it is in.
    ///
    /// Throws `notFound` where it is in none, and where a root bears the mark of a share that has no record.
    func share(of name: RecordName) throws -> (name: RecordName, content: ShareContent) {
        if let content = try shareContent(name) { return (name, content) }
        let membership = try shareMembership(of: name)
        let share = membership?.share ?? ShareContent.zoneWideName
        if let content = try shareContent(share) { return (share, content) }
        guard let membership else { throw ToolError(.notFound, "The record is in no share.", ["record": name.text]) }
        throw ToolError(
            .notFound,
            "The root of the record bears the mark of a share that has no record: it was not made by CloudKit. Take the "
                + "mark away where it was made, or delete the root, and share anew.",
            ["record": name.text, "root": membership.root.text, "share": membership.share.text])
    }
}
