// Which subscriptions a commit may concern, without reading them from the store each time.
//
// It caches what recent commits needed: whether a container has subscriptions at all; a person's subscriptions to their
// private database, and whether they have any to their shared one; whether a zone has shares. A cache miss costs one
// seek. So the cost of a commit does not depend on the number of other subscribers.
//
// Everyone may write to the public database, and the keys of subscriptions do not say which records they concern. So
// the first commit there reads all subscriptions of the container; those to the public database stay in memory.
//
// The cache is exact, like `PublishedCache`: an answer has the version since which it is valid, is removed when a
// change of it is published, and is neither used nor kept while a change of its range is in flight. A failed change has
// no effect. Where other processes write to the store nothing is kept: every commit reads what it needs.

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusRecords
package import StratusStore

/// Finds the subscriptions that a commit may concern.
package final class SubscriptionDirectory: Sendable {
    /// A question that one seek answers.
    private enum Question: Hashable, Sendable {
        case isSubscribed(ContainerName)
        case person(ContainerName, UserName)
        /// By the zone's identity and incarnation: a rebuild, which may find shares, gives it a new one.
        case isShared(UUID, UUID)
    }

    private enum Answer: Sendable {
        case flag(Bool)
        case person(PersonalSubscriptions)
    }

    /// An answer read from a range of the store.
    private struct Reading: Sendable {
        let answer: Answer
        let range: KeyRange
        /// The version since which it is valid.
        let validSince: StoreVersion
    }

    private struct State {
        /// Limited by their bytes.
        var answers: RecentEntries<Question, Reading>
        var publics: [ContainerName: PublicSubscriptions] = [:]
        var lastPublished: StoreVersion = 0
    }

    /// The size of a kept answer without its own bytes.
    private static let answerByteCount = 320

    private let state: Locked<State>
    private let keepsAnswers: Bool

    /// Keeps `byteCount` bytes, not counting subscriptions to the public database.
    package init(byteCount: Int, role: CacheRole = .answers) {
        keepsAnswers = role == .answers
        state = Locked(State(answers: RecentEntries(room: keepsAnswers ? byteCount : 0)))
    }

    /// The number of kept answers.
    package var keptCount: Int { state.withLock { $0.answers.count } }

    // MARK: Look-ups

    /// The subscriptions that changes in a zone may concern; nil if there are none.
    func interest(in zone: ZoneID, _ transaction: RecordTransaction) throws -> ZoneInterest? {
        let container = zone.database.container
        guard let owner = zone.database.owner, zone.database.scope == .private else {
            let queries = try publicQueries(in: container, transaction)
            return queries.isEmpty ? nil : ZoneInterest(queries: queries)
        }
        let isSubscribed = try flag(
            .isSubscribed(container), transaction, GlobalKeys.subscriptions(in: container))
        guard isSubscribed else { return nil }
        let interest = try person(owner, in: container, transaction).interest(in: zone.name)
        return interest.isEmpty ? nil : interest
    }

    /// Whether a person has subscribed to their shared database.
    func listensToShared(_ user: UserName, in container: ContainerName, _ transaction: RecordTransaction) throws -> Bool
    {
        try person(user, in: container, transaction).listensToShared
    }

    /// Whether a zone has shares. `header` is the zone's.
    func isShared(_ zone: ZoneReader, _ header: ZoneHeader, _ transaction: RecordTransaction) throws -> Bool {
        let question = Question.isShared(header.identity, header.incarnation)
        return try flag(question, transaction, zone.keys.types(of: ShareContent.recordType))
    }

    private func person(
        _ user: UserName, in container: ContainerName, _ transaction: RecordTransaction
    ) throws -> PersonalSubscriptions {
        let answer = try answer(
            to: .person(container, user), transaction,
            GlobalKeys.subscriptions(
                of: user, in: container, from: DatabaseSelector.private.rawValue,
                through: DatabaseSelector.shared.rawValue)
        ) { range in
            let subscriptions = try PersonalSubscriptions(range, transaction)
            return (.person(subscriptions), subscriptions.byteCount + user.text.utf8.count)
        }
        guard case .person(let subscriptions) = answer else { return PersonalSubscriptions() }
        return subscriptions
    }

    /// Whether a range has an entry.
    private func flag(
        _ question: Question, _ transaction: RecordTransaction, _ range: @autoclosure () -> KeyRange
    ) throws -> Bool {
        let answer = try answer(to: question, transaction, range()) { range in
            (.flag(try transaction.store.hasEntries(in: range)), 0)
        }
        guard case .flag(let isThere) = answer else { return true }
        return isThere
    }

    /// A container that had subscriptions counts as having some: at worst that costs a seek.
    private static func isLasting(_ answer: Answer, _ question: Question) -> Bool {
        if case (.isSubscribed, .flag(true)) = (question, answer) { true } else { false }
    }

    private func answer(
        to question: Question, _ transaction: RecordTransaction, _ range: @autoclosure () -> KeyRange,
        _ read: (KeyRange) throws -> (Answer, byteCount: Int)
    ) throws -> Answer {
        let version = transaction.store.version
        let known = state.withLock { $0.answers.find(question) }
        if let known, known.validSince <= version,
            Self.isLasting(known.answer, question) || !transaction.hasUnpublishedWrite(in: known.range)
        {
            return known.answer
        }
        let range = known?.range ?? range()
        let isUnchanged = !transaction.hasUnpublishedWrite(in: range)
        let (answer, byteCount) = try read(range)
        guard isUnchanged, keepsAnswers else { return answer }
        state.withLock { state in
            guard state.lastPublished <= version else { return }
            state.answers.insert(
                question, Reading(answer: answer, range: range, validSince: version),
                size: Self.answerByteCount + range.lower.count + range.upper.count + byteCount)
        }
        return answer
    }

    /// The kept queries may lack a subscription in flight, which concerns only commits that start after it was
    /// answered. A reading is kept with the changes in flight, because transaction bodies run one after another: these
    /// are published, and noted, later.
    private func publicQueries(
        in container: ContainerName, _ transaction: RecordTransaction
    ) throws -> PublicSubscriptions.Queries {
        if let known = state.withLock({ $0.publics[container] }) { return known.queries }
        let found = try PublicSubscriptions(GlobalKeys.subscriptions(in: container), transaction)
        if keepsAnswers { state.withLock { $0.publics[container] = found } }
        return found.queries
    }

    // MARK: Changes

    /// Applies changes to the cache when the transaction becomes visible.
    func note(_ changes: [(parts: SubscriptionKeyParts, new: KnownSubscription?)], in transaction: RecordTransaction) {
        guard !changes.isEmpty else { return }
        transaction.onPublish { [self] version in
            state.withLock { state in
                state.lastPublished = max(state.lastPublished, version)
                for (parts, new) in changes {
                    state.answers.remove(.person(parts.container, parts.user))
                    let isSubscribed = Question.isSubscribed(parts.container)
                    if new != nil, case .flag(false)? = state.answers.find(isSubscribed)?.answer {
                        state.answers.remove(isSubscribed)
                    }
                    state.publics[parts.container]?.set(parts, to: new)
                }
            }
        }
    }

    /// Forgets whether a zone has shares when a transaction that changes its shares becomes visible.
    func noteShares(of plan: MutationPlan, in transaction: RecordTransaction) {
        guard plan.changesShares else { return }
        let question = Question.isShared(plan.header.identity, plan.header.incarnation)
        transaction.onPublish { [self] version in
            state.withLock { state in
                state.lastPublished = max(state.lastPublished, version)
                state.answers.remove(question)
            }
        }
    }
}

