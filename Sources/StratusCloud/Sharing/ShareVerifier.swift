// Compares shares with their roots and with all entries that exist because of them. Reports what disagrees; repairs
// nothing.
//
// In one snapshot it reads every share of every zone, and looks up what must exist because of it, by the rule that
// wrote it (`ShareEntries`): its root's mark, its secret, acceptances and URLs. It counts what it finds. Only if more
// entries exist, it looks up the share of each entry, which is slow and rarely necessary. An entry without a share is
// dangling, unless it belongs to a deleted zone whose shares are not released yet.

import FoundationEssentials
import StratusLayout
import StratusModel
package import StratusRecords
import StratusStore

/// A fault of a share.
package typealias ShareFinding = VerifierFinding<ShareFault>

/// What can be wrong with shares. The place of a finding is the share, or the entry's key.
package enum ShareFault: String, FindingKind, CaseIterable {
    /// Data that cannot be read.
    case damaged = "damagedShare"
    /// A share in a zone that cannot have shares.
    case misplaced = "misplacedShare"
    /// The content of a share breaks a rule.
    case invalid = "invalidShare"
    /// A share and its root do not name each other.
    case wrongRoot = "wrongShareRoot"
    /// A share's secret is not its root's, or a secret has no root.
    case wrongToken = "wrongShareToken"
    /// An acceptance or a URL is missing.
    case missing = "missingShareEntry"
    /// An acceptance or a URL differs from the share.
    case wrong = "wrongShareEntry"
    /// An acceptance or a URL without a share.
    case dangling = "danglingShareEntry"
    /// A person without an account has accepted.
    case stranger = "strangerInShare"
    /// A participant's identifier can be guessed (`UUID.withoutRandomness`).
    case predictable = "predictableIdentity"
}

/// Verifies the shares of a store.
package struct ShareVerifier: Sendable {
    private let engine: RecordEngine

    package init(engine: RecordEngine) { self.engine = engine }

    /// Compares all shares with their entries, in one snapshot. Memory holds one share at a time. `progress` gets how
    /// many zones, shares, marks of roots, secrets and entries were checked.
    ///
    /// Throws the errors of reading the store; damage of single shares and entries is among the findings.
    package func verify(
        progress: @escaping WorkMeter.Listener = { _, _ in }
    ) throws -> VerifierReport<ShareFault> {
        try engine.store.confirmed {
            try engine.read(.wholeStore) { reader in
                let meter = WorkMeter(total: try Self.lookCount(in: reader), progress)
                var check = try ShareCheck(reader, meter)
                try reader.visitZones { id, listing in
                    if let zone = try reader.zone(id) {
                        try check.verify(zone, identity: listing.entry.identity)
                    }
                    meter.add()
                    return .next
                }
                try check.verifyDangling()
                check.report.sort()
                return check.report
            }
        }
    }

    private static func lookCount(in reader: RecordReader) throws -> Int {
        var count =
            try reader.entryCount(in: GlobalKeys.keyspace(.acceptances))
            + reader.entryCount(in: GlobalKeys.keyspace(.shareURLs))
        try reader.visitZones { _, listing in
            // One for the zone, because even a zone without shares costs four seeks.
            count += 1
            count += try reader.entryCount(in: listing.keys.types(of: ShareContent.recordType))
            for keyspace in [ZoneKeyspace.shareRoots, .shareTokens, .endedAcceptances] {
                count += try reader.entryCount(in: listing.keys.keyspace(keyspace))
            }
            return .next
        }
        return count
    }
}

/// One verification of all shares.
private struct ShareCheck {
    private let reader: RecordReader
    private let meter: WorkMeter
    /// Deleted zones whose shares are not released yet.
    private let released: Set<UUID>
    var report: VerifierReport<ShareFault>
    /// The number of found keys of readable shares.
    private var acceptanceCount = 0
    private var urlCount = 0
    /// Hashes of the keys with findings: a damaged store may have one for each key.
    private var noted: Set<Int> = []

