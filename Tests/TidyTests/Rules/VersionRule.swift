// The version is in one place, `Stratus.version`. This finds pages that name another: the newest section of the
// changelog, and manifests on pages that add Stratus to a package.

enum VersionRule {
    static let source = "Sources/StratusKit/Host/Stratus.swift"
    static let changelog = "CHANGELOG.md"

    static func findings(texts: [String: String]) -> [Finding] {
        guard let version = text(after: "static let version = \"", in: texts[source] ?? "") else {
            return [Finding(source, "there is no 'static let version': the version is defined here")]
        }
        var findings: [Finding] = []
        let headings = (texts[changelog] ?? "").split(separator: "\n").filter { $0.hasPrefix("## ") }
        if headings.first?.dropFirst(3).trimmed != version {
            findings.append(Finding(changelog, "begin with a section '## \(version)', the version of \(source)"))
        }
        for (path, page) in texts where path.hasSuffix(".md") {
            for (index, line) in page.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
                guard line.contains("stratus.git"), let named = text(after: "from: \"", in: line) else { continue }
                if named != version {
                    findings.append(Finding(path, line: index + 1, "the version is \(version), not \(named)"))
                }
            }
        }
        return findings
    }

    /// What follows a mark up to the next quotation mark.
    private static func text(after mark: String, in text: some StringProtocol) -> String? {
        guard let range = text.ranges(of: mark).first else { return nil }
        return String(text[range.upperBound...].prefix { $0 != "\"" })
    }
}
