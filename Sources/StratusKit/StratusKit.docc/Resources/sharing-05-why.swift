let explanation = try await cloud.explainAccess(
    to: record.recordID, of: alice, inContainer: "iCloud.com.example.app", for: bob)
print(explanation)  // the chain, the share, the participant, the verdict: a line each
if explanation.mayChange { print("… so the edit button may be shown.") }
