// Any value as one readable line. Its key says which value it is. Bytes that cannot be read are shown as hexadecimal
// with the reason. A line never holds a control character.

import FoundationEssentials
import StratusModel
import StratusStore

/// A value, with the key that identifies it, as text.
package enum ValueDescription {
    /// The number of characters or bytes of a field that a line shows.
    private static let contentLimit = 120

    /// The line for the value under a key. Both may be any bytes.
    package static func text(of value: Span<UInt8>, forKey key: Span<UInt8>) -> String {
        guard let place = KeyPlace(of: key) else { return "unknown value \(hex(value))" }
        do throws(StoreError) {
            return switch place {
            case .global(let keyspace): try text(of: value, keyspace)
            case .database(_, let keyspace): try text(of: value, keyspace)
            case .zone(_, _, let keyspace): try text(of: value, keyspace)
            }
        } catch {
            return
                "damaged value \(hex(value, isSecret: place.holdsSecrets)): \(error.message) (position \(error.fields["position"] ?? "0"))"
        }
    }

    package static func text(of value: [UInt8], forKey key: [UInt8]) -> String {
        text(of: value.span, forKey: key.span)
    }

    private static func text(of value: Span<UInt8>, _ keyspace: GlobalKeyspace) throws(StoreError) -> String {
        switch keyspace {
        case .format:
            let entry = try FormatEntry(decoding: value)
            return "format \(entry.version), incarnation \(entry.incarnation)"
                + (entry.copied.map { ", unfinished copy of \($0)" } ?? "")
        case .tokenSecret:
            _ = try TokenSecretEntry(decoding: value)
            return "secret"
        case .header: return "next database \(try GlobalHeader(decoding: value).nextDatabaseNumber)"
        case .databases:
            let entry = try DatabaseEntry(decoding: value)
            return "\(entry.number), identity \(entry.identity)"
        case .purges:
            let entry = try PurgeEntry(decoding: value)
            return "\(entry.database) / \(entry.zone), identity \(entry.identity)"
        case .releases:
            let entry = try ReleaseEntry(decoding: value)
            let progress = entry.last.map { "released up to \(quoted($0.text))" } ?? "nothing released"
            return "\(entry.database) / \(entry.zone), identity \(entry.identity), owner \(quoted(entry.owner.text)), "
                + progress
        case .rebuilds, .indexBuilds: return "identity \(try ZoneIdentityEntry(decoding: value).identity)"
        case .indexing:
            _ = try EmptyEntry(decoding: value)
            return "entry"
        case .indexReviews:
            let last = try IndexReviewEntry(decoding: value).last
            return last.map { "reviewed up to \($0.database) / \($0.zone)" } ?? "nothing reviewed"
        case .accounts: return text(try AccountEntry(decoding: value).content)
        case .identities: return "account \(quoted(try AccountIDEntry(decoding: value).account.text))"
        case .usage, .zoneUsage: return try UsageEntry(decoding: value).byteCount.counting("byte")
        case .departures: return "was account \(quoted(try AccountIDEntry(decoding: value).account.text))"
        case .assets:
            let entry = try AssetEntry(decoding: value)
            return "held \(entry.count.counting("time")), \(entry.byteCount.counting("byte"))"
                + (entry.upload.map { ", upload \($0)" } ?? "")
        case .schema: return text(try SchemaEntry(decoding: value))
        case .receipts: return hex(value)
        case .shareURLs: return text(try ShareURLEntry(decoding: value))
        case .acceptances: return text(try AcceptanceEntry(decoding: value))
        case .subscriptions: return text(try SubscriptionEntry(decoding: value))
        case .devices:
            let entry = try DeviceEntry(decoding: value)
            return "next \(entry.next), waiting \(entry.count), badge \(entry.badge)"
        case .notifications: return text(try NotificationEntry(decoding: value))
        case .outbox: return text(try OutboxEntry(decoding: value))
        case .uploads:
            let entry = try UploadEntry(decoding: value)
            return "upload \(entry.upload) until \(entry.endMilliseconds) ms"
        case .collecting:
            _ = try EmptyEntry(decoding: value)
            return "entry"
        case .operations:
            let part = try OperationPart(decoding: value)
            return "\(part.count.counting("part")) from \(part.first), \(part.bytes.count.counting("byte"))"
        case .work, .runs:
            let entry = try WorkEntry(decoding: value)
            return (entry.holder.map { "done by \($0)" } ?? "done by nobody") + ", generation \(entry.generation)"
        case .hosts: return "beat \(try HostEntry(decoding: value).beat)"
        case .timeline:
            let entry = try TimelineEntry(decoding: value)
            return "timeline \(entry.number) of system \(entry.system)" + (entry.isReplicated ? ", replicated" : "")
                + (entry.incarnation.map { ", incarnation \($0)" } ?? "")
        }
    }

    private static func text(of value: Span<UInt8>, _ keyspace: DatabaseKeyspace) throws(StoreError) -> String {
        switch keyspace {
        case .header:
            let header = try DatabaseHeader(decoding: value)
            return "next zone \(header.nextZoneNumber), change counter \(header.changeCounter)"
        case .zones:
            let entry = try ZoneEntry(decoding: value)
            return "\(entry.number), identity \(entry.identity), created \(text(entry.created))"
        case .changes:
            let entry = try DatabaseChangeEntry(decoding: value)
            return "\(entry.kind) \(quoted(entry.zone.text)), identity \(entry.identity)"
        case .zoneSettings: return "encryption scope \(try ZoneSettingsEntry(decoding: value).encryptionScope)"
        case .zoneMarkers:
            let entry = try ZoneMarkerEntry(decoding: value)
            return "deleted \(ReadableDate.text(entry.deleted)), reason \(entry.reason)"
        case .zoneAssets: return "count \(try CountEntry(decoding: value).count)"
        case .subscriptions, .schema: return hex(value)
        }
    }

    private static func text(of value: Span<UInt8>, _ keyspace: ZoneKeyspace) throws(StoreError) -> String {
        switch keyspace {
        case .header: return text(try ZoneHeader(decoding: value))
        case .records: return try recordText(value)
        case .parents: return text(try ParentEntry(decoding: value))
        case .children:
            let entry = try ChildEntry(decoding: value)
            return "since \(entry.since)" + (entry.hasChildren ? ", has children" : "")
        case .shareRoots:
            let entry = try ShareRootEntry(decoding: value)
            return "share \(quoted(entry.share.text)) since \(entry.since)"
        case .shareCounts: return "count \(try CountEntry(decoding: value).count)"
        case .references, .types, .fields, .tokens:
            _ = try EmptyEntry(decoding: value)
            return "entry"
        case .changes: return text(try ChangeEntry(decoding: value))
        case .endedParents:
            let entry = try EndedParentEntry(decoding: value)
            let parent = entry.parent.map { "parent \(quoted($0.text))" } ?? "no parent"
            let deletion = entry.deletedType.map { ", type \(quoted($0.text)) was deleted" } ?? ""
            return "\(parent) began \(entry.began)\(deletion)"
        case .endedChildren: return "began \(try EndedPeriodEntry(decoding: value).began)"
        case .endedShares:
            let entry = try EndedShareEntry(decoding: value)
            return "share \(quoted(entry.share.text)) began \(entry.began)"
        case .shareTokens: return "\(try ShareTokenEntry(decoding: value).token)"
        case .shareEvents: return text(try ShareEventEntry(decoding: value).event)
        case .queryIndexes: return text(try QueryIndexesEntry(decoding: value))
        case .endedAcceptances: return "began \(try EndedPeriodEntry(decoding: value).began)"
        case .clientTokens:
            let entry = try ClientTokenEntry(decoding: value)
            return "sequence \(entry.sequence), \(entry.data.count.counting("byte"))"
        }
    }
}

