// What fetching records reads, announced before the first read. See `ZoneReads`.

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

/// Announces the reads of one request for records. Nil on a store that gains nothing from announcements.
struct FetchReads {
    private let common: RequestReads
    private let database: DatabaseSelector
    private var user: UserName?
    /// The names in each zone, until its records are announced.
    private var waiting: [ZoneID: (zone: ResolvedZone, names: [RecordName])] = [:]

    init?(_ reader: RecordReader, _ database: DatabaseSelector) {
        guard let common = RequestReads(reader) else { return nil }
        self.common = common
        self.database = database
    }

    /// Announces records, those in guessed zones at once.
    mutating func announce(_ addresses: [RecordAddress], by caller: Caller, user: UserName?) {
        common.account(of: caller)
        self.user = user
        for address in addresses where NameRules.recordNameError(address.recordName) == nil {
            let claimed = ScopeVerdict.canonical(address, caller: user)
            let zone = try? ScopeVerdict.zone(
                claimed.zone, in: database, container: caller.container, caller: user)
            guard let zone else { continue }
            waiting[zone.id, default: (zone, [])].names.append(RecordName(claimed.recordName))
        }
        for (zone, _) in waiting.values { found(zone) }
    }

    /// Announces the records in a zone that is known now, unless they were announced already.
    mutating func found(_ zone: ResolvedZone) {
        guard let (_, names) = waiting[zone.id], let guess = common.zone(zone, user: user) else { return }
        waiting[zone.id] = nil
        guess.reads.records(names)
        if zone.isShared { guess.reads.places(of: names) }
    }
}
