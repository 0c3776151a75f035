// One verification of all shares, which holds no more in memory than one zone's: every share is asked what must exist
// because of it, and each of that is looked up. What is found is counted, and where more lies there than was found, each
// entry is asked for its share, which is slow, and seldom necessary.

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

struct ShareCheck {
    private let reader: RecordReader
    private let meter: WorkMeter
    /// Deleted zones that have not let go of their shares yet.
    private let released: Set<UUID>
    private(set) var findings: [ShareFinding] = []
    /// The keys that exist because of a share which can be read.
    private var acceptanceCount = 0
    private var urlCount = 0
    /// Keys of which something was found already.
    private var noted: Set<[UInt8]> = []

    /// What a share says of one acceptance, and its zone of when it can have begun.
    private struct ExpectedAcceptance {
        var part: AcceptedPart
        var place: SharePlace
        /// The last change of the zone with which the person ceased to see the share.
        var lastEnded: UInt64
        /// The last change of the zone.
        var sequence: UInt64
    }

    init(_ reader: RecordReader, _ meter: WorkMeter) throws {
        (self.reader, self.meter) = (reader, meter)
        released = Set(try reader.releases().map(\.identity))
    }

    private mutating func note(_ kind: ShareFinding.Kind, _ place: String, _ detail: String) {
        findings.append(ShareFinding(kind: kind, place: place, detail: detail))
    }

    private mutating func note(_ kind: ShareFinding.Kind, _ place: SharePlace, _ detail: String) {
        note(kind, Self.text(of: place), detail)
    }

    private mutating func note(_ kind: ShareFinding.Kind, key: [UInt8], _ detail: String) {
        noted.insert(key)
        note(kind, "\(KeyDescription(key))", detail)
    }

    private static func text(of place: SharePlace) -> String {
        "share \(ReadableText.quoted(place.share.text)) in zone \(ReadableText.quoted(place.zone.text)) of \(place.owner)"
    }

    // MARK: A zone

    /// Verifies the shares of a zone. What cannot be read is a finding, and the others are verified all the same.
    mutating func verify(_ zone: ZoneReader, identity: UUID) throws {
        do {
            let shares = try readShares(zone, identity: identity)
            try verifyMarks(zone, shares)
            try verifyTokens(zone, shares)
            guard !shares.isEmpty else { return }
            try expectEntries(zone, shares)
        } catch let error as LayoutError where error.isCorruption {
            note(.damaged, "zone \(ReadableText.quoted(zone.id.name.text))", "cannot be verified to its end: \(error)")
        } catch let error as RecordsError where error.code == .corruption {
            note(.damaged, "zone \(ReadableText.quoted(zone.id.name.text))", "cannot be verified to its end: \(error)")
        }
    }

    /// The shares of a zone that can be read.
    private mutating func readShares(_ zone: ZoneReader, identity: UUID) throws -> [SharePlace: ShareContent] {
        var names: [RecordName] = []
        try zone.store.scan(zone.keys.types(of: ShareContent.recordType).keyRange) { key, _ in
            names.append(try zone.keys.readTypeKey(key).name)
            return .next
        }
        var shares: [SharePlace: ShareContent] = [:]
        for name in names {
            meter.add()
            guard let record = try zone.record(name)?.record else { continue }
            guard let place = SharePlace(zone.id, identity: identity, share: name),
                place.zone.text != ZoneAddress.defaultZoneName
            else {
                let zoneText = ReadableText.quoted(zone.id.name.text)
                note(
                    .misplaced, "share \(ReadableText.quoted(name.text)) in zone \(zoneText)", "nothing is shared there"
                )
                continue
            }
            do {
                let content = try ShareContentEntry(of: record).content
                for problem in ShareInvariants.problems(of: content, at: place) { note(.invalid, place, problem) }
                shares[place] = content
            } catch let error as LayoutError where error.isCorruption {
                note(.damaged, place, "cannot be read: \(error)")
            } catch let error as RecordsError where error.code == .corruption {
                note(.damaged, place, "cannot be read: \(error)")
            }
        }
        if shares.count > 1, let whole = shares.first(where: { $0.value.root == nil }) {
            note(.invalid, whole.key, "the whole zone is shared, and something in it besides (SH-09)")
        }
        return shares
    }

