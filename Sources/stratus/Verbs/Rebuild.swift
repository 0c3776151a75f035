// stratus rebuild: the indexes of a zone are made anew from its records.

import ArgumentParser
import FoundationEssentials
import StratusKit
import StratusModel
import StratusRecords
import Synchronization

struct Rebuild: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Makes the indexes of a zone anew from its records.",
        discussion: """
            For a store whose bytes are sound but whose indexes 'stratus verify' finds fault with. Change tokens of the \
            zone expire. What the records themselves contradict is not mended, and reported. Interrupted, the zone takes \
            no requests until it is rebuilt again; a host that has the store finishes what it has begun.

            --json: {"zone","clean","records","missing","dangling","wrongCounts","cost":{…}}; the counts are \
            of what 'verify' finds in the store afterwards.

            Example: stratus rebuild --zone files --store ./store
            """)

    @OptionGroup var store: StoreArguments
    @OptionGroup var zone: ZoneArguments

    /// Whether this process is at it: the zone is marked, and closed until it is done.
    private static let isAtIt = Mutex(false)

    func run() throws {
        let console = Console(usesJSON: store.json)
        let incarnation = UUID.drawn()
        let (name, report, cost) = try StoreSession.with(store, .existing) { session in
            let id = try session.existingZone(zone)
            if session.served != nil { Interruption.stopAtSafePoints() } else { Self.warnAtEnd(id.name) }
            let progress = Progress("rebuilding", total: nil, on: console)
            defer { progress.finish() }
            let cost = try StepCost.measuring(session) {
                try session.rebuild(id, incarnation: incarnation) { progress.update($0, $1, of: $2) }
            }.cost
            Self.isAtIt.withLock { $0 = false }
            Interruption.stopAtOnce()
            let report = try session.engine.verify { progress.update("and verifying indexes of all zones", $0, of: $1) }
            return (id.name.text, report, cost)
        }
        try console.line("rebuilt the indexes of zone \(VisibleText.of(name)): \(cost.summary)")
        for finding in report.findings { try console.line(VisibleText.of(finding.description)) }
        try console.line("verify: \(report.summary)")
        try console.object([
            "zone": .string(name), "clean": .boolean(report.isClean), "records": JSONValue(report.recordsChecked),
            "missing": JSONValue(report.missingCount), "dangling": JSONValue(report.danglingCount),
            "wrongCounts": JSONValue(report.wrongCount), "cost": .object(cost.object),
        ])
        try console.flush()
        guard report.isClean else { throw ExitCode(ExitStatus.failure.rawValue) }
    }

    /// Says where a signal ends the rebuild that the zone is closed.
    private static func warnAtEnd(_ zone: ZoneName) {
        isAtIt.withLock { $0 = true }
        Interruption.beforeEnd {
            guard isAtIt.withLock({ $0 }) else { return }
            Console.noteOfSignal(closedNote(of: zone))
        }
    }

    /// What is said of a zone whose rebuild was ended, in one line whatever its name is.
    static func closedNote(of zone: ZoneName) -> String {
        "interrupted: zone \(VisibleText.of(zone.text)) takes no requests until it is rebuilt, so run the same again"
    }
}
