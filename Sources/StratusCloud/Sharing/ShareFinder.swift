// Finds the share that a URL leads to, and what the caller is to it.
//
// Whoever may not know that a share exists must not learn it from how long the answer takes either (M-04, X-18). So every
// URL takes the same way through the store, and where there is nothing, nothing is looked for all the same: the URL's
// entry, the database, the zone, the share's record with its chunks. Four reads, none of them from a cache. Of the record
// only who takes part is decoded before it is known what the caller is to the share, and for an outsider nothing else is.
// Where there is no share the same is done with nobody's (`NobodysShare`): decoded, compared, judged, and passed over. What
// is left of a difference is that of one share and another, which have more people and more bytes or less.

import FoundationEssentials
import StratusLayout
package import StratusModel
import StratusRecords
import StratusStore

/// A share that was found by a URL, and what the caller is to it.
struct FoundShare {
    let place: SharePlace
    /// Without the fields that anybody may set where the caller may not know of the share.
    let stored: StoredRecord
    let content: ShareContent
    let guest: ShareGuest
    let verdict: JoinVerdict

    /// The share's zone as the caller is told of it (D-02).
    var zone: ZoneAddress {
        place.owner == guest.user
            ? ZoneAddress(zoneName: place.zone.text)
            : ZoneAddress(zoneName: place.zone.text, ownerName: place.owner.text)
    }

    /// A refusal of somebody who may know of the share (X-02).
    func refusal(_ error: CloudError, rule: String) -> CloudError {
        error.ofSharing(rule: rule, record: place.share.text, root: content.root?.text, share: place.share.text)
    }
}

/// Looks URLs up in one snapshot, or in a transaction.
struct ShareFinder {
    let accounts: AccountDirectory
    let reader: RecordReader

    /// The share of a URL, for somebody who may know of it: a member, somebody who is invited, anybody where it is public.
    ///
    /// Throws the error of an outsider, which is that of a URL that leads nowhere where the share takes no requests for
    /// access (M-04, M-05, P-18, X-18); `corruption` where the entry of a URL and its share contradict each other.
    func share(_ url: String, for account: Account) throws -> FoundShare {
        guard let found = try find(url, for: account) else { throw JoinVerdict.notFound }
        if found.verdict == .outsider { throw try outsiderError(found.content) }
        return found
    }

    /// The share of a URL; nil where it leads nowhere.
    func find(_ url: String, for account: Account) throws -> FoundShare? {
        let token = ShareLink.token(of: url)
        let key = GlobalKeys.shareURL(token.map { ShareEntries.digest(of: $0) } ?? Self.nobodysDigest)
        let entry = try reader.store.withValue(forKey: key) { try ShareURLEntry(decoding: $0) }
        let place = entry.map { SharePlace($0) } ?? Self.nowhere
        let (identity, value) = try recordValue(at: place)
        // A zone of another identity is another zone: the share is gone with its own.
        let isThere = token != nil && entry != nil && identity == entry?.zoneIdentity
        let bytes = try isThere && !value.isEmpty ? RecordChunks.join(value) : NobodysShare.bytes
        guard try !RecordCodec.isTombstone(bytes.span) else { throw Self.damaged(key) }
        let probe = try RecordCodec.decode(place.share, bytes.span, fields: .only([ShareContent.fieldKey]))
        guard let content = try probe.record.shareContent() else { throw Self.damaged(key) }
        let isReached = content.isReached(by: token ?? content.token, isThere ? entry?.participant : nil)
        let guest = ShareGuest(account)
        let verdict = JoinVerdict(content, guest: guest, oneTime: isThere ? entry?.participant : nil)
        guard isThere else { return nil }
        guard isReached, !value.isEmpty else { throw Self.damaged(key) }
        let isSecret = verdict == .outsider && !content.allowsAccessRequests
        return FoundShare(
            place: place, stored: isSecret ? probe : try RecordCodec.decode(place.share, bytes.span), content: content,
            guest: guest, verdict: verdict)
    }

    /// The answer to an outsider. Whose addresses the others are is looked up only where the share may be known.
    func outsiderError(_ content: ShareContent) throws -> CloudError {
        guard content.allowsAccessRequests else { return JoinVerdict.notFound }
        let hasUnclaimedHandle = try content.participants.contains { participant in
            guard participant.status == .pending, case .handle(let handle)? = participant.invitation else {
                return false
            }
            return try accounts.account(handle: handle, in: reader) == nil
        }
        return JoinVerdict.outsiderError(content, hasUnclaimedHandle: hasUnclaimedHandle)
    }

