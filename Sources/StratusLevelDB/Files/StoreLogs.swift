// The logs of a store: which ones must exist, their content, and how they end.
//
// LevelDB does not notice a missing log, silently skips zeros, treats a damaged length in the last block as the end of
// the file, and refuses to open a store whose last commit was half written when the machine crashed. So all logs are
// checked before LevelDB reads them.

internal import Glibc
internal import StratusStore

struct StoreLogs {
    let place: EnginePlace
    /// The last commit, if a crash lost pages of it.
    private(set) var droppedCommit: DroppedCommit?
    /// LevelDB's sequence number of the last write in whole commits.
    private(set) var lastSequence: UInt64 = 0

    /// Checks the MANIFEST and every live log. Without `syncsCommits` a last commit with lost pages is damage: it may
    /// have been acknowledged.
    ///
    /// Throws `.corruption` naming the file.
    mutating func inspect(syncsCommits: Bool) throws {
        let path = place.directory
        let (manifestName, found) = try Manifest.read(in: path)
        guard let manifest = found, !manifest.isDamaged else {
            throw StoreError.damagedLog(manifestName, of: place.path)
        }
        lastSequence = manifest.lastSequence
        let names = try SystemFiles.names(in: path)
        let acknowledged = AcknowledgedLogs.numbers(among: names)
        let logs = manifest.liveLogs(among: names)
        try checkRequiredLogs(manifest, logs, acknowledged)

        var hasNewer = false
        for (number, log) in logs where try SystemFiles.status("\(path)/\(log)")?.byteCount ?? 0 > 0 {
            let survey = try LogSurvey(log, in: path)
            switch survey.finding {
            case .intact: break
            case .unfinished:
                // A newer log was begun after all of this was synced.
                if hasNewer && syncsCommits { throw StoreError.damagedLog(log, of: place.path) }
            case .lostPages(let commit):
                let isFirst = commit.offset == 0 && acknowledged.contains(number)
                guard syncsCommits, !hasNewer, !isFirst else { throw StoreError.damagedLog(log, of: place.path) }
                droppedCommit = commit
            case .damaged: throw StoreError.damagedLog(log, of: place.path)
            }
            hasNewer = true
            lastSequence = max(lastSequence, survey.lastSequence ?? 0)
        }
        if droppedCommit?.firstSequence == nil { droppedCommit?.firstSequence = lastSequence + 1 }
    }

    /// Throws if the store ends before the write with this number.
    func checkReaches(_ sequence: UInt64) throws {
        guard lastSequence < sequence else { return }
        throw StoreError(
            .unavailable, "The store at the path is an older copy of the store that was open: put back the newer one.",
            ["path": place.path, "lastSequence": "\(lastSequence)", "acknowledgedSequence": "\(sequence)"])
    }

    /// Truncates the log before the commit that has lost pages. Both locks must be held.
    func dropUnacknowledgedCommit() throws {
        guard let droppedCommit else { return }
        try SystemFiles.cut("\(place.directory)/\(droppedCommit.log)", to: droppedCommit.offset)
    }

    /// Throws if a log is missing that the MANIFEST names, or if one that holds acknowledged commits is missing or
    /// empty.
    private func checkRequiredLogs(
        _ manifest: Manifest, _ logs: [(number: UInt64, name: String)], _ acknowledged: Set<UInt64>
    ) throws {
        let present = Dictionary(logs.map { ($0.number, $0.name) }) { first, _ in first }
        for number in manifest.requiredLogs(acknowledged: acknowledged).sorted() {
            guard let name = present[number] else {
                throw StoreError.damagedFile(
                    "A log of the store is missing: restore a backup, or run 'stratus repair-losing-damaged-data'.",
                    StoreFileName.logName(number), of: place.path)
            }
            if acknowledged.contains(number), try SystemFiles.status("\(place.directory)/\(name)")?.byteCount == 0 {
                throw StoreError.damagedFile(
                    "A log of the store is empty although it held commits: restore a backup, or run 'stratus repair-losing-damaged-data'.",
                    name, of: place.path)
            }
        }
    }
}

extension StoreError {
    static func damagedLog(_ file: String, of path: String) -> StoreError {
        damagedFile(
            "A log of the store is damaged: restore a backup, or run 'stratus repair-losing-damaged-data'.", file,
            of: path)
    }

    static func damagedFile(_ message: StaticString, _ file: String, of path: String) -> StoreError {
        StoreError(.corruption, message, ["path": path, "candidateFiles": file], damage: .files)
    }
}

// Acknowledged logs: an empty file "<number>.acknowledged" says that the log with this number holds acknowledged
// commits.
//
// A log that was never written to is empty, and a log that the MANIFEST does not name may never have existed. Without
// these files, a log that has lost its name or its contents would look the same.
//
// Invariants:
//   1. The name of a log is durable before its first commit is acknowledged: the directory is synced.
//   2. The file is created after that sync, and durable before the commit is acknowledged. So if the file exists, the
//      log exists and has contents, whenever a crash occurs.
//   3. Files are removed only for logs that are in tables: LevelDB switches to a third log only when the first is in a
//      table, and opening writes all of them to tables.

