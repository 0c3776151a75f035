// Accepts shares, and asks the owners of shares for access. One transaction finds the share, judges what the caller is
// to it, and writes it. So two people cannot both use a one-time URL, and a person who was removed or blocked meanwhile
// cannot join.

import FoundationEssentials
import StratusLayout
package import StratusModel
import StratusRecords
import StratusStore

extension CloudService {
    /// Accepts shares by their URLs for the caller, each in its own commit. Returns the shares as the caller then sees
    /// them (M-06). For members nothing is written.
    ///
    /// Throws like `shareMetadata`. In addition to the errors of its items, an item fails with `badContainer` if the
    /// share belongs to another container (M-01), with `tooManyParticipants` if a public share is full.
    package func acceptShares(
        _ urls: [String], as caller: Caller
    ) throws(CloudError) -> [Result<ClientRecord, CloudError>] {
        try reportingShares(.acceptShares, caller, urls) { event in
            urls.map { url in
                changingShare(url, as: caller, &event) { try accept($0, in: caller.container, $1, $2) }
            }
        }
    }

    /// Opens a URL as a tap does: finds the share in any container, accepts it for the account, and returns its
    /// metadata. `device` is the account's device on which it was tapped, if it gets notifications.
    ///
    /// Throws the errors of `acceptShares` and `shareMetadata` for one share.
    package func openShare(
        _ url: String, as account: AccountID, device: String? = nil
    ) throws(CloudError) -> ClientShareMetadata {
        let container = try reading { reader in
            let nobody = Caller(container: ContainerName(""), account: account)
            let guest = try accountDirectory.requireAccount(of: nobody, in: reader)
            return try ShareFinder(accounts: accountDirectory, reader: reader).share(url, for: guest).place.container
        }
        let caller = Caller(container: container, account: account, device: device)
        let accepted = try acceptShares([url], as: caller)
        for result in accepted { _ = try result.get() }
        let request = ShareMetadataRequest(urls: [url], wantsRootRecord: true)
        guard let metadata = try shareMetadata(request, as: caller).first else { throw JoinVerdict.notFound }
        return try metadata.get()
    }

    /// Runs `body` with the share of a URL in its own transaction, also for outsiders.
    func changingShare<Answer>(
        _ url: String, as caller: Caller, _ event: inout CloudEvent,
        _ body: (FoundShare, ShareDraw, RecordTransaction) throws -> ShareAnswer<Answer>
    ) -> Result<Answer, CloudError> {
        let draw = ShareDraw(
            id: makeParticipantID(), date: environment.clock.now, tagSalt: environment.identifiers.makeSalt(),
            caller: caller)
        do {
            let answer = try engine.transact { transaction in
                // Again, because the account may have been deleted since.
                let account = try accountDirectory.requireAccount(of: caller, in: transaction)
                let finder = ShareFinder(accounts: accountDirectory, reader: transaction)
                guard let found = try finder.find(url, for: account) else { throw JoinVerdict.notFound }
                return try body(found, draw, transaction)
            }
            if answer.hasWritten { event.commitCount += 1 }
            return .success(answer.value)
        } catch { return .failure(CloudError(answering: error)) }
    }

    private func accept(
        _ found: FoundShare, in container: ContainerName, _ draw: ShareDraw, _ transaction: RecordTransaction
    ) throws -> ShareAnswer<ClientRecord> {
        if found.verdict == .outsider {
            throw try ShareFinder(accounts: accountDirectory, reader: transaction).outsiderError(found.content)
        }
        guard found.place.container == container else {
            throw found.refusal(
                CloudError(
                    .badContainer, "The share belongs to another container. Accept it there.",
                    ["container": found.place.container.text]), rule: "M-01")
        }
        if found.verdict == .open { try checkReturns(of: found, transaction) }
        let content: ShareContent
        do throws(CloudError) {
            content = try found.verdict.accepted(
                in: found.content, guest: found.guest, id: draw.id, date: draw.date, limit: options.participantCount)
        } catch { throw found.refusal(error, rule: error.code == .tooManyParticipants ? "X-10" : "P-17") }
        var stored = found.stored
        if content != found.content {
            let zone = try transaction.existingZone(found.place.zoneID)
            stored = try ShareWriter(acceptances: acceptanceDirectory, zone: zone, transaction: transaction).write(
                content, replacing: found.content, in: stored, stamp: Stamp(date: draw.date, user: found.guest.user),
                tagSalt: draw.tagSalt, journal(draw.caller))
        }
        var share = ClientRecord(stored, zone: found.zone, viewer: found.guest.user)
        share.sharing = try sharing(of: stored, zone: found.zone, viewer: found.guest.user, in: transaction)
        return (share, content != found.content)
    }

    /// Throws if a person without an invitation has joined and left too often. Each time adds an entry to the zone,
    /// which stays until the purge horizon, for their feeds.
    private func checkReturns(of found: FoundShare, _ transaction: RecordTransaction) throws {
        let zone = try transaction.existingZone(found.place.zoneID)
        let range = zone.keys.endedAcceptances(of: found.guest.user)
        let count = try zone.store.keys(in: range, limit: options.returnCount).count
        guard count >= options.returnCount else { return }
        throw found.refusal(
            CloudError(
                .requestRateLimited, inner: CloudError.InnerCode.limit,
                "The person has joined and left the share too often. Join again later.",
                ["limit": "\(options.returnCount)"], retryAfterSeconds: Self.returnRetrySeconds), rule: "P-05")
    }

    private static let returnRetrySeconds = 24.0 * 3_600
}

/// The caller of a change of a share, and its identifiers and date, drawn before its transaction.
struct ShareDraw: Sendable {
    let id: ParticipantID
    let date: Date
    let tagSalt: UInt32
    let caller: Caller
}

/// The answer of a transaction, and whether it wrote anything.
typealias ShareAnswer<Value> = (value: Value, hasWritten: Bool)

// MARK: Requests for access

extension CloudService {
    /// Asks the owners of shares for access (P-20, P-22). The answer only confirms the request: it is the same for
    /// members, for people who are invited or may join, and for people who have asked or are blocked.
    ///
    /// Only owner and administrators may learn of a request. So the share's record keeps its tag, its dates and
    /// its place in the feeds, and only gets one more requester.
    ///
    /// Throws like `shareMetadata`. An item fails with `unknownItem` if the share accepts no requests, as for a missing
    /// share (P-20), with `limitExceeded` if too many people have asked.
    package func requestShareAccess(
        _ urls: [String], as caller: Caller
    ) throws(CloudError) -> [Result<Done, CloudError>] {
        try reportingShares(.requestShareAccess, caller, urls) { event in
            urls.map { url in changingShare(url, as: caller, &event) { try ask(for: $0, $1, $2) } }
        }
    }

    /// Commits for everyone who may ask, even if it changes nothing: the time of a commit must not reveal to a person
    /// that they are blocked.
    private func ask(
        for found: FoundShare, _ draw: ShareDraw, _ transaction: RecordTransaction
    ) throws -> ShareAnswer<Done> {
        let requesters = try AccessRequestVerdict.requesters(
            of: found.content, found.verdict, askedBy: found.guest, id: draw.id, date: draw.date)
        guard let requesters else { return (Done(), false) }
        let zone = try transaction.existingZone(found.place.zoneID)
        try ShareWriter(acceptances: acceptanceDirectory, zone: zone, transaction: transaction).write(
            requesters, of: found.content, in: found.stored, stamp: Stamp(date: draw.date, user: found.guest.user))
        return (Done(), true)
    }
}
