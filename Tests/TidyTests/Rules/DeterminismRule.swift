// Below floor 5 the clock, identifiers and randomness are injected, so that a failure is one seed. Above it identities
// come from one file, and from Foundation's `UUID()` nowhere.

enum DeterminismRule {
    /// Floors 1 to 4. They also print nothing.
    static let quietTargets: Set = [
        "StratusModel", "StratusStore", "StratusLevelDB", "StratusPostgres", "StratusLayout", "StratusRecords",
        "StratusCloud",
    ]

    private static let banned: [(tokens: [String], instead: String)] = [
        (["Date", "(", ")"], "a date that the caller passes"),
        (["Date", ".", "now"], "a date that the caller passes"),
        (["UUID", "(", ")"], "an identifier that the caller passes"),
        (["SystemRandomNumberGenerator"], "a generator that the caller passes"),
        ([".", "random", "("], "a value that the caller passes"),
        ([".", "randomElement", "("], "a value that the caller passes"),
        ([".", "shuffled", "("], "an order that the caller passes"),
        ([".", "shuffle", "("], "an order that the caller passes"),
    ]

    /// Anywhere in the product: a changed wall clock makes waits for a date arbitrarily long.
    private static let bannedWaits: [(tokens: [String], instead: String)] = [
        (["timeIntervalSinceNow"], "a monotonic clock"),
        (["DispatchWallTime"], "a monotonic clock"),
        (["wallDeadline"], "a monotonic clock"),
        (["wallTimeout"], "a monotonic clock"),
    ]

    /// Waits by the wall clock.
    static func waits(in source: SwiftSource) -> [Finding] {
        guard let target = source.sourceTarget, target != "StratusTestSupport" else { return [] }
        return bannedWaits.flatMap { tokens, instead in
            source.lines(of: tokens).map { line in
                Finding(source.path, line: line, "'\(tokens.joined())' waits by the wall clock: use \(instead)")
            }
        }
    }

    /// Nowhere in Sources: without a descriptor or /dev they give one constant and no error.
    private static let predictable: [[String]] = [
        ["UUID", "(", ")"], ["UUID", ".", "init", "(", ")"], ["NSUUID", "(", ")"],
    ]
    /// Tests use it to show what Foundation returns.
    private static let witness = "Tests/Support/stratus-test-program/DrawnIdentities.swift"

    /// Where the library and the tool draw from the system's generator.
    private static let drawingPlace = "Sources/StratusKit/Identifiers/SystemRandom.swift"
    private static let drawingTargets: Set = ["StratusKit", "stratus"]
    private static let draws: [[String]] = [["SystemRandomNumberGenerator"], [".", "random", "(", "in"]]

    /// Identities that may be predictable or drawn elsewhere than in the one place.
    static func identityFindings(in source: SwiftSource) -> [Finding] {
        guard let target = source.sourceTarget else { return [] }
        var banned: [(tokens: [String], instead: String)] = []
        // Below floor 5 `findings` reports the first of them already.
        let isQuiet = quietTargets.contains(target)
        if source.path != witness { banned += predictable.dropFirst(isQuiet ? 1 : 0).map { ($0, "UUID.drawn()") } }
        if drawingTargets.contains(target), source.path != drawingPlace {
            banned += draws.map { ($0, "what \(drawingPlace) draws") }
        }
        return banned.flatMap { tokens, instead in
            source.lines(of: tokens).map { line in
                Finding(source.path, line: line, "'\(tokens.joined())' may be predictable: use \(instead)")
            }
        }
    }

    static func findings(in source: SwiftSource) -> [Finding] {
        guard let target = source.sourceTarget, quietTargets.contains(target) else { return [] }
        return banned.flatMap { tokens, instead in
            source.lines(of: tokens).map { line in
                Finding(source.path, line: line, "'\(tokens.joined())' below floor 5: use \(instead)")
            }
        }
    }
}
