// Arrows only point down: a target's imports and its dependencies in the manifest are what the page allows.

enum ImportRule {
    static func findings(in source: SwiftSource, architecture: Architecture) -> [Finding] {
        guard let target = source.sourceTarget else { return [] }
        guard let entry = architecture.imports[target] else {
            return [Finding(source.path, "describe \(target) in the table of targets in \(Architecture.path)")]
        }
        guard let allowed = entry else { return [] }
        return source.imports.compactMap { module in
            guard !allowed.contains(module.text), module.text != target else { return nil }
            guard !Architecture.importableEverywhere.contains(module.text) else { return nil }
            return Finding(source.path, line: module.line, "\(target) may not import \(module.text)")
        }
    }

    /// Compares the manifest with the page, both ways; test and plugin targets are free.
    static func findings(inManifest manifest: SwiftSource, architecture: Architecture) -> [Finding] {
        let targets = ManifestTarget.targets(in: manifest)
        let modules = Set(targets.flatMap { $0.dependencies + [$0.name] })
        return targets.filter { $0.kind != "testTarget" && $0.kind != "plugin" }.flatMap { target -> [Finding] in
            guard let entry = architecture.imports[target.name] else {
                return [
                    Finding(manifest.path, "describe \(target.name) in the table of targets in \(Architecture.path)")
                ]
            }
            guard let allowed = entry else { return [] }
            let surplus = Set(target.dependencies).subtracting(allowed).sorted()
            let missing = allowed.intersection(modules).subtracting(target.dependencies).sorted()
            return surplus.map {
                Finding(manifest.path, "\(target.name) depends on \($0), which the page does not allow")
            }
                + missing.map { Finding(manifest.path, "\(target.name) does not depend on \($0), as the page says") }
        }
    }

    /// Targets of the page need their line of description.
    static func findings(in architecture: Architecture) -> [Finding] {
        architecture.descriptions.filter { $0.value.split(separator: " ").count < 3 }.keys.sorted().map {
            Finding(Architecture.path, "say in one line what \($0) is")
        }
    }
}

/// A target as the manifest's text declares it.
struct ManifestTarget: Equatable {
    let kind: String
    let name: String
    let dependencies: [String]

    static func targets(in manifest: SwiftSource) -> [ManifestTarget] {
        let kinds = ["testTarget", "executableTarget", "systemLibrary", "target", "plugin", "macro"]
        var targets: [ManifestTarget] = []
        // Targets that tests share are declared by a function of the manifest.
        let text = manifest.textWithoutComments.replacing("support(", with: ".target(")
        var rest = Substring(text)
        while let dot = rest.firstIndex(of: ".") {
            rest = rest[rest.index(after: dot)...]
            guard let kind = kinds.first(where: { rest.hasPrefix($0 + "(") }) else { continue }
            let body = balanced(rest.dropFirst(kind.count), open: "(", close: ")")
            rest = rest[body.endIndex...]
            guard let name = strings(in: body).first else { continue }
            var dependencies: [String] = []
            if let start = body.ranges(of: "dependencies:").first?.upperBound,
                let bracket = body[start...].firstIndex(of: "[")
            {
                dependencies = strings(in: balanced(body[bracket...], open: "[", close: "]"))
            }
            targets.append(ManifestTarget(kind: kind, name: name, dependencies: dependencies))
        }
        return targets
    }

    private static func balanced(_ text: Substring, open: Character, close: Character) -> Substring {
        var depth = 0
        for index in text.indices {
            if text[index] == open { depth += 1 }
            if text[index] == close { depth -= 1 }
            if depth == 0 { return text[...index] }
        }
        return text
    }

    /// The quoted strings, except those that name a package or a path.
    private static func strings(in text: Substring) -> [String] {
        let parts = text.split(separator: "\"", omittingEmptySubsequences: false)
        return parts.indices.filter { !$0.isMultiple(of: 2) }.compactMap { index in
            let label = parts[index - 1].trimmed
            return label.hasSuffix("package:") || label.hasSuffix("path:") ? nil : String(parts[index])
        }
    }
}
