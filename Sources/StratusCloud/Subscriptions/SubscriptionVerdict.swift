// Whether a subscription may be saved: (subscription, database, options) → refusal or nil. A pure decision. Whether its
// zone exists and its query is valid is checked elsewhere, against the store.

import StratusLayout
import StratusModel

enum SubscriptionVerdict {
    /// The maximum number of fields whose values are in a notification (L-13).
    static let desiredKeyCount = 3

    /// Why a subscription cannot be one of this database, or nil.
    static func refusal(_ subscription: ClientSubscription, in database: DatabaseSelector) -> CloudError? {
        if let error = identifierError(subscription.id) { return error }
        if let keys = subscription.template?.desiredKeys, keys.count > desiredKeyCount {
            return CloudError(
                .invalidArguments, "A notification can have the values of at most three fields. Desire fewer keys.",
                ["count": "\(keys.count)", "rule": "L-13", "subscription": subscription.id])
        }
        switch subscription.subject {
        case .query(_, _, let triggers, _):
            guard database != .shared else { return misplaced(subscription, rule: "D-10") }
            guard triggers.isSubset(of: .all), !triggers.isDisjoint(with: .changes) else {
                return CloudError(
                    .invalidArguments, "A query subscription must fire on creation, update or deletion. Name one.",
                    ["rule": "N-04", "subscription": subscription.id])
            }
        case .zone(let zone, _):
            guard database == .private else {
                return misplaced(subscription, rule: database == .shared ? "D-10" : "N-01")
            }
            guard zone.zoneName != ZoneAddress.defaultZoneName else {
                return CloudError(
                    .serverRejectedRequest, inner: CloudError.InnerCode.defaultZoneSync,
                    "AppDefaultZone does not support sync semantics",
                    ["rule": "N-01", "subscription": subscription.id])
            }
        case .database:
            guard database != .public else { return misplaced(subscription, rule: "N-01") }
        }
        return nil
    }

    /// The error for an invalid identifier, or nil.
    static func identifierError(_ id: String) -> CloudError? {
        guard id.isEmpty || id.utf16.count > NameRules.maximumCharacterCount else { return nil }
        return CloudError(
            .invalidArguments, "The identifier of a subscription must have 1 to 255 characters. Choose another.",
            ["characters": "\(id.utf16.count)"])
    }

    /// The error for a subscription that is too large, or nil.
    static func sizeError(_ byteCount: Int, _ id: String, _ options: CloudOptions) -> CloudError? {
        let limit = min(options.subscriptionByteCount, LayoutLimits.maximumChunkByteCount)
        guard byteCount > limit else { return nil }
        return CloudError.overLimit(
            "The subscription is too large. Shorten it.", limit: limit, ["bytes": "\(byteCount)", "subscription": id])
    }

    /// The error for a desired field whose values cannot be in a notification; nil if there is none (L-13).
    static func desiredKeyError(_ keys: [String], of type: RecordTypeSchema) -> CloudError? {
        for key in keys {
            guard let field = type.fields[FieldKey(key)]?.type else { continue }
            guard field.isList || [.bytes, .asset].contains(field.scalar) else { continue }
            return CloudError(
                .invalidArguments,
                "A notification can have texts, numbers, dates, locations and references. Desire another field.",
                ["field": key, "recordType": type.name.text, "rule": "L-13"])
        }
        return nil
    }

    static func unknown(_ id: String) -> CloudError {
        CloudError.notFound("Subscription not found", ["subscription": id])
    }

    /// The error for a type without saved records that no imported schema has.
    static func unknownType(_ name: String, _ id: String) -> CloudError {
        CloudError(
            .unknownItem, inner: CloudError.InnerCode.unknownItem,
            text: "Did not find record type: \(name). Save a record of it first, or import a schema that has it."
                + " You can subscribe to zones and databases before.",
            ["recordType": name, "rule": "Q-11", "subscription": id])
    }

    /// The error for a subscription that equals one with another identifier (N-07).
    static func duplicate(_ id: String, of other: String) -> CloudError {
        CloudError(
            .serverRejectedRequest, inner: CloudError.InnerCode.duplicateSubscription,
            "The database has an equal subscription with another identifier. Keep that one, or delete it first.",
            ["existing": other, "rule": "N-07", "subscription": id])
    }

    private static func misplaced(_ subscription: ClientSubscription, rule: String) -> CloudError {
        CloudError(
            .invalidArguments,
            "The database does not support this kind of subscription. Use the private database, or another kind.",
            ["rule": rule, "subscription": subscription.id])
    }
}

extension SubscriptionTriggers {
    /// The changes of a record.
    static let changes: SubscriptionTriggers = [.creation, .update, .deletion]
    static let all: SubscriptionTriggers = [.creation, .update, .deletion, .once]
}

extension ClientSubscription {
    /// The subscription with its owner's zones named by `__defaultOwner__` (D-02).
    func canonical(_ user: UserName) -> ClientSubscription {
        var subscription = self
        switch subject {
        case .query(let query, let zone, let triggers, let archive):
            let zone = zone.map { ScopeVerdict.canonical($0, caller: user) }
            subscription.subject = .query(query, zone: zone, triggers: triggers, predicateArchive: archive)
        case .zone(let zone, let type):
            subscription.subject = .zone(ScopeVerdict.canonical(zone, caller: user), recordType: type)
        case .database: break
        }
        return subscription
    }
}
