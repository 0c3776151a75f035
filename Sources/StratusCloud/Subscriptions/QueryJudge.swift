// Which query subscriptions fire for what a commit has done: (subscription, record before, record after) → why, or nothing
// (N-04).
//
//   begins to match                       created
//   matched, and matches still            updated
//   matched, and is gone or does not      deleted
//
// In the public database only what the subscriber may read fires, by the grants of the record's type (S-18).

import StratusLayout
import StratusModel
import StratusRecords

struct QueryJudge {
    /// Characters of a text that a notification carries (L-17).
    static let textCount = 100

    let zone: ZoneID
    let container: ContainerName
    let schemas: SchemaKeeper
    let mode: SchemaMode
    let metresPerUnit: Double
    let learnt: [RecordType: RecordTypeSchema]
    let reader: RecordReader

    /// What fires, in the order of users and subscriptions.
    func matches(
        _ records: [RecordType: [RecordChangePair]], _ queries: PublicSubscriptions.Queries
    ) throws -> [QueryMatch] {
        var matches: [QueryMatch] = []
        for (type, pairs) in records {
            guard let subscribers = queries[type],
                let schema = try learnt[type] ?? schemas.schema(of: type, container: container, in: reader)
            else { continue }
            for (parts, known) in subscribers where known.zone.map({ $0 == zone.name }) ?? true {
                matches += self.matches(pairs, schema, parts, known)
            }
        }
        return matches.sorted { left, right in
            if left.user != right.user { return left.user < right.user }
            let (one, other) = (RecordName(left.subscription), RecordName(right.subscription))
            return one == other ? left.record < right.record : one < other
        }
    }

    private func matches(
        _ pairs: [RecordChangePair], _ schema: RecordTypeSchema, _ parts: SubscriptionKeyParts, _ known: KnownQuery
    ) -> [QueryMatch] {
        // A schema that has changed may not let it be asked any more.
        guard !known.query.matchesNothing, let verdict = try? QueryVerdict(known.query, type: schema, mode: mode) else {
            return []
        }
        let query = QueryTranslation(
            verdict: verdict, zone: ResolvedZone(id: zone, as: parts.user), caller: parts.user,
            metresPerUnit: metresPerUnit
        ).query()
        func matching(_ stored: StoredRecord?) -> StoredRecord? {
            guard let stored, query.matches(stored), mayRead(stored, schema, parts.user) else { return nil }
            return stored
        }
        return pairs.compactMap { pair in
            let (old, new) = (matching(pair.old), matching(pair.new))
            guard let reason = Self.reason(old != nil, new != nil, known.triggers), let shown = new ?? old else {
                return nil
            }
            return QueryMatch(
                user: parts.user, subscription: parts.id, reason: reason.rawValue, record: shown.record.name,
                fields: Self.values(of: known.fields, in: shown.record))
        }
    }

    static func reason(
        _ matched: Bool, _ matches: Bool, _ triggers: SubscriptionTriggers
    ) -> QueryNotificationReason? {
        switch (matched, matches) {
        case (false, true): triggers.contains(.creation) ? .recordCreated : nil
        case (true, true): triggers.contains(.update) ? .recordUpdated : nil
        case (true, false): triggers.contains(.deletion) ? .recordDeleted : nil
        case (false, false): nil
        }
    }

    private func mayRead(_ stored: StoredRecord, _ schema: RecordTypeSchema, _ user: UserName) -> Bool {
        guard zone.database.scope == .public else { return true }
        return GrantVerdict.permissions(
            schema, hasAccount: true, isCreator: stored.system.created.user == user
        ).contains(.read)
    }

    /// The values that a notification may carry (L-13). What is encrypted is not told (C-08).
    private static func values(of keys: Set<FieldKey>, in record: Record) -> [FieldKey: FieldValue] {
        var values: [FieldKey: FieldValue] = [:]
        for key in keys {
            guard let field = record.fields[key], !field.isEncrypted, field.value.fitsNotification else { continue }
            if case .string(let text) = field.value {
                values[key] = .string(String(text.prefix(textCount)))
            } else {
                values[key] = field.value
            }
        }
        return values
    }
}
