// stratus verify: is everything there, and does it fit together?

import ArgumentParser
import FoundationEssentials
import StratusKit
import StratusModel
import StratusRecords
import Synchronization

struct Verify: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Checks every byte against its checksum, every index against the records, and what is counted.",
        discussion: """
            Also looked at are accounts and all that leads to them, what every account holds of its quota, the \
            contents of assets (every file, how often it is held, and what it says), and shares: what they hold, their \
            roots, who has accepted them, their URLs. Identities that occur twice, or that everybody can guess because \
            an earlier version had no random numbers, are reported too. Nothing is changed and no secret shown. Exit code 1 \
            means that something disagrees ('stratus rebuild' repairs indexes), 5 that bytes are damaged (restore a \
            backup). Stray files are shown and are no fault: orphaned contents are removed by the next host. Lists \
            the first findings of each kind, but every damaged or missing content of an asset; the counts include all. A \
            last commit that was never acknowledged, and of which a crash took part, is dropped and named, and is no fault.

            --json: {"clean","entries","damages","records","indexEntries","zones","missing","dangling","wrongCounts",\
            "identityFaults","accountFaults","assetFaults","shareFaults","subscriptionFaults","strayFiles",\
            "findings":[{"kind","place","detail"}]}, and \
            "droppedCommit":{"log","offset","byteCount","firstSequence","lastSequence"} where one was dropped

            Example: stratus verify --store ./store
            """)

    @OptionGroup var store: WholeStoreArguments

    func run() throws {
        let console = Console(usesJSON: store.json)
        let result = try StoreSession.with(store, .readingAssets) { session in
            let progress = ProgressLine("verifying", total: nil, on: console)
            defer { progress.finish() }
            return try Verification(of: session, progress: progress.update)
        }
        for line in result.lines() { try console.line(line) }
        try console.object(result.object)
        try console.flush()
        guard result.indexes != nil else { throw ExitCode(ExitStatus.corruption.rawValue) }
        guard result.isClean else { throw ExitCode(ExitStatus.failure.rawValue) }
    }
}

// stratus rebuild: the indexes of a zone are made anew from its records.

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
            if session.served != nil { StopSignal.stopAtSafePoints() } else { Self.warnAtEnd(id.name) }
            let progress = ProgressLine("rebuilding", total: nil, on: console)
            defer { progress.finish() }
            let cost = try StepCost.measuring(session) {
                try session.rebuild(id, incarnation: incarnation) { progress.update($0, $1, of: $2) }
            }.cost
            Self.isAtIt.withLock { $0 = false }
            StopSignal.stopAtOnce()
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
        StopSignal.beforeEnd {
            guard isAtIt.withLock({ $0 }) else { return }
            Console.noteOfSignal(closedNote(of: zone))
        }
    }

    /// What is said of a zone whose rebuild was ended, in one line whatever its name is.
    static func closedNote(of zone: ZoneName) -> String {
        "interrupted: zone \(VisibleText.of(zone.text)) takes no requests until it is rebuilt, so run the same again"
    }
}

// stratus recover: has a host reopen its store after a failed write.

struct Recover: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Has a host open its store again after a failed write.",
        discussion: """
            On a full disk, after an input or output error, or without its volume, a host refuses writes and answers reads \
            until its store is opened again; 'stratus stats' says so. Fix the cause, then run this: the host opens the store \
            in place and goes on. Nothing that was acknowledged is lost. Where no write has failed nothing happens.

            The host must serve its store: Stratus.Options.servesTool. A store without a host needs none of this: any verb \
            opens it.

            --json: {"recovered"}; false where no write had failed.

            Example: stratus recover --store ./store
            """)

    @OptionGroup var store: WholeStoreArguments

    func run() throws {
        let console = Console(usesJSON: store.json)
        try StorePath.require(store.store)
        guard let isReopened = try ServedStore.recover(storeAt: store.store) else {
            throw try StoreFiles.notServed(store.store, "No process has the store open: there is nothing to recover.")
        }
        try console.line(
            isReopened ? "the host has opened the store again, and takes writes" : "no write has failed: nothing to do")
        try console.object(["recovered": .boolean(isReopened)])
        try console.flush()
    }
}

// stratus repair-losing-damaged-data: what is left of a damaged store, when there is no backup.

struct RepairLosingDamagedData: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "repair-losing-damaged-data",
        abstract: "Makes a new store of what can still be read of a damaged one. The rest is lost.",
        discussion: """
            Restore a backup if there is one: what lies in damaged bytes is left out without being named, and values that \
            were overwritten or deleted may come back. The damaged store is left as it is. The destination must not exist; \
            it appears only when the new store is complete. Change tokens from before expire, and indexes are made anew \
            from the records that are left. The files of assets stay where they are: move the directory 'assets'.

            What contradicts itself afterwards is told as by 'stratus verify', with exit code 1: records whose parents \
            are lost, say, and what owners are counted to hold.

            --json: {"destination","unmended":[{"zone","error"}]}, then the line of 'stratus verify'.

            Example: stratus repair-losing-damaged-data ./salvaged --store ./store
            """,
        aliases: ["repair"])

    @Argument(help: "The directory to make.", completion: .directory)
    var destination: String

    @OptionGroup var store: WholeStoreArguments

    func run() throws {
        let console = Console(usesJSON: store.json)
        try StorePath.requireOutside(destination)
        Leftovers.sweep(besides: destination)
        try Leftovers.finish(at: store.store)
        UnfinishedWork.removeCopiesAtEnd(of: destination, by: StoreFiles.copyRemoval)
        let progress = ProgressLine("repairing", total: nil, on: console)
        defer { progress.finish() }
        let unmended = try StoreFiles.repairLosingDamagedData(of: store.store, to: destination) { part, done, total in
            if let total { progress.update(part, done, of: total) } else { progress.begin(part) }
        }
        for (zone, error) in unmended {
            let text = "not rebuilt: zone \(zone.name.text): \(error)"
            try console.line(VisibleText.of(text))
        }
        try console.object([
            "destination": .string(destination),
            "unmended": .array(
                unmended.map { zone, error in
                    var object: JSONObject = ["zone": .string(zone.name.text)]
                    object.add("error", .object(ErrorReport(error).object))
                    return .object(object)
                }),
        ])
        let session = try StoreSession(at: destination, store.database, .existing)
        defer { session.close() }
        let verification = try Verification(of: session) { progress.update("and verifying \($0)", $1, of: $2, $3) }
        for line in verification.lines() { try console.line(line) }
        try console.object(verification.object)
        try console.flush()
        guard unmended.isEmpty, verification.isClean else { throw ExitCode(ExitStatus.failure.rawValue) }
    }
}
