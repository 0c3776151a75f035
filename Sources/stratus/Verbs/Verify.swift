// stratus verify, rebuild, recover and repair-losing-damaged-data: find damage, and what to do about each kind of it.

import ArgumentParser
import FoundationEssentials
import StratusKit
import StratusModel
import StratusRecords

struct Verify: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Verifies a store: all checksums, indexes and counts.",
        discussion: """
            The verb checks every byte against its checksum, every index against the records, accounts and the ways to \
            find them, the quota used by every account, the contents of assets (each file, its users and its digest), \
            and shares (content, roots, participants, URLs). It also reports identities that occur twice, and \
            identities that can be guessed because an earlier version created them without random numbers. It changes \
            nothing and shows no secret. Exit code 1 means that something disagrees ('stratus rebuild' repairs \
            indexes), 5 that bytes are damaged (restore a backup). Stray files are listed but are not a fault: the \
            next host removes them. The output lists the first findings of each kind, and every damaged or missing \
            asset; the counts include all findings. If a crash cut off the last commit before it was acknowledged, the \
            verb names it; that is not a fault.

            --json: {"clean","entries","damages","records","indexEntries","zones","missing","dangling","wrongCounts",\
            "identityFaults","accountFaults","assetFaults","shareFaults","subscriptionFaults","strayFiles",\
            "findings":[{"kind","place","detail"}]}, and \
            "droppedCommit":{"log","offset","byteCount","firstSequence","lastSequence"} if one was dropped

            Example: stratus verify --store ./store
            """)

    @OptionGroup var store: WholeStoreArguments

    func run() throws {
        try StoreSession.with(store, .readingAssets) { session, console in
            let result = try Verification(of: session, console)
            try result.show(console)
            if let exit = result.exit { throw ExitCode(exit.rawValue) }
        }
    }
}

struct Rebuild: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Rebuilds the indexes of a zone from its records.",
        discussion: """
            Use it if 'stratus verify' finds wrong indexes in a store without damaged bytes. The zone's change tokens \
            expire. The verb reports contradictions between the records themselves, and does not repair them. If you \
            interrupt it, the zone takes no requests until you run it again; a host that has the store finishes what \
            it has begun.

            --json: {"zone","clean","records","missing","dangling","wrongCounts","cost":{…}}; the counts are those of \
            'stratus verify' afterwards.

            Example: stratus rebuild --zone files --store ./store
            """)

    @OptionGroup var store: StoreArguments
    @OptionGroup var zone: ZoneArguments

    func run() throws {
        let incarnation = UUID.drawn()
        try StoreSession.with(store, .existing) { session, console in
            let id = try session.existingZone(zone)
            let progress = ProgressLine("rebuilding", on: console)
            func rebuild() throws -> StepCost {
                try StepCost.measuring(session) {
                    try session.rebuild(id, incarnation: incarnation) { progress.update($0, $1, of: $2) }
                }.cost
            }
            // A host that has the store continues an interrupted rebuild.
            if session.served != nil { StopSignal.stopAtSafePoints() }
            let cost =
                try session.served != nil ? rebuild() : StopSignal.noting(Self.closedNote(of: id.name), while: rebuild)
            StopSignal.stopAtOnce()
            let report = try session.engine.verify { progress.update("and verifying indexes of all zones", $0, of: $1) }
            try console.line("rebuilt the indexes of zone \(VisibleText.of(id.name.text)): \(cost.summary)")
            for finding in report.findings { try console.line(VisibleText.of(finding.description)) }
            try console.line("verify: \(report.summary)")
            try console.object([
                "zone": id.name.text, "clean": report.isClean, "records": report.recordsChecked,
                "missing": report.missingCount, "dangling": report.danglingCount, "wrongCounts": report.wrongCount,
                "cost": cost.object,
            ])
            try console.flush()
            guard report.isClean else { throw ExitCode(ExitStatus.failure.rawValue) }
        }
    }

    /// The note after an interrupted rebuild: one line for any zone name.
    static func closedNote(of zone: ZoneName) -> String {
        "interrupted: zone \(VisibleText.of(zone.text)) takes no requests until it is rebuilt: run the same command again"
    }
}

struct Recover: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Makes a host reopen its store after a failed write.",
        discussion: """
            After a failed write (a full disk, an input or output error, a missing volume) a host refuses writes and \
            still answers reads; 'stratus stats' shows that. Fix the cause, then run this verb: the host opens the \
            store again and continues. No acknowledged write is lost. If no write has failed, nothing happens.

            The host must serve its store: Stratus.Options.servesTool. A store without a host does not need this verb.

            --json: {"recovered"}; false if no write had failed.

            Example: stratus recover --store ./store
            """)

    @OptionGroup var store: WholeStoreArguments

    func run() throws {
        let console = Console(usesJSON: store.json)
        let path = try StoreAddress.directory(
            of: store.store, instead: "A store on PostgreSQL recovers by itself: nothing has to be done.")
        try StorePath.require(path)
        guard let isReopened = try ServedStore.recover(storeAt: path) else {
            throw try StoreFiles.notServed(path, "No process has the store open: there is nothing to recover.")
        }
        try console.line(
            isReopened ? "the host has opened the store again and takes writes" : "no write has failed: nothing to do")
        try console.object(["recovered": isReopened])
        try console.flush()
    }
}

struct RepairLosingDamagedData: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "repair-losing-damaged-data",
        abstract: "Creates a new store from the readable parts of a damaged one. The rest is lost.",
        discussion: """
            Restore a backup instead if you have one: this verb leaves out damaged bytes without naming them, and \
            overwritten or deleted values may come back. The damaged store stays unchanged. The destination must not \
            exist; it appears when the new store is complete. Old change tokens expire, and indexes are rebuilt from \
            the remaining records. Asset files are not copied: move the directory 'assets' yourself.

            The verb then verifies the new store as 'stratus verify' does, with exit code 1 if something disagrees, \
            such as records whose parents are lost.

            --json: {"destination","unmended":[{"zone","error"}]}, then the line of 'stratus verify'.

            Example: stratus repair-losing-damaged-data ./salvaged --store ./store
            """,
        aliases: ["repair"])

    @Argument(help: "The directory to create.", completion: .directory)
    var destination: String

    @OptionGroup var store: WholeStoreArguments

    func run() throws {
        let console = Console(usesJSON: store.json)
        let path = try StoreAddress.directory(
            of: store.store, instead: "Restore a backup of the database, or use pg_amcheck to find its damage.")
        try StorePath.requireOutside(destination)
        Leftovers.sweep(besides: destination)
        try Leftovers.finish(at: path)
        StoreFiles.removeUnfinishedCopiesAtEnd(of: destination)
        let progress = ProgressLine("repairing", on: console)
        let unmended = try StoreFiles.repairLosingDamagedData(of: path, to: destination) { part, done, total in
            if let total { progress.update(part, done, of: total) } else { progress.begin(part) }
        }
        for (zone, error) in unmended {
            try console.line(VisibleText.of("not rebuilt: zone \(zone.name.text): \(error)"))
        }
        try console.object([
            "destination": destination,
            "unmended": unmended.map { zone, error -> JSONObject in
                ["zone": zone.name.text, "error": ErrorReport(error).object]
            },
        ])
        let session = try StoreSession(at: destination, store.database, .existing)
        defer { session.close() }
        let verification = try Verification(of: session) { progress.update("and verifying \($0)", $1, of: $2, $3) }
        try verification.show(console)
        guard unmended.isEmpty, verification.isClean else { throw ExitCode(ExitStatus.failure.rawValue) }
    }
}