/// Notes the logs of an open store. Used by one thread at a time, the flusher.
final class AcknowledgedLogs: @unchecked Sendable {  // because the lane has one flusher at a time
    private let lock: StoreLock
    /// The log that was noted last.
    private var newest: UInt64?

    init(_ lock: StoreLock) {
        self.lock = lock
    }

    /// Gives a log a durable name, and notes that it holds commits. Call it after a commit is synced and before it is
    /// acknowledged, on one thread at a time. `log` is the log that was written to, if LevelDB reports it.
    func note(_ log: UInt64?) throws {
        do {
            if let log = try log ?? newestWrittenLog(), log != newest { try noteNew(log) }
        } catch { throw lock.place.asGiven(error) }
    }

    private func noteNew(_ log: UInt64) throws(SystemError) {
        let directory = lock.place.directory
        try lock.syncDirectory()
        do {
            try SystemFiles.create("\(directory)/\(StoreFileName.acknowledgedName(log))", [])
        } catch {
            guard error.number == EEXIST else { throw error }
        }
        try lock.syncDirectory()
        if let newest {
            Self.remove(Self.numbers(among: try SystemFiles.names(in: directory)).filter { $0 < newest }, in: directory)
        }
        newest = log
    }

    /// The newest log with contents, for a LevelDB that does not report which log it has written to.
    private func newestWrittenLog() throws(SystemError) -> UInt64? {
        let directory = lock.place.directory
        var newest: UInt64?
        for name in try SystemFiles.names(in: directory) {
            guard case .log(let number) = StoreFileName(name), number > newest ?? 0 else { continue }
            if try SystemFiles.status("\(directory)/\(name)")?.byteCount ?? 0 > 0 { newest = number }
        }
        return newest
    }

    /// The logs that are noted among a directory's names.
    static func numbers(among names: [String]) -> Set<UInt64> {
        Set(
            names.compactMap { name in
                guard case .acknowledged(let number) = StoreFileName(name) else { return nil }
                return number
            })
    }

    /// Removes the notes of logs that are in tables. A note that cannot be removed is ignored later: its log is no
    /// longer live.
    static func remove(_ logs: Set<UInt64>, in directory: String) {
        for log in logs { try? SystemFiles.remove("\(directory)/\(StoreFileName.acknowledgedName(log))") }
    }
}

// If the machine crashes while the last commit is written, some of its pages may be missing on disk: a lost page reads
// as zeros. No caller got an acknowledgement of such a commit, so it is dropped. It is distinguished from damage as
// follows:
//
//   lost page    Zeros from the later of its start and the commit's first byte to the end of the page or of the file.
//   dropped      Every fragment of the commit whose checksum does not fit touches a lost page, there is such a page,
//                and no first or full fragment follows at the next place where one can begin.
//
// Docs/RELIABILITY.md lists what cannot be distinguished: a last commit that was acknowledged and zeroed later, and one
// that itself contains a page of zeros and has a flipped bit in the same fragment.

/// A commit that was never acknowledged, has lost pages, and was dropped when the store was opened.
package struct DroppedCommit: Hashable, Sendable {
    /// The log that held it.
    package let log: String
    /// The offset where it began and the log now ends.
    package let offset: Int
    package let byteCount: Int
    /// LevelDB's sequence number of its first write; nil if unknown.
    package var firstSequence: UInt64?
    /// LevelDB's sequence number of its last write; nil if its header is lost.
    package let lastSequence: UInt64?

    /// The properties of the commit, by name.
    package var fields: [String: String] {
        var fields = ["log": log, "offset": "\(offset)", "byteCount": "\(byteCount)"]
        fields["firstSequence"] = firstSequence.map { "\($0)" }
        fields["lastSequence"] = lastSequence.map { "\($0)" }
        return fields
    }
}

/// A log, read from its beginning to its end.
struct LogSurvey {
    enum Finding: Equatable {
        case intact
        /// The log ends in the middle of a commit, which does not count.
        case unfinished
        /// The last commit has lost pages.
        case lostPages(DroppedCommit)
        /// The bytes at this offset are damaged.
        case damaged(offset: Int)
    }

    private(set) var finding = Finding.intact
    /// The sequence number of the last write of the last whole commit.
    private(set) var lastSequence: UInt64?

    private let name: String
    private let byteCount: Int
    private var commit: CommitHeader?

    init(_ name: String, in directory: String) throws(SystemError) {
        self.name = name
        let path = "\(directory)/\(name)"
        byteCount = try SystemFiles.status(path)?.byteCount ?? 0
        var start = 0
        while start < byteCount {
            let block = try SystemFiles.read(path, from: start, atMost: min(LogFile.blockByteCount, byteCount - start))
            if block.isEmpty { break }
            if let offset = readBlock(block, at: start) {
                // A commit that begins before the damage is read as a whole.
                let from = commit?.offset ?? offset
                finding =
                    CommitPages(
                        name, try SystemFiles.read(path, from: from, atMost: byteCount - from), at: from,
                        previousSequence: lastSequence
                    ).finding
                return
            }
            start += block.count
        }
        if finding == .intact, commit != nil { finding = .unfinished }
    }

