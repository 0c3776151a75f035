// What a caller may do with the records of one zone, in one snapshot or transaction: read, change, create and delete.
// Every path uses it: fetching, saving, deleting, queries, feeds, listing zones, copying assets, explaining.
//
//   public database         the grants of the container's schema                             (GrantVerdict)
//   own private database    everything
//   another person's zone   the caller's acceptance of the share that decides about the record   (SharedAccess)
//
// A walk up the record's parents finds the nearest root; a root's own parent is outside the share. A caller
// without permissions sees nothing: a zone is answered like a missing zone, a record like a missing record.

import FoundationEssentials
import StratusLayout
package import StratusModel
package import StratusRecords

struct ZoneAccess {
    let zone: ResolvedZone
    private let service: CloudService
    /// The caller's name, if the caller has an account that may be used.
    private let caller: UserName?
    private let reader: RecordReader
    /// Nil if the first record creates the zone.
    private let zoneReader: ZoneReader?
    /// The identity of another person's zone.
    private let identity: UUID?
    /// The last acceptance that was used, because neighbours are often in the same share. Only in a snapshot: in a
    /// transaction acceptances may change meanwhile.
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

    /// Whether the caller sees anything in the zone. Check it before everything else.
    func isZoneVisible() throws -> Bool {
        guard zone.isShared else { return true }
        guard let identity, let caller else { return false }
        return try service.acceptanceDirectory.isVisible(zone.id, identity: identity, to: caller, in: reader)
    }

    /// Whether the caller has accepted the share of this name, with any permission: they may leave it even if they see
    /// nothing in the zone (P-13).
    func mayLeave(_ share: RecordName) throws -> Bool { try zone.isShared && access(to: share) != nil }

    /// The caller's permissions for an existing record.
    func permissions(for stored: StoredRecord) throws -> TypePermissions {
        let record = stored.record
        guard zone.isShared else { return try granted(record.type, isCreator: stored.system.created.user == caller) }
        if record.type == ShareContent.recordType { return try access(to: record.name)?.permissionsForShare ?? [] }
        return try accessToShare(of: record)?.permissions ?? []
    }

    /// The caller's permissions for the record of this name; none if it does not exist. Reads the record only in the
    /// public database.
    func permissions(at name: RecordName) throws -> TypePermissions {
        guard let zoneReader else { return [] }
        guard !zone.isPublic else {
            return try zoneReader.record(name, fields: .none).map { try permissions(for: $0) } ?? []
        }
        guard zone.isShared else { return try zoneReader.node(name) == nil ? [] : .all }
        switch try zoneReader.coverage(of: name) {
        case .absent: return []
        case .covered(let membership): return try access(toRecordsIn: membership.share)?.permissions ?? []
        case .uncovered:
            // A share has no parent, and only shares have acceptances.
            if let own = try access(to: name) { return own.permissionsForShare }
            return try access(toRecordsIn: nil)?.permissions ?? []
        }
    }

    /// Whether the caller may delete an existing record. Deleting another person's share means leaving it (P-13).
    func mayDelete(_ stored: StoredRecord) throws -> Bool {
        let record = stored.record
        guard zone.isShared else { return try permissions(for: stored).contains(.write) }
        if record.type == ShareContent.recordType { return try mayLeave(record.name) }
        return try accessToShare(of: record)?.mayDelete(isRoot: record.share != nil) ?? false
    }

    /// The caller's permissions for new records of a type. In another person's zone the final place of a record decides
    /// (`mayPlace`), but only the owner may create shares.
    func permissions(toCreate type: RecordType) throws -> TypePermissions {
        guard zone.isShared else { return try granted(type, isCreator: false) }
        return type == ShareContent.recordType ? [] : .all
    }

    /// Whether a record that the caller saves may be in this share, or in none, after the request (P-11).
    func mayPlace(in membership: ShareMembership?) throws -> Bool {
        guard zone.isShared else { return true }
        return try access(toRecordsIn: membership?.share)?.mayPlace ?? false
    }