/// Converts subscriptions between the client's form and the stored one.
enum SubscriptionCoding {
    /// The stored form of a subscription. Its zones are the caller's own.
    static func entry(of subscription: ClientSubscription) -> SubscriptionEntry {
        let subject: SubscriptionEntry.Subject
        switch subscription.subject {
        case .query(let query, let zone, let triggers, let archive):
            var writer = CursorWriter()
            writer.append(query)
            subject = .query(
                SubscribedQuery(
                    recordType: RecordType(query.recordType), query: writer.bytes,
                    matchesNothing: query.matchesNothing, zone: zone.map { ZoneName($0.zoneName) },
                    triggers: UInt8(truncatingIfNeeded: triggers.rawValue), predicateArchive: archive))
        case .zone(let zone, let type):
            subject = .zone(ZoneName(zone.zoneName), recordType: type.map { RecordType($0) })
        case .database(let type): subject = .database(recordType: type.map { RecordType($0) })
        }
        return SubscriptionEntry(subject: subject, template: subscription.template)
    }

    /// A stored subscription in its owner's form.
    ///
    /// Throws `corruption` if its query cannot be read.
    static func subscription(_ entry: SubscriptionEntry, _ parts: SubscriptionKeyParts) throws -> ClientSubscription {
        let subject: SubscriptionSubject
        switch entry.subject {
        case .query(let stored):
            subject = .query(
                try query(stored, parts), zone: stored.zone.map { ZoneAddress(zoneName: $0.text) },
                triggers: SubscriptionTriggers(rawValue: UInt(stored.triggers)),
                predicateArchive: stored.predicateArchive)
        case .zone(let zone, let type):
            subject = .zone(ZoneAddress(zoneName: zone.text), recordType: type?.text)
        case .database(let type): subject = .database(recordType: type?.text)
        }
        return ClientSubscription(id: parts.id, subject: subject, template: entry.template)
    }

