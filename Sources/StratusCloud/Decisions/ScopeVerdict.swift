// Which zone a client means: (address, database, caller) → zone. The owner name is a claim; the caller's own name
// and the one that stands for the caller are the same.

import StratusModel

/// A zone as a request means it.
struct ResolvedZone: Hashable, Sendable {
    let id: ZoneID
    /// How the caller is told of the zone.
    let address: ZoneAddress
    /// Whether it is another person's, seen through the caller's shared database (D-01).
    var isShared = false

    var isDefault: Bool { id.name.text == ZoneAddress.defaultZoneName }
    var isPublic: Bool { id.database.scope == .public }
    /// Whether requests to it can be atomic.
    var isTransactional: Bool { !isDefault && !isPublic }
}

extension ResolvedZone {
    /// The zone as a user is told of it, whether or not they see anything of it.
    init(id: ZoneID, as user: UserName) {
        isShared = id.database.scope == .private && id.database.owner != user
        address = ZoneAddress(
            zoneName: id.name.text,
            ownerName: isShared ? id.database.owner?.text ?? "" : ZoneAddress.currentUser)
        self.id = id
    }
}

enum ScopeVerdict {
    /// The address with the owner name that stands for the caller in place of the caller's own.
    static func canonical(_ address: ZoneAddress, caller: UserName?) -> ZoneAddress {
        guard let caller, UserName(address.ownerName) == caller else { return address }
        return ZoneAddress(zoneName: address.zoneName)
    }

    static func canonical(_ address: RecordAddress, caller: UserName?) -> RecordAddress {
        RecordAddress(recordName: address.recordName, zone: canonical(address.zone, caller: caller))
    }

    /// The zone that is meant.
    ///
    /// Throws `invalidArguments` for another's zone in the private database and for one's own in the shared (D-05),
    /// `zoneNotFound` for what cannot exist. Whether it does exist, and whether the caller sees anything of it, is asked
    /// later.
    static func zone(
        _ claimed: ZoneAddress, in selector: DatabaseSelector, container: ContainerName, caller: UserName?
    ) throws(CloudError) -> ResolvedZone {
        let address = canonical(claimed, caller: caller)
        let isOwn = address.ownerName == ZoneAddress.currentUser
        switch selector {
        case .public:
            guard isOwn, address.zoneName == ZoneAddress.defaultZoneName else { throw zoneNotFound(claimed) }
            let database = DatabaseID(container: container, owner: nil, scope: .public)
            return ResolvedZone(id: ZoneID(database: database, name: ZoneName(address.zoneName)), address: address)
        case .private:
            guard isOwn else {
                throw CloudError(
                    .invalidArguments, "PrivateDB can't be used to access another user's zone",
                    ["zone": claimed.description])
            }
            guard let caller else { throw CloudError(.notAuthenticated, "No account is signed in.") }
            guard NameRules.isZoneName(address.zoneName) else { throw zoneNotFound(claimed) }
            let database = DatabaseID(container: container, owner: caller, scope: .private)
            return ResolvedZone(id: ZoneID(database: database, name: ZoneName(address.zoneName)), address: address)
        case .shared:
            guard !isOwn else {
                throw CloudError(
                    .invalidArguments, "Only shared zones can be accessed in the shared DB",
                    ["zone": claimed.description])
            }
            // The default zone cannot be shared (SH-01).
            guard NameRules.isZoneName(address.zoneName), address.zoneName != ZoneAddress.defaultZoneName,
                NameRules.recordNameError(address.ownerName) == nil
            else { throw zoneNotFound(claimed) }
            let database = DatabaseID(container: container, owner: UserName(address.ownerName), scope: .private)
            return ResolvedZone(
                id: ZoneID(database: database, name: ZoneName(address.zoneName)), address: address, isShared: true)
        }
    }

    static func zoneNotFound(_ address: ZoneAddress) -> CloudError {
        CloudError(
            .zoneNotFound, inner: CloudError.InnerCode.zoneNotFound, "Zone does not exist",
            ["zone": address.description])
    }
}