    /// Returns the offset of the first damage or lost page in a block.
    private mutating func readBlock(_ block: [UInt8], at start: Int) -> Int? {
        var misplaced: Int?
        let end = LogFile.forEachFragment(block) { type, payload in
            let offset = start + payload.startIndex - LogFile.headerByteCount
            if misplaced == nil, !take(type, payload, at: offset) { misplaced = offset }
        }
        if let misplaced { return misplaced }
        switch end {
        case .whole: break
        case .zeros(let offset), .damaged(let offset): return start + offset
        case .torn: finding = .unfinished
        }
        return nil
    }

    /// Adds a fragment. Returns false if it cannot follow the one before it.
    private mutating func take(_ type: UInt8, _ payload: ArraySlice<UInt8>, at offset: Int) -> Bool {
        guard (commit == nil) == (type == LogFile.full || type == LogFile.first) else { return false }
        var current = commit ?? CommitHeader(offset: offset)
        current.take(payload)
        let isWhole = type == LogFile.full || type == LogFile.last
        if isWhole, let last = current.lastSequence { lastSequence = last }
        commit = isWhole ? nil : current
        return true
    }
}

/// The first bytes of a commit, which is one batch: the sequence number of its first write, and how many it has.
private struct CommitHeader {
    static let byteCount = 12

    let offset: Int
    fileprivate var bytes: [UInt8] = []

    mutating func take(_ payload: ArraySlice<UInt8>) {
        bytes += payload.prefix(Self.byteCount - bytes.count)
    }

    var firstSequence: UInt64? { bytes.count < Self.byteCount ? nil : number(0..<8) }

    var lastSequence: UInt64? {
        guard let firstSequence else { return nil }
        return firstSequence &+ number(8..<12) &- 1
    }

    private func number(_ range: Range<Int>) -> UInt64 {
        bytes[range].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}

/// The pages of a damaged log from the beginning of a commit to the end of the file.
private struct CommitPages {
    private static let pageByteCount = 4_096

    private(set) var finding: LogSurvey.Finding
    private let bytes: [UInt8]
    /// The offset of the bytes in the file.
    private let start: Int
    private var lostPages: [Range<Int>] = []

    init(_ name: String, _ bytes: [UInt8], at start: Int, previousSequence: UInt64?) {
        self.bytes = bytes
        self.start = start
        finding = .damaged(offset: start)
        var page = start
        while page < end {
            let next = min((page / Self.pageByteCount + 1) * Self.pageByteCount, end)
            if bytes[page - start..<next - start].allSatisfy({ $0 == 0 }) { lostPages.append(page..<next) }
            page = next
        }
        if let offset = firstDamage() {
            finding = .damaged(offset: offset)
            return
        }
        let header = survivingHeader()
        finding = .lostPages(
            DroppedCommit(
                log: name, offset: start, byteCount: bytes.count,
                firstSequence: header?.firstSequence ?? previousSequence.map { $0 + 1 },
                lastSequence: header?.lastSequence))
    }

    private var end: Int { start + bytes.count }

    private func isLost(_ range: Range<Int>) -> Bool { lostPages.contains { $0.overlaps(range) } }

    /// The offset of damage that lost pages do not explain; nil if they explain everything.
    private func firstDamage() -> Int? {
        guard !lostPages.isEmpty else { return start }
        var offset = start
        while offset < end {
            let blockEnd = (offset / LogFile.blockByteCount + 1) * LogFile.blockByteCount
            guard blockEnd - offset >= LogFile.headerByteCount else {
                offset = blockEnd
                continue
            }
            // A fragment that is incomplete at the end of the file is unfinished.
            guard end - offset >= LogFile.headerByteCount else { return nil }
            if isLost(offset..<offset + LogFile.headerByteCount) {
                // The fragment's length is lost with its header: continue at the next block.
                offset = blockEnd
                continue
            }
            switch LogFile.fragment(bytes, at: offset - start, blockEnd: blockEnd - start) {
            case .whole(let type, let payload):
                let beginsCommit = type == LogFile.full || type == LogFile.first
                if beginsCommit != (offset == start) { return offset }
                offset = start + payload.upperBound
            case .cut: return nil
            case .damaged(let payload):
                let next = payload.map { start + $0.upperBound } ?? blockEnd
                guard isLost(offset..<min(next, end)) else { return offset }
                offset = next
            }
        }
        return nil
    }

    /// The commit's own header, if no part of it is lost.
    private func survivingHeader() -> CommitHeader? {
        let count = LogFile.headerByteCount + CommitHeader.byteCount
        let blockEnd = (start / LogFile.blockByteCount + 1) * LogFile.blockByteCount
        guard bytes.count >= count, start + count <= blockEnd, !isLost(start..<start + count) else { return nil }
        var header = CommitHeader(offset: start)
        header.take(bytes[LogFile.headerByteCount..<count])
        return header
    }
}
