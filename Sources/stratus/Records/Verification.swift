// Verifies a whole store: bytes against checksums, indexes against records, then accounts, quotas, assets, shares and
// subscriptions.

import StratusCloud
import StratusModel
import StratusRecords
import StratusStore

struct Verification {
    let entryCount: Int
    /// The commit that opening the store has dropped.
    private let droppedCommit: [String: String]?
    let damages: [StoreError]
    /// Whether the bytes of files were checked: not those of a server.
    private let hasChecksums: Bool
    /// Nil if damaged bytes prevented all other checks.
    private(set) var indexes: IndexReport?
    private var accounts = VerifierReport<AccountFault>()
    private var assets = VerifierReport<AssetFault>()
    private var shares = VerifierReport<ShareFault>()
    private var subscriptions = VerifierReport<SubscriptionFault>()

    /// Whether nothing is wrong. Stray files do not count: the next host removes them.
    var isClean: Bool {
        damages.isEmpty && indexes?.isClean == true && accounts.count == 0 && assets.faultCount == 0
            && shares.count == 0 && subscriptions.count == 0
    }

    /// How the process ends because of the result; nil if nothing is wrong.
    var exit: ExitStatus? {
        let hasDamage = !damages.isEmpty || assets.findings.contains { $0.kind == .damaged }
        return hasDamage ? .corruption : isClean ? nil : .failure
    }

    /// Gets the part, how much of it is done, the total, and the unit.
    typealias Listener = (_ what: String, _ done: Int, _ total: Int, _ unit: ProgressUnit) -> Void

    /// Reads everything.
    ///
    /// Throws the store's errors except corruption, which is part of the result.
    init(of session: StoreSession, progress: @escaping Listener) throws {
        droppedCommit = session.opened.files?.droppedCommit
        hasChecksums = !session.isOnServer
        if session.isOnServer {
            // The server checks its own pages.
            let counter = WorkCounter { count in
                progress("entries", count, 0, .items)
                return .next
            }
            entryCount = try session.engine.read(.wholeStore) { try $0.entryCount(in: .everything, counter) }
            damages = []
        } else {
            let checksums = try session.files.verifyChecksums { progress("entries", $0, $1, .bytes) }
            (entryCount, damages) = (checksums.entryCount, checksums.damages)
        }
        guard damages.isEmpty else { return }
        indexes = try session.engine.verify { progress("indexes", $0, $1, .items) }
        accounts = try AccountVerifier(engine: session.engine).verify { progress("accounts", $0, $1, .items) }
        shares = try ShareVerifier(engine: session.engine).verify { progress("shares", $0, $1, .items) }
        subscriptions = try SubscriptionVerifier(engine: session.engine).verify {
            progress("subscriptions", $0, $1, .items)
        }
        let verifier = AssetVerifier(engine: session.engine, store: session.assets)
        let files = try verifier.verify { progress("assets", $0, $1, .bytes) }
        assets = try verifier.verifyCounts(addingTo: files, owner: CloudService.assetOwner) {
            progress("who holds assets", $0, $1, .items)
        }
    }

    /// Reads everything, and shows the progress.
    init(of session: StoreSession, _ console: Console) throws {
        let progress = ProgressLine("verifying", on: console)
        try self.init(of: session) { progress.update($0, $1, of: $2, $3) }
    }

    /// The faults in one kind of data, with those findings that are kept.
    private struct Faults {
        let what: String
        let count: Int
        let unkeptCount: Int
        let findings: [(kind: String, place: String, detail: String, line: String)]

        init<Kind>(_ what: String, _ report: VerifierReport<Kind>, count: Int? = nil, kind: (Kind) -> String) {
            self.what = what
            self.count = count ?? report.count
            unkeptCount = report.unkeptCount
            findings = report.findings.map { (kind($0.kind), $0.place, $0.detail, $0.description) }
        }
    }

