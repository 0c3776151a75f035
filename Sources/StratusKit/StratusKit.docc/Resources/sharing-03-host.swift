try await cloud.invite(
    [CKUserIdentity.LookupInfo(emailAddress: email)], to: share.recordID, in: container,
    permission: .readWrite)
