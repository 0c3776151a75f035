// Which parts the keys of each keyspace have behind their tag: one table for describing keys and for reading lines.

/// One part of a key.
enum KeyPart {
    case text
    /// A text or null.
    case optionalText
    case number
    case uuid
    case bytes
    /// Any element.
    case element
    case database
    case zone
    /// The index of a chunk, which a record's own key does not have.
    case chunk
    case action
    case scope
    case identityKind
}

/// The parts of the keys of one keyspace, and its name.
struct KeyShape {
    let name: String
    let parts: [KeyPart]

    init(_ keyspace: ZoneKeyspace) {
        name = keyspace.name
        parts =
            switch keyspace {
            case .header: []
            case .records: [.text, .chunk]
            case .parents, .shareRoots: [.text]
            case .children, .types: [.text, .text]
            case .shareCounts: [.optionalText, .text]
            case .references: [.text, .text, .text, .action]
            case .fields: [.text, .text, .element, .text]
            case .tokens: [.text, .text, .text]
            case .changes: [.number]
            case .endedParents, .endedShares: [.text, .number]
            case .endedChildren, .endedAcceptances: [.text, .number, .text]
            case .shareTokens: [.optionalText]
            case .shareEvents: [.number, .number]
            case .clientTokens: [.text]
            case .queryIndexes: [.text]
            }
    }

    init(_ keyspace: DatabaseKeyspace) {
        name = keyspace.name
        parts =
            switch keyspace {
            case .header: []
            case .zones, .schema, .zoneSettings, .zoneMarkers, .zoneAssets: [.text]
            case .changes: [.number]
            case .subscriptions: [.text, .text]
            }
    }

    init(_ keyspace: GlobalKeyspace) {
        name = keyspace.name
        parts =
            switch keyspace {
            case .format, .header, .tokenSecret, .indexing: []
            case .databases: [.text, .optionalText, .scope]
            case .purges, .releases, .rebuilds, .indexBuilds: [.database, .zone]
            case .receipts, .shareURLs: [.bytes]
            case .accounts: [.text]
            case .identities: [.identityKind, .text]
            case .acceptances: [.text, .uuid, .text]
            case .assets: [.text, .bytes]
            case .schema, .indexReviews: [.text, .text]
            case .usage, .departures: [.text]
            case .zoneUsage: [.text, .uuid]
            case .subscriptions: [.text, .text, .number, .text]
            case .devices: [.text, .text]
            case .notifications: [.text, .text, .number]
            case .outbox: [.database, .number, .number]
            }
    }
}

/// Where a key belongs, by its first three elements.
enum KeyPlace {
    case global(GlobalKeyspace)
    case database(DatabaseNumber, DatabaseKeyspace)
    case zone(DatabaseNumber, ZoneNumber, ZoneKeyspace)

    /// Reads the first three elements of a key. Throws `.corruptKey`.
    init(_ reader: inout KeyReader) throws(LayoutError) {
        let database = DatabaseNumber(try reader.readNumber())
        let zone = ZoneNumber(try reader.readNumber())
        let tag = UInt8(exactly: try reader.readNumber()) ?? 0
        if database != .outside, zone != .outside, let keyspace = ZoneKeyspace(rawValue: tag) {
            self = .zone(database, zone, keyspace)
        } else if database != .outside, zone == .outside, let keyspace = DatabaseKeyspace(rawValue: tag) {
            self = .database(database, keyspace)
        } else if database == .outside, zone == .outside, let keyspace = GlobalKeyspace(rawValue: tag) {
            self = .global(keyspace)
        } else {
            throw reader.corrupt("No keyspace has this tag.")
        }
    }

    /// The place of a key, or nil when it is none that this software writes.
    init?(of key: Span<UInt8>) {
        guard var reader = try? KeyReader(key, after: 0, in: .unknown), let place = try? KeyPlace(&reader) else {
            return nil
        }
        self = place
    }

    /// Whether what lies there is a secret, or may be part of one, whatever its bytes look like.
    var holdsSecrets: Bool {
        switch self {
        case .zone(_, _, .shareTokens), .global(.tokenSecret): true
        default: false
        }
    }

    var shape: KeyShape {
        switch self {
        case .global(let keyspace): KeyShape(keyspace)
        case .database(_, let keyspace): KeyShape(keyspace)
        case .zone(_, _, let keyspace): KeyShape(keyspace)
        }
    }
}
