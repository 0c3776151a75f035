// What a zone keeps of shares beside the records: it can be read, and none of it lies ahead of the zone's last change.
//
// No record accounts for these entries, so that nothing here is missing or dangling; whether they agree with the shares
// is asked by the floor above, which can read what a share holds.

import StratusLayout
import StratusModel
import StratusStore

extension ZoneVerifier {
    mutating func verifySharing() throws {
        try verifyEndedAcceptances()
        try zone.store.scan(zone.keys.clientTokens.keyRange) { key, value in
            _ = try zone.keys.readClientTokenKey(key)
            noteEntry()
            guard let entry = try? ClientTokenEntry(decoding: value) else {
                report.note(.wrong, key: [UInt8](copying: key), "what a client sent cannot be read")
                return .next
            }
            if entry.sequence > header.sequence {
                report.note(.wrong, key: [UInt8](copying: key), "it was sent ahead of the zone's last change")
            }
            return .next
        }
        try zone.store.scan(zone.keys.shareTokens.keyRange) { key, value in
            _ = try zone.keys.readShareTokenKey(key)
            noteEntry()
            if (try? ShareTokenEntry(decoding: value)) == nil {
                report.note(.wrong, key: [UInt8](copying: key), "the secret of a URL cannot be read")
            }
            return .next
        }
        try zone.store.scan(zone.keys.shareEvents.keyRange) { key, value in
            let parts = try zone.keys.readShareEventKey(key)
            noteEntry()
            if parts.sequence > header.sequence {
                report.note(.wrong, key: [UInt8](copying: key), "the event lies ahead of the zone's last change")
            }
            if (try? ShareEventEntry(decoding: value)) == nil {
                report.note(.wrong, key: [UInt8](copying: key), "the event of a share cannot be read")
            }
            return .next
        }
    }

    private mutating func noteEntry() {
        report.entriesChecked += 1
        progress.tellOfLook()
    }

    /// What ended began before it ended, and no two times in which somebody saw the same share overlap.
    private mutating func verifyEndedAcceptances() throws {
        var user: UserName?
        var lastEnded: [RecordName: UInt64] = [:]
        try zone.store.scan(zone.keys.endedAcceptances.keyRange) { key, value in
            let parts = try zone.keys.readEndedAcceptanceKey(key)
            progress.tellOfLook()
            guard parts.ended > header.horizon else { return .next }
            if parts.user != user {
                user = parts.user
                lastEnded = [:]
            }
            let began = try EndedAcceptanceEntry(decoding: value).began
            checkTimes(key, began: began, ended: parts.ended, notBefore: lastEnded[parts.share] ?? 0)
            lastEnded[parts.share] = parts.ended
            return .next
        }
    }
}
