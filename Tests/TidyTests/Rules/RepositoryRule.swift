// What does not belong into the repository: build products, and names that mean something on one machine only.

enum RepositoryRule {
    private static let untracked = [".build/", ".swiftpm/", "DerivedData/", "demo-store/", "Package.resolved"]
    private static let machinePaths = ["/work/", "/root/", "/opt/", "/home/", "/Users/"]
    /// Hosts a document or a manifest may name; names reserved for examples are free.
    private static let hosts: Set = [
        "github.com", "www.swift.org", "swift.org", "docs.swift.org", "www.apache.org", "developer.apple.com",
        "www.icloud.com", "www.sqlite.org", "www.w3.org",
        // No host: the address of a database begins with its container, as in db://iCloud.default/public.
        "icloud.default",
        // Any machine's own.
        "127.0.0.1", "0.0.0.0",
    ]
    private static let exampleSuffixes = ["example", "example.com", "example.org", "example.net", "test", "invalid"]

    static func findings(inTracked paths: [String]) -> [Finding] {
        paths.filter { path in
            untracked.contains { path == $0 || path.hasPrefix($0) || path.contains("/" + $0) }
        }.map { Finding($0, "is a product of a build: remove it from the repository") }
    }

    static func findings(path: String, text: String) -> [Finding] {
        var findings: [Finding] = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            // Most lines end here: searching text is slow in a debug build.
            guard line.utf8.contains(where: { "/<>".utf8.contains($0) }) else { continue }
            for machinePath in machinePaths where contains(machinePath, in: line) {
                findings.append(Finding(path, line: index + 1, "'\(machinePath)…' is a path of one machine"))
            }
            if line.hasPrefix("<<<<<<< ") || line.hasPrefix(">>>>>>> ") {
                findings.append(Finding(path, line: index + 1, "a merge was committed unfinished"))
            }
            for host in unknownHosts(in: line) {
                findings.append(
                    Finding(path, line: index + 1, "the host '\(host)' is not on the list of RepositoryRule"))
            }
        }
        return findings
    }

    /// True if an absolute path begins like this; `src/work/` is not such a path.
    private static func contains(_ machinePath: String, in line: Substring) -> Bool {
        line.ranges(of: machinePath).contains { range in
            guard range.lowerBound > line.startIndex else { return true }
            let before = line[line.index(before: range.lowerBound)]
            return !before.isLetter && !before.isNumber && !"_-.$})*".contains(before)
        }
    }

    private static func unknownHosts(in line: Substring) -> [String] {
        line.split(separator: "://", omittingEmptySubsequences: false).dropFirst().compactMap { rest in
            let host = rest.prefix { $0.isLetter || $0.isNumber || ".-".contains($0) }.lowercased()
            guard host.contains("."), !hosts.contains(host) else { return nil }
            return exampleSuffixes.contains { host == $0 || host.hasSuffix("." + $0) } ? nil : host
        }
    }
}