    static func query(_ stored: SubscribedQuery, _ parts: SubscriptionKeyParts) throws -> ClientQuery {
        do {
            var reader = CursorReader(stored.query)
            var query = try reader.readQuery()
            try reader.expectEnd()
            query.matchesNothing = stored.matchesNothing
            return query
        } catch {
            throw StoreError(
                .corruption, "The query of a subscription cannot be read. Restore the store from a backup.",
                ["key": KeyDescription.text(of: GlobalKeys.subscription(parts))])
        }
    }
}

extension SubscriptionEntry.Subject {
    /// Whether both fire for the same changes. Ignores the client's archive of the predicate, which repeats the query.
    func isEqual(to other: SubscriptionEntry.Subject) -> Bool {
        guard case .query(var own) = self, case .query(let theirs) = other else { return self == other }
        own.predicateArchive = theirs.predicateArchive
        return own == theirs
    }
}

extension RecordReader {
    /// The containers with subscriptions, in the byte order of their names: one seek each.
    func subscribedContainers() throws -> [ContainerName] {
        var containers: [ContainerName] = []
        var range = GlobalKeys.keyspace(.subscriptions)
        while let next = try store.first(in: range, { key, _ in try GlobalKeys.readSubscriptionKey(key).container }) {
            containers.append(next)
            range.lower = GlobalKeys.subscriptions(in: next).upper
        }
        return containers
    }

    /// A person's subscriptions to one of their databases, in the byte order of the identifiers.
    func subscriptions(
        of user: UserName, in container: ContainerName, _ database: DatabaseSelector
    ) throws -> [(parts: SubscriptionKeyParts, entry: SubscriptionEntry)] {
        let range = GlobalKeys.subscriptions(of: user, in: container, database: database.rawValue)
        return try store.collect(range) { key, value in
            (try GlobalKeys.readSubscriptionKey(key), try SubscriptionEntry(decoding: value))
        }
    }

    func subscription(_ parts: SubscriptionKeyParts) throws -> SubscriptionEntry? {
        try store.withValue(forKey: GlobalKeys.subscription(parts)) { try SubscriptionEntry(decoding: $0) }
    }
}

extension MutationPlan {
    var savesShare: Bool { saved.contains { $0.record.type == ShareContent.recordType } }
    var changesShares: Bool { savesShare || deleted.contains { $0.type == ShareContent.recordType } }
}
