// The format version: the first thing read from a store.

import FoundationEssentials
import StratusLayout
import StratusStore

enum StoreFormat {
    /// Makes sure the store is of the format this software writes, and lays out an empty one.
    static func check(_ store: any OrderedStore, incarnation: UUID) throws {
        let found = try store.read { reader in
            try reader.withValue(forKey: GlobalKeys.format()) { try FormatEntry(decoding: $0) }
        }
        if let found { return try check(found) }
        try store.transact { writer in
            if let entry = try writer.withValue(forKey: GlobalKeys.format(), { try FormatEntry(decoding: $0) }) {
                return try check(entry)
            }
            let everything = KeyRange(from: [], upTo: [UInt8](repeating: 0xFF, count: 32))
            try writer.scan(everything, .forward, limit: 1) { _, _ in
                throw RecordsError(
                    .notAStore, "The store holds keys but no format entry: it belongs to something else.", [:])
            }
            let entry = FormatEntry(version: FormatEntry.currentVersion, incarnation: incarnation)
            try writer.set(GlobalKeys.format(), to: entry.encoded())
            try writer.set(GlobalKeys.header(), to: GlobalHeader(nextDatabaseNumber: 1).encoded())
        }
    }

    private static func check(_ entry: FormatEntry) throws {
        guard entry.version <= FormatEntry.currentVersion else {
            throw RecordsError(
                .newerFormat, "A newer version of this software wrote the store: open it with that version.",
                ["found": "\(entry.version)", "supported": "\(FormatEntry.currentVersion)"])
        }
    }
}
