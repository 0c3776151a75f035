// Accepting shares. Whoever the caller is to the share is found and judged in the same transaction that writes them into
// it, so two people cannot both use one one-time URL, and nobody joins who was removed or blocked meanwhile.

import FoundationEssentials
import StratusLayout
package import StratusModel
import StratusRecords
import StratusStore

extension CloudService {
    /// Accepts shares by their URLs for the caller, each in a commit of its own; answered with the share as the caller
    /// sees it then (M-06). Members are answered the same, and nothing is written.
    ///
    /// Throws as `shareMetadata`. Beside the errors of its items one fails with `badContainer` where the share is another
    /// container's (M-01), with `tooManyParticipants` where a public share is full.
    package func acceptShares(
        _ urls: [String], as caller: Caller
    ) throws(CloudError) -> [Result<ClientRecord, CloudError>] {
        try reporting(.acceptShares, caller, itemCount: urls.count) { event in
            try RequestLimits.checkItemCount(urls.count, options)
            try requireSharing(in: caller.container)
            try requireAccount(caller)
            let answers = urls.map { url in
                changingShare(url, as: caller, &event) { try accept($0, in: caller.container, $1, $2) }
            }
            event.count(answers)
            return answers
        }
    }

    /// What tapping a URL does: finds the share in whatever container it is, accepts it for the account, and tells of it
    /// . `device` is the account's device on which it was tapped, where that gets notifications.
    ///
    /// Throws what accepting or telling of one share does.
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

    /// Runs `body` with the share of a URL in a transaction of its own. Outsiders get as far as their error.
    func changingShare<Answer>(
        _ url: String, as caller: Caller, _ event: inout CloudEvent,
        _ body: (FoundShare, ShareDraw, RecordTransaction) throws -> ShareAnswer<Answer>
    ) -> Result<Answer, CloudError> {
        let draw = ShareDraw(
            id: makeParticipantID(), date: environment.clock.now, tagSalt: environment.identifiers.makeSalt(),
            origin: CommitOrigin(caller))
        do {
            let answer = try engine.transact { transaction in
                // Again, because the account may have gone since.
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
                    .badContainer, "The share belongs to another container: accept it there.",
                    ["container": found.place.container.text]), rule: "M-01")
        }
        if found.verdict == .open { try checkReturns(of: found, transaction) }
        let content: ShareContent
        do throws(CloudError) {
            content = try found.verdict.accepted(
                in: found.content, guest: found.guest, id: draw.id, date: draw.date, limit: options.participantCount)
        } catch { throw found.refusal(error, rule: error.code == .tooManyParticipants ? "X-10" : "P-17") }
        let stored = try write(content, in: found, modifiedBy: found.guest.user, draw, transaction)
        return ShareAnswer(
            value: try shownShare(stored, zone: found.zone, viewer: found.guest.user, in: transaction),
            hasWritten: content != found.content)
    }

    /// That somebody who needs no invitation does not come and go without end: each time the zone remembers when they saw
    /// the share, until the purge horizon, for their feeds.
    private func checkReturns(of found: FoundShare, _ transaction: RecordTransaction) throws {
        let zone = try transaction.existingZone(found.place.zoneID)
        var count = 0
        let range = zone.keys.endedAcceptances(of: found.guest.user).keyRange
        try zone.store.scan(range, .forward, limit: options.returnCount) { _, _ in
            count += 1
            return .next
        }
        guard count >= options.returnCount else { return }
        throw found.refusal(
            CloudError(
                .requestRateLimited, inner: CloudError.InnerCode.limit,
                "The person has joined and left too often: join again when the store has forgotten some of it.",
                ["limit": "\(options.returnCount)"], retryAfterSeconds: Self.returnRetrySeconds), rule: "P-05")
    }

    private static let returnRetrySeconds = 24.0 * 3_600

    /// Writes a share's new content, if it is another one.
    func write(
        _ content: ShareContent, in found: FoundShare, modifiedBy user: UserName, _ draw: ShareDraw,
        _ transaction: RecordTransaction
    ) throws -> StoredRecord {
        guard content != found.content else { return found.stored }
        let zone = try transaction.existingZone(found.place.zoneID)
        return try ShareWriter(acceptanceDirectory, to: zone, in: transaction, journal(draw.origin)).write(
            content, replacing: found.content, in: found.stored, stamp: Stamp(date: draw.date, user: user),
            actor: found.guest.user, tagSalt: draw.tagSalt)
    }
}

/// What a change of a share is given from outside, drawn before its transaction.
struct ShareDraw: Sendable {
    let id: ParticipantID
    let date: Date
    let tagSalt: UInt32
    /// Whose device it is that asks.
    let origin: CommitOrigin
}

/// The answer of a transaction, and whether it wrote anything.
struct ShareAnswer<Value> {
    let value: Value
    let hasWritten: Bool
}

// Asking the owners of shares for access. Nobody but owner and administrators may learn of it, so the share's record
// is not saved anew: it keeps its tag, its dates and its place in the feeds, and only holds one requester more.

extension CloudService {
    /// Asks the owners of shares for access (P-20, P-22). That it is answered says no more than that it was asked: to
    /// members, to those who are invited or may join, and to those who have asked or are blocked it says the same.
    ///
    /// Throws as `shareMetadata`. An item fails with `unknownItem` where the share takes no requests, just as if there
    /// were none (P-20), with `limitExceeded` where too many people have asked.
    package func requestShareAccess(
        _ urls: [String], as caller: Caller
    ) throws(CloudError) -> [Result<Void, CloudError>] {
        try reporting(.requestShareAccess, caller, itemCount: urls.count) { event in
            try RequestLimits.checkItemCount(urls.count, options)
            try requireSharing(in: caller.container)
            try requireAccount(caller)
            let answers = urls.map { url in
                changingShare(url, as: caller, &event) { found, draw, transaction in
                    try ask(for: found, draw, transaction)
                }
            }
            event.count(answers)
            return answers
        }
    }

    /// A commit is as long as its flush, so it is made for everybody who may ask, also where it changes nothing: who is
    /// blocked must not learn it from the clock.
    private func ask(
        for found: FoundShare, _ draw: ShareDraw, _ transaction: RecordTransaction
    ) throws -> ShareAnswer<Void> {
        let requesters = try AccessRequestVerdict.requesters(
            of: found.content, found.verdict, askedBy: found.guest, id: draw.id, date: draw.date)
        guard let requesters else { return ShareAnswer(value: (), hasWritten: false) }
        let zone = try transaction.existingZone(found.place.zoneID)
        try ShareWriter(acceptanceDirectory, to: zone, in: transaction).write(
            requesters, of: found.content, in: found.stored, stamp: Stamp(date: draw.date, user: found.guest.user))
        return ShareAnswer(value: (), hasWritten: true)
    }
}