    /// Every root carries the mark of its share, and every mark is a share's (SH-03, SH-10).
    private mutating func verifyMarks(_ zone: ZoneReader, _ shares: [SharePlace: ShareContent]) throws {
        var roots: [RecordName: RecordName] = [:]
        for (place, content) in shares {
            guard let root = content.root else { continue }
            roots[place.share] = root
            guard let record = try zone.record(root, fields: .none)?.record else {
                note(.wrongRoot, place, "the root \(ReadableText.quoted(root.text)) is not there")
                continue
            }
            guard record.share != place.share else { continue }
            let mark = record.share.map { "has the mark of the share \(ReadableText.quoted($0.text))" } ?? "has no mark"
            note(.wrongRoot, place, "the root \(ReadableText.quoted(root.text)) \(mark)")
        }
        try zone.store.scan(zone.keys.shareRoots.keyRange) { key, value in
            let root = try zone.keys.readShareRootKey(key)
            let share = try ShareRootEntry(decoding: value).share
            if roots[share] != root {
                note(.wrongRoot, KeyDescription.text(of: key), "no share that can be read has this root")
            }
            return .next
        }
    }

    /// A share has its root's secret, and every secret is that of a record or of the whole zone.
    private mutating func verifyTokens(_ zone: ZoneReader, _ shares: [SharePlace: ShareContent]) throws {
        for (place, content) in shares {
            let key = zone.keys.shareToken(content.root)
            let value = try zone.store.value(forKey: key)
            let entry = value.flatMap { try? ShareTokenEntry(decoding: $0.span) }
            if value != nil, entry == nil {
                note(.damaged, key: key, "the secret of a URL cannot be read")
            } else if entry?.token != content.token {
                note(.wrongToken, place, "the secret of its URL is not the one kept for its root")
            }
        }
        try zone.store.scan(zone.keys.shareTokens.keyRange) { key, _ in
            guard let root = try zone.keys.readShareTokenKey(key), try zone.node(root) == nil else { return .next }
            note(.wrongToken, KeyDescription.text(of: key), "the secret of a record that is not there")
            return .next
        }
    }

    private mutating func expectEntries(_ zone: ZoneReader, _ shares: [SharePlace: ShareContent]) throws {
        let header = try zone.header()
        var lastEnded: [[UInt8]: UInt64] = [:]
        let identity = header.identity
        try zone.store.scan(zone.keys.endedAcceptances.keyRange) { key, _ in
            let parts = try zone.keys.readEndedAcceptanceKey(key)
            guard parts.ended > header.horizon else { return .next }
            lastEnded[GlobalKeys.acceptance(user: parts.user, zone: identity, share: parts.share)] = parts.ended
            return .next
        }
        for (place, content) in shares {
            for (user, part) in content.accepted {
                if try !isKnown(user) { note(.stranger, place, "\(user) has accepted and has no account") }
                let key = place.acceptanceKey(of: user)
                try verify(
                    acceptance: key,
                    ExpectedAcceptance(
                        part: part, place: place, lastEnded: lastEnded[key] ?? 0, sequence: header.sequence))
            }
            for entry in ShareEntries.urlEntries(of: content, at: place) { try verify(url: entry) }
            meter.add()
        }
    }

    /// Whether somebody has an account, or is being deleted.
    private func isKnown(_ user: UserName) throws -> Bool {
        try reader.store.contains(GlobalKeys.identity(.userRecord, user.text))
            || reader.store.contains(GlobalKeys.departure(of: user))
    }

