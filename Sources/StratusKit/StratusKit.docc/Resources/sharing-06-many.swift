let permissions = try await cloud.permissions(
    for: recordIDs, of: alice, inContainer: "iCloud.com.example.app", account: bob)
let visible = recordIDs.filter { permissions[$0]?.contains(.read) == true }
