// Checks a whole store: the bytes against their checksums, then the indexes against the records.

import StratusModel
import StratusRecords
import StratusStore

struct Verification {
    let entryCount: Int
    let damages: [StoreError]
    /// Nil when the bytes are so damaged that the indexes could not be looked at.
    let indexes: IndexReport?

    var isClean: Bool { damages.isEmpty && indexes?.isClean == true }

    /// Reads everything. `progress` says what is being looked at, how much of it, and of how much where that is known.
    ///
    /// Throws the store's errors but for corruption, which is part of the result.
    init(of session: StoreSession, progress: (_ what: String, _ done: Int) -> Void = { _, _ in }) throws {
        let checksums = try session.verifyChecksums { progress("entries", $0) }
        entryCount = checksums.entryCount
        guard checksums.damages.isEmpty else {
            damages = checksums.damages
            indexes = nil
            return
        }
        damages = []
        indexes = try session.engine.verify { progress("records of \($0.zone.text)", $0.recordsChecked) }
    }

    /// Lines for people; the last one sums up.
    func lines() -> [String] {
        var lines = damages.map { "damaged: " + VisibleText.of($0.description) }
        guard let indexes else {
            return lines + ["verify: \(Quantities.count(damages.count, "damage")); the indexes were not looked at"]
        }
        lines += indexes.findings.map { VisibleText.of($0.description) }
        let found = indexes.missingCount + indexes.danglingCount + indexes.wrongCount
        if found > indexes.findings.count {
            lines.append("… and \(Quantities.count(found - indexes.findings.count)) more")
        }
        lines.append(
            "checked \(Quantities.count(indexes.recordsChecked, "record")), "
                + "\(Quantities.count(indexes.entriesChecked)) index entries, "
                + "\(Quantities.count(entryCount)) entries against their checksums")
        lines.append("verify: \(indexes.summary)")
        return lines
    }

    var object: JSONObject {
        var object: JSONObject = ["clean": .boolean(isClean), "entries": JSONValue(entryCount)]
        object.add("damages", .array(damages.map { .object(ErrorReport($0).object) }))
        object.add("records", JSONValue(indexes?.recordsChecked ?? 0))
        object.add("indexEntries", JSONValue(indexes?.entriesChecked ?? 0))
        object.add("zones", JSONValue(indexes?.zonesChecked ?? 0))
        object.add("missing", JSONValue(indexes?.missingCount ?? 0))
        object.add("dangling", JSONValue(indexes?.danglingCount ?? 0))
        object.add("wrongCounts", JSONValue(indexes?.wrongCount ?? 0))
        let findings = (indexes?.findings ?? []).map { finding in
            JSONValue.object([
                "kind": .string("\(finding.kind)"), "place": .string(finding.place), "detail": .string(finding.detail),
            ])
        }
        object.add("findings", .array(findings))
        return object
    }
}