    private mutating func verify(acceptance key: [UInt8], _ expected: ExpectedAcceptance) throws {
        guard let value = try reader.store.value(forKey: key) else {
            note(.missing, key: key, "a share says that it was accepted")
            return
        }
        acceptanceCount += 1
        guard let entry = try? AcceptanceEntry(decoding: value.span) else {
            note(.damaged, key: key, "cannot be read")
            return
        }
        let place = expected.place
        let found = AcceptedPart(role: entry.role, permission: entry.permission, participant: entry.participant)
        if found != expected.part { note(.wrong, key: key, "the share says something else of the participant") }
        if entry.container != place.container || entry.owner != place.owner || entry.zone != place.zone {
            note(.wrong, key: key, "the share lies in another zone")
        }
        if entry.since == 0 || entry.since > expected.sequence || entry.since < expected.lastEnded {
            note(.wrong, key: key, "it began at \(entry.since), ahead of the zone or before the last one ended")
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

    // MARK: What lies outside the zones

    /// Finds the acceptances and URLs that exist because of no share. After all zones.
    mutating func verifyDangling() throws {
        var (acceptances, urls) = (0, 0)
        try reader.store.scan(GlobalKeys.acceptances.keyRange) { key, _ in
            if try !released.contains(GlobalKeys.readAcceptanceKey(key).zone) { acceptances += 1 }
            meter.add()
            return .next
        }
        try reader.store.scan(GlobalKeys.shareURLs.keyRange) { key, value in
            let entry = try? ShareURLEntry(decoding: value)
            if entry.map({ !released.contains($0.zoneIdentity) }) ?? true { urls += 1 }
            meter.add()
            return .next
        }
        if acceptances != acceptanceCount { try verifyAcceptances() }
        if urls != urlCount { try verifyURLs() }
    }

    private mutating func verifyAcceptances() throws {
        meter.expect(try reader.entryCount(in: GlobalKeys.acceptances))
        try reader.store.scan(GlobalKeys.acceptances.keyRange) { key, value in
            meter.add()
            let parts = try GlobalKeys.readAcceptanceKey(key)
            let bytes = [UInt8](copying: key)
            guard !released.contains(parts.zone), !noted.contains(bytes) else { return .next }
            guard let entry = try? AcceptanceEntry(decoding: value) else {
                note(.damaged, key: bytes, "cannot be read")
                return .next
            }
            let place = SharePlace(
                container: entry.container, owner: entry.owner, zone: entry.zone, zoneIdentity: parts.zone,
                share: parts.share)
            if content(at: place).map({ $0.accepted[parts.user] == nil }) ?? true {
                note(.dangling, key: bytes, "no share says that it was accepted")
            }
            return .next
        }
    }

    private mutating func verifyURLs() throws {
        meter.expect(try reader.entryCount(in: GlobalKeys.shareURLs))
        try reader.store.scan(GlobalKeys.shareURLs.keyRange) { key, value in
            meter.add()
            let bytes = [UInt8](copying: key)
            guard !noted.contains(bytes) else { return .next }
            guard let entry = try? ShareURLEntry(decoding: value) else {
                note(.damaged, key: bytes, "cannot be read")
                return .next
            }
            guard !released.contains(entry.zoneIdentity) else { return .next }
            let place = SharePlace(entry)
            let entries = content(at: place).map { ShareEntries.urlEntries(of: $0, at: place) } ?? []
            if !entries.contains(where: { $0.key == bytes }) {
                note(.dangling, key: bytes, "no share has a URL with this secret")
            }
            return .next
        }
    }

    /// What a share holds; nil where there is none that can be read.
    private func content(at place: SharePlace) -> ShareContent? {
        guard let listing = try? reader.listing(of: place.zoneID), listing.entry.identity == place.zoneIdentity,
            let record = try? reader.zone(place.zoneID)?.record(place.share)?.record
        else { return nil }
        return try? ShareContentEntry(of: record).content
    }
}
