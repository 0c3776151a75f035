// What a user's client sent last with a change of a zone, to recognise it by (T-11): one small entry, written with the
// change. The feed gives it back with the page that tells of the change; a request that says it again is not applied.

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

enum ClientTokens {
    static func entry(of user: UserName, in zone: ZoneReader) throws -> ClientTokenEntry? {
        try zone.store.withValue(forKey: zone.keys.clientToken(of: user)) { try ClientTokenEntry(decoding: $0) }
    }

    /// What to give back with a page that told of the changes after `start`, up to `end`.
    static func told(to user: UserName, after start: UInt64, upTo end: UInt64, in zone: ZoneReader) throws -> [UInt8]? {
        guard end > start, let entry = try entry(of: user, in: zone), entry.sequence > start, entry.sequence <= end
        else { return nil }
        return entry.data
    }

    static func note(
        _ data: [UInt8], sequence: UInt64, of user: UserName, in zone: ZoneReader, _ transaction: RecordTransaction
    ) throws {
        try transaction.set(
            zone.keys.clientToken(of: user), to: ClientTokenEntry(sequence: sequence, data: data).encoded())
    }

    /// Forgets what somebody's client sent who does not take part any more.
    static func forget(_ user: UserName, in zone: ZoneReader, _ transaction: RecordTransaction) throws {
        let key = zone.keys.clientToken(of: user)
        if try transaction.store.contains(key) { try transaction.delete(key) }
    }
}
