let report = try cloud.backup(to: destination)
for finding in report.findings { print("counted wrongly: \(finding)") }
for path in report.unfinishedPaths { print("left behind by a backup that did not end: \(path)") }
