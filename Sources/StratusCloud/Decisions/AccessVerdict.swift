// Who may read and write which record: (record as stored, record as asked for, caller, permissions) → refusal or nil.
//
// In a private database its person may do everything; in the public one the grants of the record's type decide (S-18,
// `GrantVerdict`), in another's zone what was accepted of its shares (`ZoneAccess`). User records are the system's: their
// person modifies them, nobody creates or deletes one, whatever is granted (S-15).

import StratusModel

enum AccessVerdict {
    static let usersType = RecordType("Users")

    /// Why the caller may not save a record, or nil. `userRecordOwner` is the user whose record the name is, if any;
    /// `permissions` are those for the existing record, or where there is none for one of this type.
    static func saveRefusal(
        type: RecordType, name: RecordName, existing: StoredRecord?, permissions: RecordPermissions, caller: UserName,
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
        name: RecordName, existing: StoredRecord?, permissions: RecordPermissions, userRecordOwner: UserName?
    ) -> CloudError? {
        if userRecordOwner != nil { return denied("DELETE operation not permitted", name) }
        guard existing != nil, !permissions.contains(.write) else { return nil }
        return denied("DELETE operation not permitted", name)
    }

    /// Why the caller may not read an existing record, or nil.
    static func readRefusal(name: RecordName, permissions: RecordPermissions) -> CloudError? {
        permissions.contains(.read) ? nil : denied("READ operation not permitted", name)
    }

    static func denied(_ text: StaticString, _ name: RecordName) -> CloudError {
        CloudError(.permissionFailure, inner: CloudError.InnerCode.permission, text, ["record": name.text])
    }

    /// The same where a rule of sharing is broken; root and share are those that the caller sees the record in.
    static func denied(
        _ text: StaticString, _ name: RecordName, rule: String, root: RecordName? = nil, share: RecordName? = nil
    ) -> CloudError {
        denied(text, name).ofSharing(rule: rule, root: root?.text, share: share?.text)
    }

    private static func typeChanged(_ name: RecordName) -> CloudError {
        CloudError(
            .invalidArguments, "A record keeps its type: save another record, or delete this one first.",
            ["record": name.text])
    }
}

// What the grants of a record type let somebody do with its records in the public database: (type, who asks) →
// permissions. The world are all who ask, `_icloud` those with a usable account, `_creator` who created the record. Roles
// that a schema creates have no members here, for people are put into them by hand on the real service.

enum GrantVerdict {
    /// The permissions of somebody with a record of the type, or with all records that they would create, where nobody
    /// is the creator yet. A type without grants, or one that is not known, has Apple's own (S-18).
    static func permissions(
        _ type: RecordTypeSchema?, hasAccount: Bool, isCreator: Bool
    ) -> RecordPermissions {
        let granted = type?.grants ?? [:]
        let grants = granted.isEmpty ? RecordTypeSchema.defaultGrants : granted
        var permissions = grants[.world] ?? []
        if hasAccount { permissions.formUnion(grants[.anyUser] ?? []) }
        if hasAccount && isCreator { permissions.formUnion(grants[.creator] ?? []) }
        return permissions
    }
}

// Which zone a client means: (address, database, caller) → zone. The owner name is a claim; the caller's own name
// and the one that stands for the caller are the same.

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

// What zones can do and how they may be changed: (zone as stored, zone as sent) → capabilities or refusal.

enum ZoneVerdict {
    /// What a zone can do: custom zones of private databases everything, but those with a key of their own can only be
    /// shared whole; the default zone and the public database nothing (Z-02, Z-06). In another's zone nobody shares what
    /// is not theirs, but takes part in what is shared.
    static func capabilities(of zone: ResolvedZone, _ scope: ZoneEncryptionScope) -> ZoneCapabilities {
        guard zone.isTransactional else { return [] }
        if zone.isShared { return [.fetchChanges, .atomic, .sharing] }
        return scope == .perZone
            ? [.fetchChanges, .atomic, .zoneWideSharing] : [.fetchChanges, .atomic, .sharing, .zoneWideSharing]
    }

    /// Why an existing zone may not be saved with an encryption scope, or nil. The scope is fixed when a zone is made;
    /// who saves without one over a zone that has one knows nothing of scopes (Z-06).
    static func scopeRefusal(stored: ZoneEncryptionScope, sent: ZoneEncryptionScope) -> CloudError? {
        switch (stored, sent) {
        case (.perRecord, .perZone):
            CloudError(.invalidArguments, "A zone's encryption scope is fixed when it is made: make another zone.")
        case (.perZone, .perRecord):
            CloudError(
                .serverRejectedRequest, "The zone has an encryption scope of its own: save it as it was fetched.")
        case (.perRecord, .perRecord), (.perZone, .perZone): nil
        }
    }

    /// What a zone that is not there is answered with (S-12, Z-08).
    static func missing(_ address: ZoneAddress, purged reason: ZonePurgeReason?) -> CloudError {
        switch reason {
        case nil: return ScopeVerdict.zoneNotFound(address)
        case .purged:
            return CloudError(
                .userDeletedZone, "The person deleted the zone's data: ask them before anything is uploaded again.",
                ["zone": address.description])
        case .encryptedDataReset:
            var error = ScopeVerdict.zoneNotFound(address)
            error.didResetEncryptedData = true
            return error
        }
    }
}