    /// The identity of the zone that has this name now, and what lies under the record's keys.
    private func recordValue(at place: SharePlace) throws -> (identity: UUID?, value: [[UInt8]]) {
        let database = try reader.databaseEntry(place.zoneID.database)?.number ?? Self.noDatabase
        let zone = try reader.store.withValue(forKey: DatabaseKeys(database).zone(place.zone)) {
            try ZoneEntry(decoding: $0)
        }
        let keys = ZoneKeys(database: database, zone: zone?.number ?? Self.noZone)
        var value: [[UInt8]] = []
        try reader.store.scan(keys.recordWithChunks(place.share).keyRange) { _, chunk in
            value.append([UInt8](copying: chunk))
            return .next
        }
        return (zone?.identity, value)
    }

    // What is looked for in place of what is not there. No secret has this digest; no database and no zone has the last
    // number.
    private static let nobodysDigest = [UInt8](repeating: 0, count: 32)
    private static let noDatabase = DatabaseNumber(.max)
    private static let noZone = ZoneNumber(.max)
    private static let nowhere = SharePlace(
        container: ContainerName("iCloud.com.example.nowhere"), owner: UserName("_00000000000000000000000000000000"),
        zone: ZoneName("nowhere"), zoneIdentity: UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)),
        share: RecordName("Share-00000000-0000-0000-0000-000000000000"))

    private static func damaged(_ key: [UInt8]) -> RecordsError {
        RecordsError(
            .corruption, "A share's URL leads to what is no share of it: verify the store, then restore a backup.",
            ["key": "\(KeyDescription(key))"])
    }
}

/// What is decoded and judged in place of a share that is not there: a small one, in which nobody takes part but an owner
/// and two who are invited.
private enum NobodysShare {
    static let bytes: [UInt8] = {
        let stamp = Stamp(date: Date(timeIntervalSinceReferenceDate: 0), user: UserName("_nobody"))
        let people = [ParticipantRole.owner, .privateUser, .privateUser].enumerated().map { number, role in
            ShareParticipant(
                id: ParticipantID("participant-\(number)"), role: role, permission: .readWrite,
                status: role == .owner ? .accepted : .pending, invitation: role == .owner ? nil : .userRecord,
                user: UserName("_nobody-\(number)"), added: stamp.date)
        }
        guard let token = ShareToken(bytes: [UInt8](repeating: 0, count: ShareToken.byteCount)) else { return [] }
        let content = ShareContent(root: RecordName("nothing"), token: token, participants: people)
        let record = Record(name: RecordName("nothing"), type: ShareContent.recordType).with(content)
        let system = SystemFields(changeSequence: 1, tagSalt: 0, created: stamp, modified: stamp)
        return (try? RecordCodec.encoded(StoredRecord(record: record, system: system))) ?? []
    }()
}

extension SharePlace {
    init(_ entry: ShareURLEntry) {
        self.init(
            container: entry.container, owner: entry.owner, zone: entry.zone, zoneIdentity: entry.zoneIdentity,
            share: entry.share)
    }
}

extension ShareContent {
    /// Whether the secret is the share's, or that of this participant's one-time URL.
    fileprivate func isReached(by token: ShareToken, _ participant: ParticipantID?) -> Bool {
        guard let participant else { return self.token.isSame(as: token) }
        guard case .oneTime(let own)? = participants.first(where: { $0.id == participant })?.invitation else {
            return false
        }
        return own.isSame(as: token)
    }
}

// The URLs of shares: a base that the host chooses, and behind its last slash the secret.
//
// Only the secret means anything. Host, path, query and fragment may be what they like, so that links outlive a change
// of the base, and a client may hang a title on them (SH-14).

/// Makes and reads the URLs of shares.
package enum ShareLink {
    /// The longest text that is looked at, in bytes.
    static let maximumByteCount = 4_096

    package static func url(_ base: String, _ token: ShareToken) -> String {
        base.utf8.last == UInt8(ascii: "/") ? base + token.text : base + "/" + token.text
    }

    /// The secret of a URL: its last path component. Nil where that is none.
    package static func token(of url: String) -> ShareToken? {
        guard url.utf8.count <= maximumByteCount else { return nil }
        let path = url.utf8.prefix { $0 != UInt8(ascii: "#") && $0 != UInt8(ascii: "?") }
        let slash = UInt8(ascii: "/")
        guard let end = path.lastIndex(where: { $0 != slash }) else { return nil }
        let trimmed = path[...end]
        let start = trimmed.lastIndex(of: slash).map { trimmed.index(after: $0) } ?? trimmed.startIndex
        return ShareToken(text: String(decoding: trimmed[start...], as: UTF8.self))
    }
}
