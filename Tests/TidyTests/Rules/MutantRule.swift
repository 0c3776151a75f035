// The definitions of planted faults (`Tests/Mutants`) fit the sources and name existing tests, so that `make mutants`
// can run them at any time.

enum MutantRule {
    static let folder = "Tests/Mutants/"
    /// The targets of the product, each of which has faults.
    static let targets = [
        "StratusModel", "StratusStore", "StratusLevelDB", "StratusPostgres", "StratusLayout", "StratusRecords",
        "StratusCloud", "StratusKit", "stratus",
    ]

    static func isDefinition(_ path: String) -> Bool { path.hasPrefix(folder) && path.hasSuffix(".txt") }

    static func faults(in texts: [String: String]) -> [PlantedFault] {
        texts.keys.filter(isDefinition).sorted()
            .flatMap { PlantedFault.definitions(in: texts[$0] ?? "", path: $0).faults }
    }

    static func findings(texts: [String: String]) -> [Finding] {
        let faults = faults(in: texts)
        var findings = texts.keys.filter(isDefinition)
            .flatMap { PlantedFault.definitions(in: texts[$0] ?? "", path: $0).findings }
        for (number, same) in Dictionary(grouping: faults, by: \.number) where same.count > 1 {
            findings += same.dropFirst().map { $0.finding("the number \(number) is taken") }
        }
        for fault in faults {
            if !fault.mutated.contains(PlantedFault.isSwitch(fault.number)) {
                findings.append(fault.finding("the replacement has no \(PlantedFault.isSwitch(fault.number))"))
            }
        }
        for (path, own) in Dictionary(grouping: faults, by: \.file) {
            guard let text = texts[path] else {
                findings += own.map { $0.finding("there is no file '\(path)'") }
                continue
            }
            findings += PlantedFault.plant(own, in: text).findings
        }
        return findings + missingTests(of: faults, texts: texts)
    }

    private static func missingTests(of faults: [PlantedFault], texts: [String: String]) -> [Finding] {
        let files = texts.filter { $0.key.hasPrefix("Tests/") && $0.key.hasSuffix(".swift") }.map {
            names(in: $0.value)
        }
        return faults.flatMap { fault -> [Finding] in
            if fault.tests.isEmpty { return [fault.finding("it names no test")] }
            return fault.tests.filter { name in
                let parts = name.split(separator: "/").map(String.init)
                return !files.contains {
                    $0.types.contains(parts[0]) && parts.dropFirst().allSatisfy($0.functions.contains)
                }
            }.map { fault.finding("there is no test '\($0)'") }
        }
    }

    /// The types and functions that a file declares or extends.
    private static func names(in text: String) -> (types: Set<String>, functions: Set<String>) {
        var names: (types: Set<String>, functions: Set<String>) = ([], [])
        for line in text.split(separator: "\n") {
            let words = line.split { " (<:".contains($0) }
            for (word, name) in zip(words, words.dropFirst()) {
                switch word {
                case "struct", "class", "enum", "extension": names.types.insert(String(name))
                case "func": names.functions.insert(String(name))
                default: break
                }
            }
        }
        return names
    }
}
