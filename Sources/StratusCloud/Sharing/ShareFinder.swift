// Finds the share of a URL, and the caller's relation to it.
//
// A caller who may not know that a share exists must not learn it from the time of the answer either (M-04, X-18). So
// every URL causes the same four reads, none of them from a cache, even if something on the way is missing: the URL's
// entry, the database, the zone, the share's record with its chunks. Only the content is decoded before the caller's
// relation to the share is known; for an outsider nothing else is decoded. If there is no share, a placeholder
// (`NobodysShare`) is decoded, compared and judged, and the result ignored. The remaining difference is that between
// shares of different sizes.

import FoundationEssentials
import StratusLayout
package import StratusModel
import StratusRecords
import StratusStore

/// A share that was found by a URL, and the caller's relation to it.
struct FoundShare {
    let place: SharePlace
    /// Without its fields if the caller may not know of the share.
    let stored: StoredRecord
    let content: ShareContent
    let guest: ShareGuest
    let verdict: JoinVerdict

    /// The share's zone as the caller's address (D-02).
    var zone: ZoneAddress { ResolvedZone(id: place.zoneID, as: guest.user).address }

    /// A refusal for a caller who may know of the share (X-02).
    func refusal(_ error: CloudError, rule: String) -> CloudError {
        error.ofSharing(rule: rule, record: place.share.text, root: content.root?.text, share: place.share.text)
    }
}

/// Looks up URLs in a snapshot or transaction.
struct ShareFinder {
    let accounts: AccountDirectory
    let reader: RecordReader

    /// The share of a URL, for a caller who may know of it: a member, an invited person, anyone if it is public.
    ///
    /// Throws the error for an outsider, which is the same as for an unknown URL if the share allows no requests for
    /// access (M-04, M-05, P-18, X-18); `corruption` if the entry of a URL and its share contradict each other.
    func share(_ url: String, for account: StoredAccount) throws -> FoundShare {
        guard let found = try find(url, for: account) else { throw JoinVerdict.notFound }
        if found.verdict == .outsider { throw try outsiderError(found.content) }
        return found
    }

    /// The share of a URL; nil if there is none.
    func find(_ url: String, for account: StoredAccount) throws -> FoundShare? {
        let token = ShareLink.token(of: url)
        let key = GlobalKeys.shareURL(token.map { ShareEntries.digest(of: $0) } ?? Self.nobodysDigest)
        let entry = try reader.store.withValue(forKey: key) { try ShareURLEntry(decoding: $0) }
        let place = entry.map { SharePlace($0) } ?? Self.nowhere
        let (identity, value) = try recordValue(at: place)
        // A zone with another identity is another zone: the share was deleted with its own.
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

    /// The error for an outsider. Looks up the owners of invited handles only if the caller may know of the share.
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

    /// The identity of the zone that has this name now, and the values under the record's keys.
    private func recordValue(at place: SharePlace) throws -> (identity: UUID?, value: [[UInt8]]) {
        let database = try reader.databaseEntry(place.zoneID.database)?.number ?? Self.noDatabase
        let zone = try reader.store.withValue(forKey: DatabaseKeys(database).zone(place.zone)) {
            try ZoneEntry(decoding: $0)
        }
        let keys = ZoneKeys(database: database, zone: zone?.number ?? Self.noZone)
        let value = try reader.store.collect(keys.recordWithChunks(place.share)) { _, chunk in
            [UInt8](copying: chunk)
        }
        return (zone?.identity, value)
    }

    // Placeholders to read if something is missing. No secret has this digest; no database and no zone has the last
    // number.
    private static let nobodysDigest = [UInt8](repeating: 0, count: 32)
    private static let noDatabase = DatabaseNumber(.max)
    private static let noZone = ZoneNumber(.max)
    private static let nowhere = SharePlace(
        container: ContainerName("iCloud.com.example.nowhere"), owner: UserName("_00000000000000000000000000000000"),
        zone: ZoneName("nowhere"), zoneIdentity: UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)),
        share: RecordName("Share-00000000-0000-0000-0000-000000000000"))

    private static func damaged(_ key: [UInt8]) -> StoreError {
        StoreError(
            .corruption, "The entry of a share's URL and the share do not match. Restore the store from a backup.",
            ["key": KeyDescription.text(of: key)])
    }
}

/// The placeholder for a missing share: a small one, with an owner and two invited people.
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

/// The URLs of shares: a base that the host chooses, and the secret after its last slash. Only the secret matters:
/// host, path, query and fragment may differ, so that links work after a change of the base, and a client may append a
/// title (SH-14).
package enum ShareLink {
    /// The maximum length of a URL in bytes.
    static let maximumByteCount = 4_096

    package static func url(_ base: String, _ token: ShareToken) -> String {
        base.utf8.last == UInt8(ascii: "/") ? base + token.text : base + "/" + token.text
    }

    /// The secret of a URL: its last path component; nil if that is not a secret.
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
