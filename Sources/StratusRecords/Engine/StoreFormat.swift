// The format version: the first thing read from a store.
//
// The number stands twice: in a key, where a store without files has it too, and in the marker file of a store on disk,
// which is read before anything of it is touched. Whoever opens a store on disk passes `number` to the engine below.

package import FoundationEssentials
import StratusLayout
package import StratusStore

/// The format of stores that this software reads and writes.
package enum StoreFormat {
    /// The layout's number, for the marker of a store on disk.
    package static let number = Int(FormatEntry.currentVersion)

    /// Makes sure the store is of the format `supported`, and lays out an empty one. Returns the store's incarnation.
    ///
    /// An older store is migrated where the options say so, in one transaction: nothing of formats from 1 on is read otherwise
    /// than before, so that its number is all that changes.
    ///
    /// Throws `newerFormat`, `olderFormat` and `notAStore`; nothing is written then.
    @discardableResult
    package static func check(
        _ store: any OrderedStore, incarnation: UUID, supported: UInt64 = FormatEntry.currentVersion,
        olderFormat: OlderFormat = .refused
    ) throws -> UUID {
        let found = try store.read { reader in
            try reader.withValue(forKey: GlobalKeys.format()) { try FormatEntry(decoding: $0) }
        }
        if let found, found.version < supported, olderFormat == .migrated { return try migrate(store, to: supported) }
        if let found { return try check(found, supported, olderFormat) }
        return try store.transact { writer in
            if let entry = try writer.withValue(forKey: GlobalKeys.format(), { try FormatEntry(decoding: $0) }) {
                return try check(entry, supported, olderFormat)
            }
            let everything = KeyRange(from: [], upTo: [UInt8](repeating: 0xFF, count: 32))
            try writer.scan(everything, .forward, limit: 1) { _, _ in
                throw RecordsError(
                    .notAStore, "The store holds keys but no format entry: it belongs to something else.", [:])
            }
            let entry = FormatEntry(version: supported, incarnation: incarnation)
            try writer.set(GlobalKeys.format(), to: entry.encoded())
            try writer.set(GlobalKeys.header(), to: GlobalHeader(nextDatabaseNumber: 1).encoded())
            return incarnation
        }
    }

    private static func migrate(_ store: any OrderedStore, to version: UInt64) throws -> UUID {
        try store.transact { writer in
            guard let entry = try writer.withValue(forKey: GlobalKeys.format(), { try FormatEntry(decoding: $0) })
            else {
                throw RecordsError(.corruption, "The store's format entry is gone: restore a backup.", [:])
            }
            try writer.set(
                GlobalKeys.format(), to: FormatEntry(version: version, incarnation: entry.incarnation).encoded())
            return entry.incarnation
        }
    }

    private static func check(
        _ entry: FormatEntry, _ supported: UInt64, _ olderFormat: OlderFormat
    ) throws -> UUID {
        let fields = ["found": "\(entry.version)", "supported": "\(supported)"]
        if entry.version > supported {
            throw RecordsError(
                .newerFormat, "A newer version of this software wrote the store: open it with that version.", fields)
        }
        if entry.version < supported, olderFormat == .refused {
            throw RecordsError(
                .olderFormat, "The store is of an older format: migrate it first, with 'stratus migrate'.", fields)
        }
        return entry.incarnation
    }
}
