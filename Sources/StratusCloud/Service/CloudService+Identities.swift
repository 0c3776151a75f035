// Looking for other people: by e-mail address, telephone number or user record.

import StratusModel
import StratusRecords

extension CloudService {
    /// Looks for people, in the order of `lookups`; nil for those who do not exist or do not want to be found. The
    /// caller finds themself always.
    ///
    /// Throws `notAuthenticated` and its like without a usable account, `limitExceeded` for too many look-ups (L-01).
    package func discover(
        _ lookups: [IdentityLookup], as caller: Caller
    ) throws(CloudError) -> [DiscoveredIdentity?] {
        try reporting(.discoverUsers, caller, itemCount: lookups.count) { _ in
            let asking = try requireAccount(caller)
            try checkCount(of: lookups)
            return try reading { reader in
                try lookups.map { lookup in
                    guard let found = try account(lookup, asking, in: reader), found.isFound(by: asking) else {
                        return nil
                    }
                    return DiscoveredIdentity(lookup: lookup, userName: found.userName, name: found.name)
                }
            }
        }
    }

    /// Resolves people who are to be invited, in the order of `lookups`. An unknown handle is a person without an
    /// account; a malformed one fails with `invalidArguments`, an unknown user record with `unknownItem`.
    ///
    /// Throws as `discover`.
    package func resolveInvited(
        _ lookups: [IdentityLookup], as caller: Caller
    ) throws(CloudError) -> [Result<InvitableIdentity, CloudError>] {
        try resolveInvited(lookups, as: caller, reporting: .discoverUsers)
    }

    /// The same, as another kind of request.
    func resolveInvited(
        _ lookups: [IdentityLookup], as caller: Caller, reporting kind: RequestKind
    ) throws(CloudError) -> [Result<InvitableIdentity, CloudError>] {
        try reporting(kind, caller, itemCount: lookups.count) { _ in
            let asking = try requireAccount(caller)
            try checkCount(of: lookups)
            return try reading { reader in
                try lookups.map { lookup in try resolve(lookup, asking, in: reader) }
            }
        }
    }

    private func resolve(
        _ lookup: IdentityLookup, _ asking: Account, in reader: RecordReader
    ) throws -> Result<InvitableIdentity, CloudError> {
        if let handle = lookup.handle {
            do throws(CloudError) { _ = try AccountLimits.normalized(handle) } catch { return .failure(error) }
        }
        let found = try account(lookup, asking, in: reader)
        if found == nil, case .userRecord(let name) = lookup {
            return .failure(
                CloudError(
                    .unknownItem, inner: CloudError.InnerCode.unknownItem,
                    "No person has this user record: look for them by a handle.", ["userRecord": name]))
        }
        guard let found, found.standing != .suspended else {
            return .success(InvitableIdentity(lookup: lookup, hasAccount: false))
        }
        let mayBeKnown = found.isFound(by: asking)
        return .success(
            InvitableIdentity(
                lookup: lookup, hasAccount: true,
                userName: mayBeKnown || lookup.handle == nil ? found.userName : nil,
                name: mayBeKnown ? found.name : nil))
    }

    private func account(_ lookup: IdentityLookup, _ asking: Account, in reader: RecordReader) throws -> Account? {
        switch lookup {
        case .email, .phone: try lookup.handle.flatMap { try accountDirectory.account(handle: $0, in: reader) }
        case .userRecord(ZoneAddress.currentUser): asking
        case .userRecord(let name): try accountDirectory.account(userName: UserName(name), in: reader)
        }
    }

    private func checkCount(of lookups: [IdentityLookup]) throws(CloudError) {
        guard lookups.count <= options.requestItemCount else {
            throw CloudError(
                .limitExceeded, inner: CloudError.InnerCode.limit,
                "Too many people are looked for at once: split the request.",
                ["count": "\(lookups.count)", "limit": "\(options.requestItemCount)"])
        }
    }
}

extension Account {
    /// Whether another account may find this one by a handle.
    fileprivate func isFound(by asking: Account) -> Bool {
        id == asking.id || (isDiscoverable && standing != .suspended)
    }
}
