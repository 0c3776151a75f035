// What a caller may do with the records of one zone, in one snapshot or transaction: read, change, create and delete. Every
// path asks here: fetching, saving, deleting, queries, feeds, listing zones, copying assets, explaining.
//
//   public database    what the container's schema grants                                     (GrantVerdict)
//   own private one    everything
//   another's zone     what the caller has accepted of the share that decides about the record        (SharedAccess)
//
// The nearest root is found by a walk up the record's parents; a root's own parent is beyond it. Who may do nothing
// sees nothing: such a zone is answered as one that is not there, such a record as one that is missing.

import FoundationEssentials
import StratusLayout
package import StratusModel
package import StratusRecords

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
        return try service.acceptanceDirectory.isVisible(zone.id, identity: identity, to: caller, in: reader)
    }

    /// Whether the caller has accepted the share of this name, whatever it lets them do: they may leave it, also where
    /// they see nothing of the zone (P-13).
    func mayLeave(_ share: RecordName) throws -> Bool { try zone.isShared && access(to: share) != nil }

    /// What the caller may do with a record that is there.
    func permissions(for stored: StoredRecord) throws -> RecordPermissions {
        let record = stored.record
        guard zone.isShared else { return try granted(record.type, isCreator: stored.system.created.user == caller) }
        if record.type == ShareContent.recordType { return try access(to: record.name)?.permissionsForShare ?? [] }
        return try accessToShare(of: record)?.permissions ?? []
    }

    /// What the caller may do with the record of this name, nothing where there is none. Only in the public database is
    /// the record read.
    func permissions(at name: RecordName) throws -> RecordPermissions {
        guard let zoneReader else { return [] }
        guard !zone.isPublic else {
            return try zoneReader.record(name, fields: .none).map { try permissions(for: $0) } ?? []
        }
        guard zone.isShared else { return try zoneReader.node(name) == nil ? [] : .all }
        switch try zoneReader.coverage(of: name) {
        case .absent: return []
        case .covered(let membership): return try access(toRecordsIn: membership.share)?.permissions ?? []
        case .uncovered:
            // A share lies below no root, and nothing but a share can be accepted.
            if let own = try access(to: name) { return own.permissionsForShare }
            return try access(toRecordsIn: nil)?.permissions ?? []
        }
    }

    /// Whether the caller may delete a record that is there. Of another's share that is to leave it (P-13).
    func mayDelete(_ stored: StoredRecord) throws -> Bool {
        let record = stored.record
        guard zone.isShared else { return try permissions(for: stored).contains(.write) }
        if record.type == ShareContent.recordType { return try mayLeave(record.name) }
        return try accessToShare(of: record)?.mayDelete(isRoot: record.share != nil) ?? false
    }

    /// What the caller may do with records of a type that nobody has created yet. In another's zone it is where a record
    /// will finally lie that decides (`mayPlace`), but nobody shares what is not theirs.
    func permissions(toCreate type: RecordType) throws -> RecordPermissions {
        guard zone.isShared else { return try granted(type, isCreator: false) }
        return type == ShareContent.recordType ? [] : .all
    }

    /// Whether a record of the caller's may lie in this share, or in none, after the request (P-11).
    func mayPlace(in membership: ShareMembership?) throws -> Bool {
        guard zone.isShared else { return true }
        return try access(toRecordsIn: membership?.share)?.mayPlace ?? false
    }

    /// Whether the caller may put a new record below one that is there.
    func mayCreate(below stored: StoredRecord) throws -> Bool {
        let record = stored.record
        guard record.type != ShareContent.recordType else { return false }
        guard zone.isShared else {
            return try caller != nil && permissions(toCreate: record.type).contains(.create)
        }
        return try accessToShare(of: record)?.mayPlace ?? false
    }

    /// Whether the caller sees the record of this name, if there is one.
    func sees(_ name: RecordName) throws -> Bool {
        guard zone.isShared else { return true }
        return try permissions(at: name).contains(.read)
    }

    /// What the share that decides about a record lets the caller do.
    private func accessToShare(of record: Record) throws -> SharedAccess? {
        try access(toRecordsIn: zoneReader?.shareMembership(of: record.name)?.share)
    }

    /// The same by the share of the nearest root, nil where there is none.
    private func access(toRecordsIn nearest: RecordName?) throws -> SharedAccess? {
        try access(to: SharedAccess.share(decidingFor: nearest))
    }

    /// What the caller has accepted of a share. It is small, and remembered by itself: to copy a whole acceptance takes as
    /// long as all the rest of a question.
    private func access(to share: RecordName) throws -> SharedAccess? {
        guard let identity, let caller else { return nil }
        if let latest, latest.share == share { return latest.access }
        let entry = try service.acceptanceDirectory.acceptance(
            AcceptanceKeyParts(user: caller, zone: identity, share: share), in: zone.id, reader)
        let access = entry.map { SharedAccess($0) }
        latest?.share = share
        latest?.access = access
        return access
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
    var access: SharedAccess?
}

// The zones of others of which somebody sees something (P-09): what the shared database consists of (Z-05, D-06).

extension CloudService {
    /// Those of accepted shares whose zone is still the one that was shared, in no order.
    ///
    /// Throws the store's errors, and `corruption` where an acceptance cannot be read.
    package func visibleZones(
        of user: UserName, in container: ContainerName, _ reader: RecordReader
    ) throws -> [(id: ZoneID, owner: UserName, listing: ZoneListing)] {
        var found: [ZoneID: (owner: UserName, identities: Set<UUID>)] = [:]
        try acceptanceDirectory.visitAcceptances(of: user, in: reader) { parts, acceptance in
            guard acceptance.container == container, SharedAccess(acceptance).isAdmitted else { return }
            found[acceptance.zoneID, default: (acceptance.owner, [])].identities.insert(parts.zone)
        }
        return try found.compactMap { id, known in
            // A zone that was deleted, or made anew under its name, is not the one that was shared.
            guard let listing = try reader.listing(of: id), known.identities.contains(listing.entry.identity) else {
                return nil
            }
            return (id, known.owner, listing)
        }
    }
}

// Stored records as one caller is shown them who may read them, wherever they lie.

/// Shows the records of one zone to one caller, who may read them.
final class RecordView {
    let zone: ResolvedZone
    private let service: CloudService
    private let viewer: UserName?
    private let reader: RecordReader
    private let showing: RecordShowing

    init(service: CloudService, zone: ResolvedZone, viewer: Account?, reader: RecordReader) {
        self.service = service
        self.zone = zone
        self.viewer = viewer?.userName
        self.reader = reader
        showing = RecordShowing(
            zone: zone.address, viewer: viewer?.userName, hidesParentsOfRoots: zone.isShared)
    }

    func shown(_ decoded: DecodedRecord) throws -> ClientRecord {
        var record = ClientRecord(decoded, showing)
        if decoded.stored.record.type == ShareContent.recordType {
            record.sharing = try service.sharing(of: decoded.stored, zone: zone.address, viewer: viewer, in: reader)
        }
        return record
    }
}
