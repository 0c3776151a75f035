// Each engine is named in one place: above its target one file of each host may name it, and LevelDB's repair is called
// from one file. Code that opens stores there gives their format number, so that software of an older format
// refuses them. Reads are announced in files of their own, apart from the code that reads.

enum SeamRule {
    /// Targets that may name an engine, in one file each. Targets for tests may name it anywhere.
    static let hosts: Set = ["stratus", "StratusKit"]
    private static let engine = "StratusLevelDB"
    private static let engines = [engine, "StratusPostgres"]
    private static let exempt: Set = [
        "StratusTestSupport", "StratusWorkloads", "stratus-test-program",
    ]

    static func findings(in sources: [SwiftSource]) -> [Finding] {
        engines.flatMap { names(of: $0, in: sources) } + repairCalls(in: sources) + sources.flatMap(formatlessOpenings)
            + sources.flatMap(announcedReads)
    }

    /// Announced reads among the code that reads: it would build plans on stores that gain nothing from them.
    private static func announcedReads(in source: SwiftSource) -> [Finding] {
        guard let target = source.sourceTarget, ["StratusRecords", "StratusCloud"].contains(target),
            !source.path.hasSuffix("+Reads.swift")
        else { return [] }
        return source.lines(of: [".", "prefetch", "("]).map {
            Finding(source.path, line: $0, "reads are announced in a file whose name ends in +Reads.swift")
        }
    }

    /// Stores that are opened, copied or repaired without a format number: the engine's default would replace it.
    private static func formatlessOpenings(in source: SwiftSource) -> [Finding] {
        guard let target = source.sourceTarget, hosts.contains(target) else { return [] }
        let calls: [([String], needed: String)] = [
            (["LevelDBOptions", "("], "formatVersion"), (["LevelDBStore", ".", "open", "("], "options"),
            (["LevelDBStore", ".", "backup", "("], "options"),
            (["LevelDBStore", ".", "repairLosingDamagedData", "("], "options"),
        ]
        return calls.flatMap { call, needed in
            source.arguments(ofCallsOf: call).filter { !$0.words.contains(needed) }.map {
                Finding(source.path, line: $0.line, "a store is opened without its format number: pass \(needed)")
            }
        }
    }

    private static func names(of engine: String, in sources: [SwiftSource]) -> [Finding] {
        var first: [String: String] = [:]
        var findings: [Finding] = []
        for source in sources.sorted(by: { $0.path < $1.path }) {
            guard let target = source.sourceTarget, target != engine, !exempt.contains(target) else { continue }
            guard let token = source.tokens.first(where: { $0.text == engine }) else { continue }
            if !hosts.contains(target) {
                findings.append(Finding(source.path, line: token.line, "\(target) may not name \(engine)"))
            } else if let other = first[target] {
                findings.append(
                    Finding(source.path, line: token.line, "\(engine) is named in \(other) already: go there"))
            } else {
                first[target] = source.path
            }
        }
        return findings
    }

    private static func repairCalls(in sources: [SwiftSource]) -> [Finding] {
        let callers = sources.compactMap { source -> (source: SwiftSource, line: Int)? in
            guard source.sourceTarget != nil else { return nil }
            return source.tokens.first { $0.text == "leveldb_repair_db" }.map { (source, $0.line) }
        }
        return callers.enumerated().compactMap { index, caller in
            guard index > 0 || caller.source.sourceTarget != engine else { return nil }
            return Finding(
                caller.source.path, line: caller.line,
                "repair is explicit, in one file of \(engine): nothing repairs silently")
        }
    }
}