    /// Whether the caller may create a record below an existing one.
    func mayCreate(below stored: StoredRecord) throws -> Bool {
        let record = stored.record
        guard record.type != ShareContent.recordType else { return false }
        guard zone.isShared else {
            return try caller != nil && permissions(toCreate: record.type).contains(.create)
        }
        return try accessToShare(of: record)?.mayPlace ?? false
    }

    /// Whether the caller sees the record of this name, if it exists.
    func sees(_ name: RecordName) throws -> Bool {
        guard zone.isShared else { return true }
        return try permissions(at: name).contains(.read)
    }

    /// The caller's access to the share that decides about a record.
    private func accessToShare(of record: Record) throws -> SharedAccess? {
        try access(toRecordsIn: zoneReader?.shareMembership(of: record.name)?.share)
    }

    /// The same, by the share of the nearest root; nil if there is none.
    private func access(toRecordsIn nearest: RecordName?) throws -> SharedAccess? {
        try access(to: SharedAccess.share(decidingFor: nearest))
    }

    /// The caller's access to a share, if they have accepted it. It is cached separately, because it is small: copying
    /// a whole acceptance would take as long as the rest of the check.
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

    private func granted(_ type: RecordType, isCreator: Bool) throws -> TypePermissions {
        guard zone.isPublic else { return .all }
        let schema = try service.schemaKeeper.schema(of: type, container: zone.id.database.container, in: reader)
        return GrantVerdict.permissions(schema, hasAccount: caller != nil, isCreator: isCreator)
    }
}

/// One caller's access to one share; nil if they have not accepted it.
private final class LatestAcceptance {
    var share: RecordName?
    var access: SharedAccess?
}

extension CloudService {
    /// The zones of a person's shared database: other people's zones in which they see something (P-09, Z-05, D-06), in
    /// no order.
    ///
    /// Throws the store's errors, and `corruption` if an acceptance cannot be read.
    package func visibleZones(
        of user: UserName, in container: ContainerName, _ reader: RecordReader
    ) throws -> [(id: ZoneID, owner: UserName, listing: ZoneListing)] {
        var found: [ZoneID: (owner: UserName, identities: Set<UUID>)] = [:]
        try reader.store.forEach(in: GlobalKeys.acceptances(of: user)) { key, value in
            let identity = try GlobalKeys.readAcceptanceKey(key).zone
            let acceptance = try AcceptanceEntry(decoding: value)
            guard acceptance.container == container, SharedAccess(acceptance).isAdmitted else { return }
            found[acceptance.zoneID, default: (acceptance.owner, [])].identities.insert(identity)
        }
        for id in found.keys { reader.willRead(zone: id) }
        return try found.compactMap { id, known in
            // A deleted zone, or a new one of the same name, is not the one that was shared.
            guard let listing = try reader.listing(of: id), known.identities.contains(listing.entry.identity) else {
                return nil
            }
            return (id, known.owner, listing)
        }
    }
}

/// Converts the records of one zone for one caller, who may read them, including shares.
final class RecordPresenter {
    let zone: ResolvedZone
    private let service: CloudService
    private let reader: RecordReader
    private let showing: RecordShowing

    init(service: CloudService, zone: ResolvedZone, viewer: StoredAccount?, reader: RecordReader) {
        self.service = service
        self.zone = zone
        self.reader = reader
        showing = RecordShowing(
            zone: zone.address, viewer: viewer?.userName, hidesParentsOfRoots: zone.isShared)
    }

    func shown(_ decoded: DecodedRecord) throws -> ClientRecord {
        var record = ClientRecord(decoded, showing)
        if decoded.stored.record.type == ShareContent.recordType {
            record.sharing = try service.sharing(
                of: decoded.stored, zone: showing.zone, viewer: showing.viewer, in: reader)
        }
        return record
    }
}