    init(_ reader: RecordReader, _ meter: WorkMeter) throws {
        (self.reader, self.meter) = (reader, meter)
        released = Set(try reader.releases().map(\.identity))
        report = VerifierReport(toBeConfirmed: !reader.store.showsOneMoment)
    }

    private mutating func note(_ kind: ShareFinding.Kind, _ place: String, _ detail: String) {
        report.note(ShareFinding(kind: kind, place: place, detail: detail))
    }

    private mutating func note(_ kind: ShareFinding.Kind, _ place: SharePlace, _ detail: String) {
        note(kind, Self.text(of: place), detail)
    }

    private mutating func note(_ kind: ShareFinding.Kind, key: [UInt8], _ detail: String) {
        noted.insert(key.hashValue)
        note(kind, KeyDescription.text(of: key), detail)
    }

    private static func text(of place: SharePlace) -> String {
        "share \(ReadableText.quoted(place.share.text)) in zone \(ReadableText.quoted(place.zone.text)) of \(place.owner)"
    }

    // MARK: A zone

    /// Verifies the shares of a zone. A share that cannot be read is a finding; the others are still verified.
    mutating func verify(_ zone: ZoneReader, identity: UUID) throws {
        do {
            try verifyShares(zone, identity: identity)
            try verifyMarks(zone)
            try verifyTokens(zone)
            try verifyEnded(zone, identity: identity)
        } catch let error as StoreError where error.isDamagedEntry {
            note(.damaged, "zone \(ReadableText.quoted(zone.id.name.text))", "cannot be verified to its end: \(error)")
        }
    }

    private mutating func verifyShares(_ zone: ZoneReader, identity: UUID) throws {
        var count = 0
        /// The share of the whole zone.
        var whole: SharePlace?
        var sequence: UInt64?
        try zone.store.forEach(in: zone.keys.types(of: ShareContent.recordType)) { key, _ in
            meter.add()
            let name = try zone.keys.readTypeKey(key).name
            guard let record = try zone.record(name)?.record else { return }
            guard let place = SharePlace(zone.id, identity: identity, share: name),
                place.zone.text != ZoneAddress.defaultZoneName
            else {
                let zoneText = ReadableText.quoted(zone.id.name.text)
                note(
                    .misplaced, "share \(ReadableText.quoted(name.text)) in zone \(zoneText)", "nothing is shared there"
                )
                return
            }
            let content: ShareContent
            do {
                content = try ShareContentEntry(of: record).content
            } catch let error as StoreError where error.isDamagedEntry {
                note(.damaged, place, "cannot be read: \(error)")
                return
            }
            count += 1
            if content.root == nil { whole = place }
            let last = try sequence ?? zone.header().sequence
            sequence = last
            try verify(content, at: place, zone, sequence: last)
        }
        if count > 1, let whole {
            note(.invalid, whole, "the whole zone is shared, and something in it besides (SH-09)")
        }
    }

    private mutating func verify(
        _ content: ShareContent, at place: SharePlace, _ zone: ZoneReader, sequence: UInt64
    ) throws {
        for problem in ShareInvariants.problems(of: content, at: place) { note(.invalid, place, problem) }
        for id in content.participants.map(\.id) + (content.requesters + content.blocked).map(\.id)
        where UUID.isWithoutRandomness(id.text) {
            note(
                .predictable, place,
                "the participant \(id) has an identifier that can be guessed: invite them again")
        }
        try verifyRoot(of: content, at: place, zone)
        try verifyToken(of: content, at: place, zone)
        for (user, part) in content.accepted {
            if try !isKnown(user) { note(.stranger, place, "\(user) has accepted and has no account") }
            try verify(acceptance: place.acceptanceKey(of: user), part, at: place, sequence: sequence)
        }
        for entry in ShareEntries.urlEntries(of: content, at: place) { try verify(url: entry) }
    }

