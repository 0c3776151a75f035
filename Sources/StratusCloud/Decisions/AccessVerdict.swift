// Which zone a request means, what that zone can do, and who may read and write which record. Pure decisions:
//
//   AccessVerdict  (stored record, sent record, caller, permissions) → refusal or nil
//   GrantVerdict   (record type, caller) → permissions in the public database
//   ScopeVerdict   (address, database, caller) → zone
//   ZoneVerdict    (stored zone, sent zone) → capabilities or refusal
//
// In a private database its owner may do everything. In the public database the grants of the record's type decide
// (S-18), in another person's zone the accepted shares (`ZoneAccess`). User records belong to the system: their user
// modifies them, and no client creates or deletes one, even with a grant (S-15).

import StratusModel

enum AccessVerdict {
    static let usersType = RecordType("Users")

    /// Why the caller may not save a record, or nil. `userRecordOwner` is the user to whose user record the name
    /// belongs, if any. `permissions` are those for the existing record, or for a new record of this type.
    static func saveRefusal(
        type: RecordType, name: RecordName, existing: StoredRecord?, permissions: TypePermissions, caller: UserName,
        userRecordOwner: UserName?
    ) -> CloudError? {
        if let owner = userRecordOwner {
            if owner != caller { return denied("WRITE operation not permitted", name) }
            return type == usersType ? nil : typeChanged(name)
        }
        if type == usersType { return denied("CREATE operation not permitted", name) }
        guard let existing else {
            return permissions.contains(.create) ? nil : denied("CREATE operation not permitted", name)
        }
        guard permissions.contains(.write) else { return denied("WRITE operation not permitted", name) }
        return existing.record.type == type ? nil : typeChanged(name)
    }

    /// Why the caller may not delete a record, or nil.
    static func deleteRefusal(
        name: RecordName, existing: StoredRecord?, permissions: TypePermissions, userRecordOwner: UserName?
    ) -> CloudError? {
        if userRecordOwner != nil { return denied("DELETE operation not permitted", name) }
        guard existing != nil, !permissions.contains(.write) else { return nil }
        return denied("DELETE operation not permitted", name)
    }

    static func denied(_ text: StaticString, _ name: RecordName) -> CloudError {
        CloudError.notPermitted(text, ["record": name.text])
    }

    /// The same for a broken rule of sharing. Root and share are those in which the caller sees the record.
    static func denied(
        _ text: StaticString, _ name: RecordName, rule: String, root: RecordName? = nil, share: RecordName? = nil
    ) -> CloudError {
        denied(text, name).ofSharing(rule: rule, root: root?.text, share: share?.text)
    }

    private static func typeChanged(_ name: RecordName) -> CloudError {
        CloudError(
            .invalidArguments, "A record's type cannot change. Save another record, or delete this one first.",
            ["record": name.text])
    }
}

/// The permissions that the grants of a record type give a caller in the public database. The role `_world` includes
/// every caller, `_icloud` those with a usable account, `_creator` the creator of the record. Roles that a schema
/// creates have no members here: on the real service people are added to them by hand.
enum GrantVerdict {
    /// The permissions for a record of the type, or for a new record, which has no creator yet. A type without grants,
    /// or an unknown one, has Apple's defaults (S-18).
    static func permissions(
        _ type: RecordTypeSchema?, hasAccount: Bool, isCreator: Bool
    ) -> TypePermissions {
        let granted = type?.grants ?? [:]
        let grants = granted.isEmpty ? RecordTypeSchema.defaultGrants : granted
        var permissions = grants[.world] ?? []
        if hasAccount { permissions.formUnion(grants[.anyUser] ?? []) }
        if hasAccount && isCreator { permissions.formUnion(grants[.creator] ?? []) }
        return permissions
    }
}

/// The zone that a request means.
struct ResolvedZone: Hashable, Sendable {
    let id: ZoneID
    /// The zone's address for the caller.
    let address: ZoneAddress
    /// Whether it belongs to another person, and is seen through the caller's shared database (D-01).
    var isShared = false

    var isDefault: Bool { id.name.text == ZoneAddress.defaultZoneName }
    var isPublic: Bool { id.database.scope == .public }
    /// Whether requests to it can be atomic.
    var isTransactional: Bool { !isDefault && !isPublic }
}

