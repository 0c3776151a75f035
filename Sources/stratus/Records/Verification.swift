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
    /// Nil if damaged bytes prevented all other checks.
    let indexes: IndexReport?
    let accounts: VerifierReport<AccountFault>
    let assets: VerifierReport<AssetFault>
    let shares: VerifierReport<ShareFault>
    let subscriptions: VerifierReport<SubscriptionFault>

    /// Whether nothing is wrong. Stray files do not count: the next host removes them.
    var isClean: Bool {
        damages.isEmpty && indexes?.isClean == true && accounts.count == 0 && assets.faultCount == 0
            && shares.count == 0 && subscriptions.count == 0
    }

    /// Gets the part, how much of it is done, the total, and the unit.
    typealias Listener = (_ what: String, _ done: Int, _ total: Int, _ unit: ProgressUnit) -> Void

    /// Reads everything.
    ///
    /// Throws the store's errors except corruption, which is part of the result.
    init(of session: StoreSession, progress: @escaping Listener = { _, _, _, _ in }) throws {
        droppedCommit = session.droppedCommit
        let checksums = try session.verifyChecksums { progress("entries", $0, $1, .bytes) }
        entryCount = checksums.entryCount
        guard checksums.damages.isEmpty else {
            damages = checksums.damages
            indexes = nil
            accounts = VerifierReport()
            assets = VerifierReport()
            shares = VerifierReport()
            subscriptions = VerifierReport()
            return
        }
        damages = []
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

    /// Lines for people; the last one is the summary.
    func lines() -> [String] {
        var lines = damages.map { "damaged: " + VisibleText.of($0.description) }
        guard let indexes else {
            return lines + ["verify: \(Quantities.count(damages.count, "damage")); the indexes were not checked"]
        }
        lines += indexes.findings.map { VisibleText.of($0.description) }
        let found = indexes.missingCount + indexes.danglingCount + indexes.wrongCount + indexes.identityCount
        lines += Self.more(found - indexes.findings.count, of: nil)
        lines += Self.lines("account", accounts.findings, unkept: accounts.unkeptCount)
        lines += Self.lines("asset", assets.findings, unkept: assets.unkeptCount)
        lines += Self.lines("share", shares.findings, unkept: shares.unkeptCount)
        lines += Self.lines("subscription", subscriptions.findings, unkept: subscriptions.unkeptCount)
        lines.append(
            "checked \(Quantities.count(indexes.recordsChecked, "record")), "
                + "\(Quantities.count(indexes.entriesChecked, "index entry", "index entries")), "
                + "\(Quantities.count(entryCount, "entry", "entries")) against their checksums")
        var summary = "verify: \(indexes.summary)"
        if accounts.count > 0 { summary += ", \(Quantities.count(accounts.count, "fault")) of accounts" }
        if assets.faultCount > 0 { summary += ", \(Quantities.count(assets.faultCount, "fault")) of assets" }
        if shares.count > 0 { summary += ", \(Quantities.count(shares.count, "fault")) of shares" }
        if subscriptions.count > 0 { summary += ", \(Quantities.count(subscriptions.count, "fault")) of subscriptions" }
        if assets.strayCount > 0 { summary += ", \(Quantities.count(assets.strayCount, "stray file"))" }
        lines.append(summary)
        return lines
    }

    private static func lines(_ what: String, _ findings: [VerifierFinding<some FindingKind>], unkept: Int) -> [String]
    {
        findings.map { "\(what): " + VisibleText.of($0.description) } + more(unkept, of: "\(what)s")
    }

    /// The line for findings that are not listed.
    private static func more(_ count: Int, of what: String?) -> [String] {
        count > 0 ? ["… and \(Quantities.count(count)) more" + (what.map { " of \($0)" } ?? "")] : []
    }

    var object: JSONObject {
        var object: JSONObject = ["clean": .boolean(isClean), "entries": JSONValue(entryCount)]
        if let droppedCommit {
            var fields: JSONObject = [:]
            for (name, value) in droppedCommit.sorted(by: { $0.key < $1.key }) { fields.add(name, .string(value)) }
            object.add("droppedCommit", .object(fields))
        }
        object.add("damages", .array(damages.map { .object(ErrorReport($0).object) }))
        object.add("records", JSONValue(indexes?.recordsChecked ?? 0))
        object.add("indexEntries", JSONValue(indexes?.entriesChecked ?? 0))
        object.add("zones", JSONValue(indexes?.zonesChecked ?? 0))
        object.add("missing", JSONValue(indexes?.missingCount ?? 0))
        object.add("dangling", JSONValue(indexes?.danglingCount ?? 0))
        object.add("wrongCounts", JSONValue(indexes?.wrongCount ?? 0))
        object.add("identityFaults", JSONValue(indexes?.identityCount ?? 0))
        object.add("accountFaults", JSONValue(accounts.count))
        object.add("assetFaults", JSONValue(assets.faultCount))
        object.add("shareFaults", JSONValue(shares.count))
        object.add("subscriptionFaults", JSONValue(subscriptions.count))
        object.add("strayFiles", JSONValue(assets.strayCount))
        var findings = (indexes?.findings ?? []).map { finding in
            Self.finding("\(finding.kind)", finding.place, finding.detail)
        }
        findings += accounts.findings.map { Self.finding($0.kind.rawValue, $0.place, "\($0)") }
        findings += assets.findings.map { Self.finding($0.kind.rawValue, $0.place, "\($0)") }
        findings += shares.findings.map { Self.finding($0.kind.rawValue, $0.place, $0.detail) }
        findings += subscriptions.findings.map { Self.finding("subscription", $0.place, "\($0)") }
        object.add("findings", .array(findings))
        return object
    }

    private static func finding(_ kind: String, _ place: String, _ detail: String) -> JSONValue {
        .object(["kind": .string(kind), "place": .string(place), "detail": .string(detail)])
    }
}

extension RebuildProgress {
    /// The part in words that follow a verb.
    var part: String { step.words(of: zone) }
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
