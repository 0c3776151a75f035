// What a caller may do with the records of one zone, in one snapshot or transaction. Every path asks here: fetching,
// saving, deleting, listing zones, copying assets.
//
//   public database    what the container's schema grants                                     (GrantVerdict)
//   own private one    everything
//   another's zone     what the caller has accepted: the share of the record's nearest root, found by a walk up its
//                      parents, or that of the whole zone. Nothing else counts: no reference field, no invitation.
//
// A root's own parent is beyond the walk. A share's record is read by everybody who has accepted it, and written by
// its administrators. Who may do nothing sees nothing: such a zone is answered as one that is not there, such a
// record as one that is missing.

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusRecords

struct ZoneAccess {
    let zone: ResolvedZone
    private let service: CloudService
    /// The caller's name, when the caller has an account that may be used.
    private let caller: UserName?
    private let reader: RecordReader
    /// Nil where the zone is made by its first record.
    private let zoneReader: ZoneReader?
    /// The identity of another's zone.
    private let identity: UUID?
    /// The acceptance that was asked for last, because neighbours lie in the same share. Of a snapshot only: in a
    /// transaction acceptances change under way.
    private let latest: LatestAcceptance?

    init(
        _ service: CloudService, to zone: ResolvedZone, caller: UserName?, in reader: RecordReader
    ) throws {
        self.service = service
        self.zone = zone
        self.caller = caller
        self.reader = reader
        zoneReader = try reader.zone(zone.id)
        identity = zone.isShared && zoneReader != nil ? try reader.listing(of: zone.id)?.entry.identity : nil
        latest = reader is RecordTransaction ? nil : LatestAcceptance()
    }

    /// Whether the caller sees anything of the zone: to be asked before anything else is done with it.
    func isZoneVisible() throws -> Bool {
        guard zone.isShared else { return true }
        guard let identity, let caller else { return false }
        return try service.acceptanceDirectory.isVisible(zone: identity, to: caller, in: reader)
    }

    /// What the caller may do with a record that is there.
    func permissions(for stored: StoredRecord) throws -> RecordPermissions {
        let record = stored.record
        if zone.isShared { return try sharedPermissions(for: record) }
        return try granted(record.type, isCreator: stored.system.created.user == caller)
    }

    /// What the caller may do with the record of this name, nothing where there is none. Only in the public database is
    /// the record read.
    func permissions(at name: RecordName) throws -> RecordPermissions {
        guard let zoneReader else { return [] }
        guard !zone.isPublic else {
            return try zoneReader.record(name, fields: .none).map { try permissions(for: $0) } ?? []
        }
        guard zone.isShared else { return try zoneReader.node(name) == nil ? [] : .all }
        switch try zoneReader.sharePlace(of: name) {
        case .absent: return []
        case .shared(let membership): return try permissions(admittedBy: membership.share)
        case .unshared:
            // A share lies below no root, and nothing but a share can be accepted.
            if let own = try acceptance(of: name) { return Self.permissionsForShare(own) }
            return try permissions(admittedBy: ShareContent.zoneWideName)
        }
    }

    /// What the caller may do with records of a type that nobody has created yet. In another's zone it is where a record
    /// will finally lie that decides (`mayWrite`), but nobody shares what is not theirs.
    func permissions(toCreate type: RecordType) throws -> RecordPermissions {
        guard zone.isShared else { return try granted(type, isCreator: false) }
        return type == SchemaNames.shareType ? [] : .all
    }

    /// Whether the caller may write a record that lies in this share, or in none, after the request (P-11).
    func mayWrite(in membership: ShareMembership?) throws -> Bool {
        guard zone.isShared else { return true }
        return try acceptance(of: membership?.share ?? ShareContent.zoneWideName)?.permission == .readWrite
    }

    /// Whether the caller sees the record of this name, if there is one.
    func sees(_ name: RecordName) throws -> Bool {
        guard zone.isShared else { return true }
        return try permissions(at: name).contains(.read)
    }

    private func sharedPermissions(for record: Record) throws -> RecordPermissions {
        if record.type == SchemaNames.shareType {
            return try acceptance(of: record.name).map(Self.permissionsForShare) ?? []
        }
        let membership = try zoneReader?.shareMembership(of: record.name)
        return try permissions(admittedBy: membership?.share ?? ShareContent.zoneWideName)
    }

    private func permissions(admittedBy share: RecordName) throws -> RecordPermissions {
        switch try permission(of: share) {
        case .readWrite?: .readWrite
        case .readOnly?: .read
        case ParticipantPermission.none?, nil: []
        }
    }

    private static func permissionsForShare(_ own: AcceptanceEntry) -> RecordPermissions {
        guard own.permission != .none else { return [] }
        return own.role == .administrator ? .readWrite : .read
    }

    /// What the caller has accepted of a share. The latest entry is looked at where it lies, because copying it takes as
    /// long as all the rest of a question.
    private func permission(of share: RecordName) throws -> ParticipantPermission? {
        if let latest, latest.share == share { return latest.entry?.permission }
        return try acceptance(of: share)?.permission
    }

    private func acceptance(of share: RecordName) throws -> AcceptanceEntry? {
        guard let identity, let caller else { return nil }
        if let latest, latest.share == share { return latest.entry }
        let entry = try service.acceptanceDirectory.acceptance(
            AcceptanceKeyParts(user: caller, zone: identity, share: share), in: reader)
        latest?.share = share
        latest?.entry = entry
        return entry
    }

    private func granted(_ type: RecordType, isCreator: Bool) throws -> RecordPermissions {
        guard zone.isPublic else { return .all }
        let schema = try service.schemaKeeper.schema(of: type, container: zone.id.database.container, in: reader)
        return GrantVerdict.permissions(schema, hasAccount: caller != nil, isCreator: isCreator)
    }
}

/// What one caller has accepted of one share, and whether they have.
private final class LatestAcceptance {
    var share: RecordName?
    var entry: AcceptanceEntry?
}
