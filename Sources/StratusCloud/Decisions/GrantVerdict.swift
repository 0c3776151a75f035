// What the grants of a record type let somebody do with its records in the public database: (type, who asks) →
// permissions. The world are all who ask, `_icloud` those with a usable account, `_creator` who created the record. Roles
// that a schema creates have no members here, for people are put into them by hand on the real service.

import StratusModel

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