    /// Checks that a share's root has its mark (SH-03, SH-10).
    private mutating func verifyRoot(of content: ShareContent, at place: SharePlace, _ zone: ZoneReader) throws {
        guard let root = content.root else { return }
        guard let record = try zone.record(root, fields: .none)?.record else {
            note(.wrongRoot, place, "the root \(ReadableText.quoted(root.text)) is not there")
            return
        }
        guard record.share != place.share else { return }
        let mark = record.share.map { "has the mark of the share \(ReadableText.quoted($0.text))" } ?? "has no mark"
        note(.wrongRoot, place, "the root \(ReadableText.quoted(root.text)) \(mark)")
    }

    /// Checks that a share has its root's secret.
    private mutating func verifyToken(of content: ShareContent, at place: SharePlace, _ zone: ZoneReader) throws {
        let key = zone.keys.shareToken(content.root)
        let value = try zone.store.value(forKey: key)
        let entry = value.flatMap { try? ShareTokenEntry(decoding: $0.span) }
        if value != nil, entry == nil {
            note(.damaged, key: key, "the secret of a URL cannot be read")
        } else if entry?.token != content.token {
            note(.wrongToken, place, "the secret of its URL is not the one kept for its root")
        }
    }

    /// Checks that every mark belongs to a share (SH-03, SH-10).
    private mutating func verifyMarks(_ zone: ZoneReader) throws {
        try zone.store.forEach(in: zone.keys.keyspace(.shareRoots)) { key, value in
            meter.add()
            let root = try zone.keys.readShareRootKey(key)
            let share = try ShareRootEntry(decoding: value).share
            if try Self.content(of: share, zone)?.root != root {
                note(.wrongRoot, KeyDescription.text(of: key), "no share that can be read has this root")
            }
        }
    }

    /// Checks that every secret belongs to a record or the whole zone.
    private mutating func verifyTokens(_ zone: ZoneReader) throws {
        try zone.store.forEach(in: zone.keys.keyspace(.shareTokens)) { key, _ in
            meter.add()
            guard let root = try zone.keys.readShareTokenKey(key), try zone.node(root) == nil else { return }
            note(.wrongToken, KeyDescription.text(of: key), "the secret of a record that is not there")
        }
    }

    /// Checks that a person's acceptance began after their earlier one ended.
    private mutating func verifyEnded(_ zone: ZoneReader, identity: UUID) throws {
        var horizon: UInt64?
        try zone.store.forEach(in: zone.keys.keyspace(.endedAcceptances)) { key, _ in
            meter.add()
            let limit = try horizon ?? zone.header().horizon
            horizon = limit
            let parts = try zone.keys.readEndedAcceptanceKey(key)
            guard parts.ended > limit else { return }
            let acceptance = GlobalKeys.acceptance(user: parts.user, zone: identity, share: parts.share)
            guard !noted.contains(acceptance.hashValue), let value = try reader.store.value(forKey: acceptance),
                let entry = try? AcceptanceEntry(decoding: value.span), entry.since < parts.ended,
                try Self.content(of: parts.share, zone)?.accepted[parts.user] != nil
            else { return }
            note(.wrong, key: acceptance, "it began at \(entry.since), before the last one ended")
        }
    }

    /// Whether a person has an account, or is being deleted.
    private func isKnown(_ user: UserName) throws -> Bool {
        try reader.store.contains(GlobalKeys.identity(.userRecord, user.text))
            || reader.store.contains(GlobalKeys.departure(of: user))
    }

    /// Compares an acceptance with the share. `sequence` is the last change of the zone.
    private mutating func verify(
        acceptance key: [UInt8], _ expected: AcceptedPart, at place: SharePlace, sequence: UInt64
    ) throws {
        guard let value = try reader.store.value(forKey: key) else {
            note(.missing, key: key, "a share says that it was accepted")
            return
        }
        acceptanceCount += 1
        guard let entry = try? AcceptanceEntry(decoding: value.span) else {
            note(.damaged, key: key, "cannot be read")
            return
        }
        let found = AcceptedPart(access: SharedAccess(entry), participant: entry.participant)
        if found != expected { note(.wrong, key: key, "the share says something else of the participant") }
        if entry.container != place.container || entry.owner != place.owner || entry.zone != place.zone {
            note(.wrong, key: key, "the share is in another zone")
        }
        if entry.since == 0 || entry.since > sequence {
            note(.wrong, key: key, "it began at \(entry.since), ahead of the zone")
        }
    }

