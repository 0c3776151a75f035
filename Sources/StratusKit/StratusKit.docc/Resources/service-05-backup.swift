let report = try await cloud.backup(to: destination)
for finding in report.findings { print("counted wrongly: \(finding)") }
for path in report.removedPaths { print("removed what a killed backup had left: \(path)") }