extension ValueDescription {
    private static func text(_ header: ZoneHeader) -> String {
        "identity \(header.identity), incarnation \(header.incarnation), sequence \(header.sequence), "
            + "horizon \(header.horizon), database counter \(header.databaseCounter), records \(header.recordCount)"
            + (header.hasQueryIndexes ? ", query indexes" : "")
    }

    private static func text(_ entry: QueryIndexesEntry) -> String {
        let kinds: [(QueryIndexKinds, String)] = [(.values, "values"), (.missing, "missing"), (.words, "words")]
        var pieces = entry.fields.sorted { $0.key < $1.key }.map { key, state in
            "\(quoted(key.text)) \(names(state.kinds, kinds).joined(separator: "+")) \(state.phase)"
        }
        pieces += named([("up to", entry.position?.text)])
        return pieces.isEmpty ? "no fields" : pieces.joined(separator: ", ")
    }

    private static func text(_ entry: ParentEntry) -> String {
        let parent = entry.parent.map { "parent \(quoted($0.text))" } ?? "no parent"
        let share = entry.share.map { "share \(quoted($0.text))" } ?? "no share"
        return "\(parent) since \(entry.parentSince), \(share) since \(entry.shareSince)"
            + (entry.hasChildren ? ", has children" : "")
    }

    private static func text(_ entry: ChangeEntry) -> String {
        switch entry.kind {
        case .saved(.unsaid): return "saved \(quoted(entry.name.text))"
        case .saved(.below(let parent)):
            let parent = parent.map { "parent \(quoted($0.text))" } ?? "no parent"
            return "saved \(quoted(entry.name.text)), \(parent)"
        case .deleted(let type, let parent):
            let parent = parent.map { ", parent \(quoted($0.text))" } ?? ""
            return "deleted \(quoted(entry.name.text)), type \(quoted(type.text))\(parent)"
        }
    }