    private mutating func verify(url expected: IndexEntry) throws {
        let key = expected.key
        guard let value = try reader.store.value(forKey: key) else {
            let text = ValueDescription.text(of: expected.value, forKey: key)
            note(.missing, key: key, "the URL leads nowhere: \(text)")
            return
        }
        if value == expected.value {
            urlCount += 1
        } else if (try? ShareURLEntry(decoding: value.span)) == nil {
            note(.damaged, key: key, "cannot be read")
        } else {
            note(.wrong, key: key, "the URL is that of another share")
        }
    }

    // MARK: Entries outside the zones

    /// Finds the acceptances and URLs without a share. Call it after all zones.
    mutating func verifyDangling() throws {
        var (acceptances, urls) = (0, 0)
        try reader.store.forEach(in: GlobalKeys.keyspace(.acceptances)) { key, _ in
            if try !released.contains(GlobalKeys.readAcceptanceKey(key).zone) { acceptances += 1 }
            meter.add()
        }
        try reader.store.forEach(in: GlobalKeys.keyspace(.shareURLs)) { key, value in
            let entry = try? ShareURLEntry(decoding: value)
            if entry.map({ !released.contains($0.zoneIdentity) }) ?? true { urls += 1 }
            meter.add()
        }
        if acceptances != acceptanceCount { try verifyAcceptances() }
        if urls != urlCount { try verifyURLs() }
    }

    private mutating func verifyAcceptances() throws {
        meter.expect(try reader.entryCount(in: GlobalKeys.keyspace(.acceptances)))
        try reader.store.forEach(in: GlobalKeys.keyspace(.acceptances)) { key, value in
            meter.add()
            let parts = try GlobalKeys.readAcceptanceKey(key)
            let bytes = [UInt8](copying: key)
            guard !released.contains(parts.zone), !noted.contains(bytes.hashValue) else { return }
            guard let entry = try? AcceptanceEntry(decoding: value) else {
                note(.damaged, key: bytes, "cannot be read")
                return
            }
            let place = SharePlace(
                container: entry.container, owner: entry.owner, zone: entry.zone, zoneIdentity: parts.zone,
                share: parts.share)
            if try content(at: place).map({ $0.accepted[parts.user] == nil }) ?? true {
                note(.dangling, key: bytes, "no share says that it was accepted")
            }
        }
    }

    private mutating func verifyURLs() throws {
        meter.expect(try reader.entryCount(in: GlobalKeys.keyspace(.shareURLs)))
        try reader.store.forEach(in: GlobalKeys.keyspace(.shareURLs)) { key, value in
            meter.add()
            let bytes = [UInt8](copying: key)
            guard !noted.contains(bytes.hashValue) else { return }
            guard let entry = try? ShareURLEntry(decoding: value) else {
                note(.damaged, key: bytes, "cannot be read")
                return
            }
            guard !released.contains(entry.zoneIdentity) else { return }
            let place = SharePlace(entry)
            let entries = try content(at: place).map { ShareEntries.urlEntries(of: $0, at: place) } ?? []
            if !entries.contains(where: { $0.key == bytes }) {
                note(.dangling, key: bytes, "no share has a URL with this secret")
            }
        }
    }

    /// The content of a share; nil if there is no readable one.
    private func content(at place: SharePlace) throws -> ShareContent? {
        try StoreError.unlessDamaged {
            guard let listing = try reader.listing(of: place.zoneID), listing.entry.identity == place.zoneIdentity,
                let zone = try reader.zone(place.zoneID)
            else { return nil }
            return try Self.content(of: place.share, zone)
        }
    }

    /// The content of a zone's share. Throws if the record cannot be read.
    private static func content(of share: RecordName, _ zone: ZoneReader) throws -> ShareContent? {
        guard try zone.store.contains(zone.keys.type(ShareContent.recordType, name: share)),
            let record = try zone.record(share)?.record
        else { return nil }
        return try? ShareContentEntry(of: record).content
    }
}
