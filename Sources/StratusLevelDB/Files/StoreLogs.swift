// The logs of a store that is to be opened: which must be there, and what is in them.
//
// LevelDB takes a missing log for one that never was, skips zeros in silence, takes a damaged length in the last block for the
// end of the file, and refuses to open a store whose last commit was half written when the machine died. So everything is
// read before LevelDB reads it.

internal import StratusStore

struct StoreLogs {
    private let place: EnginePlace
    /// The last commit, where a crash has taken pages of it.
    private(set) var droppedCommit: DroppedCommit?
    /// LevelDB's number of the last write of all whole commits.
    private(set) var lastSequence: UInt64 = 0

    init(_ place: EnginePlace) {
        self.place = place
    }

    /// Checks the MANIFEST and every live log. Without `syncsCommits` a last commit that has lost pages is damage: it may have
    /// been acknowledged.
    ///
    /// Throws `.corruption` naming the file.
    mutating func inspect(syncsCommits: Bool) throws {
        let path = place.directory
        let source = try Manifest.read(in: path)
        guard let manifest = Manifest(source.manifest), !manifest.isDamaged else {
            throw damageError(source.manifestName)
        }
        lastSequence = manifest.lastSequence
        let names = try FileSystem.names(in: path)
        let acknowledged = AcknowledgedLogs.numbers(among: names)
        let logs = manifest.liveLogs(among: names)
        try checkRequiredLogs(manifest, logs, acknowledged)

        var hasNewer = false
        for (number, log) in logs where try FileSystem.status("\(path)/\(log)")?.byteCount ?? 0 > 0 {
            let survey = try LogSurvey(log, in: path)
            switch survey.finding {
            case .intact: break
            case .unfinished:
                // What was written later was written after a sync of all of this.
                if hasNewer && syncsCommits { throw damageError(log) }
            case .lostPages(let commit):
                let isFirst = commit.offset == 0 && acknowledged.contains(number)
                guard syncsCommits, !hasNewer, !isFirst else { throw damageError(log) }
                droppedCommit = commit
            case .damaged: throw damageError(log)
            }
            hasNewer = true
            lastSequence = max(lastSequence, survey.lastSequence ?? 0)
        }
        if droppedCommit?.firstSequence == nil { droppedCommit?.firstSequence = lastSequence + 1 }
    }

    /// Throws when the store ends before the write of that number.
    func checkReaches(_ sequence: UInt64) throws {
        guard lastSequence < sequence else { return }
        throw StoreError(
            .unavailable, "The store at the path is an older copy of the one that was open: put that one back.",
            ["path": place.path, "lastSequence": "\(lastSequence)", "acknowledgedSequence": "\(sequence)"])
    }

    /// Cuts the log off before the commit that has lost pages. Both locks are held.
    func dropUnacknowledgedCommit() throws {
        guard let droppedCommit else { return }
        try FileSystem.cut("\(place.directory)/\(droppedCommit.log)", to: droppedCommit.offset)
    }

    /// Throws when a log is missing that the MANIFEST names, or one that holds acknowledged commits is missing or empty.
    private func checkRequiredLogs(
        _ manifest: Manifest, _ logs: [(number: UInt64, name: String)], _ acknowledged: Set<UInt64>
    ) throws {
        let present = Dictionary(logs.map { ($0.number, $0.name) }) { first, _ in first }
        for number in manifest.requiredLogs(acknowledged: acknowledged).sorted() {
            guard let name = present[number] else {
                throw StoreError(
                    .corruption,
                    "A log of the store is missing: restore a backup, or run 'stratus repair-losing-damaged-data'.",
                    ["path": place.path, "candidateFiles": StoreFileName.logName(number)])
            }
            if acknowledged.contains(number), try FileSystem.status("\(place.directory)/\(name)")?.byteCount == 0 {
                throw StoreError(
                    .corruption,
                    "A log of the store is empty, and held commits: restore a backup, or run 'stratus repair-losing-damaged-data'.",
                    ["path": place.path, "candidateFiles": name])
            }
        }
    }

    private func damageError(_ file: String) -> StoreError {
        StoreError(
            .corruption,
            "A log of the store is damaged: restore a backup, or run 'stratus repair-losing-damaged-data'.",
            ["path": place.path, "candidateFiles": file])
    }
}
