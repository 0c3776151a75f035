let metadata = try await cloud.open(url, as: bob)

let container = cloud.container(metadata.containerIdentifier, signedInAs: bob)
let shared = container.sharedCloudDatabase
let zones = try await shared.allRecordZones()
let changes = try await shared.recordZoneChanges(inZoneWith: zones[0].zoneID, since: nil)
