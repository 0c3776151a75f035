// What zones can do and how they may be changed: (zone as stored, zone as sent) → capabilities or refusal.

import StratusModel

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