extension ResolvedZone {
    /// The zone with its address for a user, whether or not they see anything in it.
    init(id: ZoneID, as user: UserName) {
        isShared = id.database.scope == .private && id.database.owner != user
        address = ZoneAddress(
            zoneName: id.name.text,
            ownerName: isShared ? id.database.owner?.text ?? "" : ZoneAddress.currentUser)
        self.id = id
    }
}

/// Resolves addresses. A client's owner name is a claim.
enum ScopeVerdict {
    /// The address with `__defaultOwner__` instead of the caller's own user name.
    static func canonical(_ address: ZoneAddress, caller: UserName?) -> ZoneAddress {
        guard let caller, UserName(address.ownerName) == caller else { return address }
        return ZoneAddress(zoneName: address.zoneName)
    }

    static func canonical(_ address: RecordAddress, caller: UserName?) -> RecordAddress {
        RecordAddress(recordName: address.recordName, zone: canonical(address.zone, caller: caller))
    }

    /// The zone that an address means.
    ///
    /// Throws `invalidArguments` for another person's zone in the private database and for the caller's own zone in the
    /// shared database (D-05), `zoneNotFound` for a zone that cannot exist. It does not check whether the zone exists,
    /// or whether the caller sees anything in it.
    static func zone(
        _ claimed: ZoneAddress, in selector: DatabaseSelector, container: ContainerName, caller: UserName?
    ) throws(CloudError) -> ResolvedZone {
        let address = canonical(claimed, caller: caller)
        let isOwn = address.ownerName == ZoneAddress.currentUser
        let database: DatabaseID
        switch selector {
        case .public:
            guard isOwn, address.zoneName == ZoneAddress.defaultZoneName else { throw zoneNotFound(claimed) }
            database = DatabaseID(container: container, owner: nil, scope: .public)
        case .private:
            guard isOwn else {
                throw CloudError(
                    .invalidArguments, "PrivateDB can't be used to access another user's zone",
                    ["zone": claimed.description])
            }
            guard let caller else { throw CloudError(.notAuthenticated, "No account is signed in.") }
            guard NameRules.isZoneName(address.zoneName) else { throw zoneNotFound(claimed) }
            database = DatabaseID(container: container, owner: caller, scope: .private)
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
            database = DatabaseID(container: container, owner: UserName(address.ownerName), scope: .private)
        }
        return ResolvedZone(
            id: ZoneID(database: database, name: ZoneName(address.zoneName)), address: address,
            isShared: selector == .shared)
    }

    static func zoneNotFound(_ address: ZoneAddress) -> CloudError {
        CloudError(
            .zoneNotFound, inner: CloudError.InnerCode.zoneNotFound, "Zone does not exist",
            ["zone": address.description])
    }
}

enum ZoneVerdict {
    /// What a zone can do (Z-02, Z-06). Custom zones of private databases can do everything, except that a zone with
    /// its own key can only be shared as a whole. The default zone and the public database have no capabilities. In
    /// another person's zone the caller takes part in shares of records.
    static func capabilities(of zone: ResolvedZone, _ scope: ZoneEncryptionScope) -> ZoneCapabilities {
        guard zone.isTransactional else { return [] }
        if zone.isShared { return [.fetchChanges, .atomic, .sharing] }
        return scope == .perZone
            ? [.fetchChanges, .atomic, .zoneWideSharing] : [.fetchChanges, .atomic, .sharing, .zoneWideSharing]
    }

    /// Why an existing zone may not be saved with an encryption scope, or nil. The scope is fixed when a zone is
    /// created. A client that saves without a scope over a zone that has one does not know of scopes (Z-06).
    static func scopeRefusal(stored: ZoneEncryptionScope, sent: ZoneEncryptionScope) -> CloudError? {
        switch (stored, sent) {
        case (.perRecord, .perZone):
            CloudError(.invalidArguments, "A zone's encryption scope cannot change. Create another zone.")
        case (.perZone, .perRecord):
            CloudError(
                .serverRejectedRequest, "The zone has its own encryption scope. Save it as it was fetched.")
        case (.perRecord, .perRecord), (.perZone, .perZone): nil
        }
    }
}