    private var faults: [Faults] {
        [
            Faults("account", accounts, kind: \.rawValue),
            Faults("asset", assets, count: assets.faultCount, kind: \.rawValue),
            Faults("share", shares, kind: \.rawValue),
            Faults("subscription", subscriptions) { _ in "subscription" },
        ]
    }

    /// Lines for people; the last one is the summary.
    func lines() -> [String] {
        var lines = damages.map { "damaged: " + VisibleText.of($0.description) }
        guard let indexes else {
            return lines + ["verify: \(Quantities.count(damages.count, "damage")); the indexes were not checked"]
        }
        lines += indexes.findings.map { VisibleText.of($0.description) }
        let found = indexes.missingCount + indexes.danglingCount + indexes.wrongCount + indexes.identityCount
        lines += Self.more(found - indexes.findings.count, of: nil)
        for kind in faults {
            lines += kind.findings.map { "\(kind.what): " + VisibleText.of($0.line) }
            lines += Self.more(kind.unkeptCount, of: "\(kind.what)s")
        }
        lines.append(
            "checked \(Quantities.count(indexes.recordsChecked, "record")), "
                + "\(Quantities.count(indexes.entriesChecked, "index entry", "index entries")), "
                + Quantities.count(entryCount, "entry", "entries") + (hasChecksums ? " against their checksums" : ""))
        var summary = "verify: \(indexes.summary)"
        for kind in faults where kind.count > 0 {
            summary += ", \(Quantities.count(kind.count, "fault")) of \(kind.what)s"
        }
        if assets.strayCount > 0 { summary += ", \(Quantities.count(assets.strayCount, "stray file"))" }
        lines.append(summary)
        return lines
    }

    /// Prints the result.
    func show(_ console: Console) throws {
        for line in lines() { try console.line(line) }
        try console.object(object)
        try console.flush()
    }

    /// The line for findings that are not listed.
    private static func more(_ count: Int, of what: String?) -> [String] {
        count > 0 ? ["… and \(Quantities.count(count)) more" + (what.map { " of \($0)" } ?? "")] : []
    }

    var object: JSONObject {
        let (indexes, faults) = (indexes ?? IndexReport(), faults)
        let dropped: JSONObject = droppedCommit.map { ["droppedCommit": JSONObject(sorted: $0)] } ?? [:]
        let counts: JSONObject = [
            "damages": damages.map { ErrorReport($0).object }, "records": indexes.recordsChecked,
            "indexEntries": indexes.entriesChecked, "zones": indexes.zonesChecked, "missing": indexes.missingCount,
            "dangling": indexes.danglingCount, "wrongCounts": indexes.wrongCount,
            "identityFaults": indexes.identityCount,
        ]
        let findings =
            indexes.findings.map { ("\($0.kind)", $0.place, $0.detail) }
            + faults.flatMap(\.findings).map { ($0.kind, $0.place, $0.detail) }
        return ["clean": isClean, "entries": entryCount] + dropped + counts
            + JSONObject(members: faults.map { ("\($0.what)Faults", $0.count) })
            + [
                "strayFiles": assets.strayCount,
                "findings": findings.map { ["kind": $0, "place": $1, "detail": $2] as JSONObject },
            ]
    }
}

extension RebuildProgress.Step {
    /// The step for one zone.
    func words(of zone: ZoneName) -> String {
        switch self {
        case .counting: "(counting)"
        case .records: "records of \(zone.text)"
        case .places: "the hierarchy of \(zone.text)"
        case .entries: "index entries of \(zone.text)"
        case .shares: "share roots of \(zone.text)"
        }
    }
}

extension IndexingPart {
    /// The part in words that follow "filling indexes".
    var words: String {
        switch self {
        case .zones: "(listing zones)"
        case .counting: "(counting)"
        case .records: "of records"
        }
    }
}

extension FreeingPart {
    /// The part in words that follow "removing" or "deleting".
    var words: String {
        switch self {
        case .counting: "(counting)"
        case .holders: "holders of assets"
        case .departures: "data of deleted accounts"
        case .entries: "entries"
        }
    }
}