    private static func recordText(_ value: Span<UInt8>) throws(StoreError) -> String {
        switch try RecordValueKind(of: value) {
        case .live:
            let record = try RecordCodec.decode("", value)
            let fields = record.record.fields
            let header = try RecordHeader(decoding: value)
            let isShare = header.type == ShareContent.recordType
            return (["live", text(header)] + fields.map { text($0.key, $0.value, ofShare: isShare) })
                .joined(separator: ", ")
        case .tombstone:
            let tombstone = try Tombstone(decoding: value)
            let parent = tombstone.parent.map { ", parent \(quoted($0.text))" } ?? ""
            return "deleted, type \(quoted(tombstone.type.text)), sequence \(tombstone.sequence), "
                + "\(text(tombstone.deleted))\(parent)"
        case .firstChunk:
            let count = try RecordCodec.chunkCount(in: value)
            return "live in \(count.counting("chunk")), \(text(try RecordHeader(decoding: value)))"
        // A chunk does not name its record: it may be part of a share, with secrets.
        case .laterChunk: return "chunk, \(value.count.counting("byte"))"
        }
    }

    private static func text(_ header: RecordHeader) -> String {
        let system = header.system
        let pieces = [
            "type \(quoted(header.type.text))", "sequence \(system.changeSequence)", "tag \(system.changeTag)",
            "created \(text(system.created))", "modified \(text(system.modified))",
        ]
        return (pieces + named([("parent", header.parent?.text), ("share", header.share?.text)]))
            .joined(separator: ", ")
    }

    private static func text(_ key: FieldKey, _ field: Field, ofShare isShare: Bool) -> String {
        let value =
            if key == ShareContent.fieldKey {
                contentText(field.value)
            } else {
                isShare ? shareText(field.value) : text(field.value)
            }
        return "\(quoted(key.text)) = \(value)" + (field.isEncrypted ? " (encrypted)" : "")
    }

    /// One value of a field.
    static func text(_ value: FieldValue) -> String {
        switch value {
        case .string(let text): return quoted(text)
        case .int64(let number): return "\(number)"
        case .double(let number): return "double(\(number))"
        case .date(let date): return ReadableDate.text(date)
        case .bytes(let bytes): return "x'\(Hex.text(bytes, limit: contentLimit))'"
        case .location(let location): return "location(\(location.latitudeDegrees), \(location.longitudeDegrees))"
        case .reference(let reference): return "reference(\(quoted(reference.target.text)), \(reference.action))"
        case .asset(let asset): return "asset(x'\(Hex.text(asset.digest))', \(asset.byteCount.counting("byte")))"
        case .list(let items):
            let shown = items.prefix(contentLimit / 4).map { text($0) }.joined(separator: ", ")
            return items.count > contentLimit / 4 ? "[\(shown), … (\(items.count.counting("item")))]" : "[\(shown)]"
        }
    }

    private static func text(_ stamp: Stamp) -> String {
        "\(ReadableDate.text(stamp.date)) by \(quoted(stamp.user.text))"
    }

    static func quoted(_ text: String) -> String { ReadableText.quoted(text, limit: contentLimit) }

    /// The bytes as hexadecimal digits or, if they may hold a secret, their number.
    private static func hex(_ bytes: Span<UInt8>, isSecret: Bool = false) -> String {
        if isSecret || SecretBytes.mayBe(in: bytes) { return "secret (\(bytes.count.counting("byte")))" }
        return "x'\(Hex.text(bytes, limit: 64))'"
    }
}

// MARK: Schemas, in the words of the schema language

extension ValueDescription {
    private static func text(_ entry: SchemaEntry) -> String {
        switch entry {
        case .type(let fields, let grants, let isImported):
            let fieldTexts = fields.sorted { $0.key < $1.key }.map { key, field in
                ([ReadableText.quoted(key.text), "\(field.type)"] + names(field.indexes)).joined(separator: " ")
            }
            let grantTexts = grants.sorted { $0.key < $1.key }.map { role, permissions in
                "grant \(names(permissions).joined(separator: " ")) to \(ReadableText.quoted(role.text))"
            }
            return ([isImported ? "imported type" : "type"] + fieldTexts + grantTexts).joined(separator: ", ")
        case .roles(let roles):
            return (["roles"] + roles.sorted().map { ReadableText.quoted($0.text) }).joined(separator: ", ")
        }
    }

    private static func names(_ indexes: FieldIndexes) -> [String] {
        names(indexes, [(.queryable, "queryable"), (.sortable, "sortable"), (.searchable, "searchable")])
    }

    private static func names(_ permissions: TypePermissions) -> [String] {
        names(permissions, [(.read, "read"), (.create, "create"), (.write, "write")])
    }

    private static func names<Options: OptionSet>(
        _ options: Options, _ all: [(option: Options, name: String)]
    ) -> [String] where Options.Element == Options {
        all.filter { options.contains($0.option) }.map(\.name)
    }
}
