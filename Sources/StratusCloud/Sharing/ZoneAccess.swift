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

    init(
        _ service: CloudService, to zone: ResolvedZone, caller: UserName?, in reader: RecordReader
    ) throws {
        self.service = service
        self.zone = zone
        self.caller = caller
        self.reader = reader
        zoneReader = try reader.zone(zone.id)
        identity = zone.isShared && zoneReader != nil ? try reader.listing(of: zone.id)?.entry.identity : nil
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
        guard let stored = try zoneReader?.record(name, fields: .none) else { return false }
        return try permissions(for: stored).contains(.read)
    }

    private func sharedPermissions(for record: Record) throws -> RecordPermissions {
        if record.type == SchemaNames.shareType {
            guard let own = try acceptance(of: record.name), own.permission != .none else { return [] }
            return own.role == .administrator ? [.read, .write] : .read
        }
        let membership = try zoneReader?.shareMembership(of: record.name)
        switch try acceptance(of: membership?.share ?? ShareContent.zoneWideName)?.permission {
        case .readWrite?: return [.read, .write]
        case .readOnly?: return .read
        case ParticipantPermission.none?, nil: return []
        }
    }

    private func acceptance(of share: RecordName) throws -> AcceptanceEntry? {
        guard let identity, let caller else { return nil }
        return try service.acceptanceDirectory.acceptance(
            AcceptanceKeyParts(user: caller, zone: identity, share: share), in: reader)
    }

    private func granted(_ type: RecordType, isCreator: Bool) throws -> RecordPermissions {
        guard zone.isPublic else { return .all }
        let schema = try service.schemaKeeper.schema(of: type, container: zone.id.database.container, in: reader)
        return GrantVerdict.permissions(schema, hasAccount: caller != nil, isCreator: isCreator)
    }
}
