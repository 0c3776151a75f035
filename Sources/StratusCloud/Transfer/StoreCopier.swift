// Copies a whole store into another one of any engine: entries, contents of assets, long-lived operations.
//
// How it works: the entries of one snapshot of the source are compared, page by page, with those of the target, and
// only what differs is written. A copy into an empty store is the case in which everything differs, and a copy that was
// interrupted goes on by comparing again: it needs no position, and no snapshot that is still the same. So it does not
// matter what was committed in between.
//
// Invariants:
//   1. From its first commit to its last the target has a mark in its format entry, and is no store: this software
//      says what to do, older software does not open it either.
//   2. The mark goes last: after the entries of both sides had the same count and digest, every content had its digest,
//      and all incarnations are new.
//   3. The ledger of the target names a content before its first part is written, as in a store that is in use.
//
// Contents are files on one engine and parts in the store on another. What differs in the entries is the number of the
// upload in the ledger. It is that of the source, or if that has files, a part of the digest: the name of a content is
// the same in every attempt, so a resumed copy finds what it has. Both digests of entries leave it out.

package import FoundationEssentials
import StratusLayout
import StratusModel
package import StratusRecords
package import StratusStore

/// What a copy has done.
package struct StoreCopyReport: Hashable, Sendable {
    /// The entries of the snapshot, without those that only one engine has.
    package var entryCount = 0
    /// The entries that were written or removed; fewer if an interrupted copy had written others.
    package var changedEntryCount = 0
    /// The SHA-256 of all copied entries, which both sides have. The numbers of uploads are left out.
    package var digest: [UInt8] = []
    package var contentCount = 0
    package var operationCount = 0
    /// What the verifiers found, which was so in the source too. Nothing was lost.
    package var findings: [String] = []
}

/// The progress of a copy, part by part. The total is 0 if it is unknown.
package struct StoreCopyProgress: Hashable, Sendable {
    package enum Part: Hashable, Sendable, CaseIterable {
        /// Entries are copied.
        case entries
        /// Entries of the target are read for their digest.
        case digest
        /// Contents of assets are copied.
        case contents
        /// Bytes of the copied contents are verified.
        case contentBytes
        /// Indexes, accounts, shares and subscriptions are verified.
        case verification
        /// Long-lived operations are copied.
        case operations
        /// Zones get new incarnations.
        case incarnations
    }

    package var part: Part
    package var doneCount: Int
    package var totalCount: Int
}

/// One copy of a store. Calls block their thread.
package struct StoreCopier {
    /// Bytes of a page, which is one commit at most.
    private static let pageByteCount = 1 << 20

    private let source: RecordEngine
    private let target: any OrderedStore
    private let assets: (source: AssetStore, target: (RecordEngine) -> AssetStore)
    private let draw: () -> UUID
    private let tell: (StoreCopyProgress) -> Void
    /// Copies the long-lived operations, which are kept in another way in each engine, and returns how many there are.
    private let copyOperations: (RecordEngine, @escaping WorkMeter.Listener) throws -> Int
    /// Entries of a page.
    private let pageEntryCount: Int
    private var report = StoreCopyReport()

    /// `source` was opened for reading. Nothing else has `target` open. `draw` returns new incarnations. The closures
    /// get the engine over the target: one returns its contents of assets, the other one copies operations into it.
    package init(
        from source: RecordEngine, to target: any OrderedStore,
        assets: (source: AssetStore, target: (RecordEngine) -> AssetStore),
        draw: @escaping () -> UUID, pageEntryCount: Int = 1_000,
        copyOperations: @escaping (RecordEngine, @escaping WorkMeter.Listener) throws -> Int = { _, _ in 0 },
        progress: @escaping (StoreCopyProgress) -> Void = { _ in }
    ) {
        (self.source, self.target, self.assets, self.pageEntryCount) = (source, target, assets, pageEntryCount)
        (self.draw, self.copyOperations, tell) = (draw, copyOperations, progress)
    }

    /// Makes the copy. With `resuming`, the target may hold an unfinished copy of the same store.
    ///
    /// Throws `invalidRequest` if the target holds something else, `corruption` if the source is damaged or the sides
    /// differ afterwards, `unavailable` if a host has removed a content since, and the errors of both stores. The copy
    /// is unfinished then, and can be resumed.
    package mutating func run(resuming: Bool = false) throws -> StoreCopyReport {
        report = StoreCopyReport()
        let sent = try source.read(.wholeStore) { reader in
            let format = try format(of: reader.store)
            let mayHoldEntries = try begin(format, resuming: resuming)
            return try copyEntries(of: reader.store, comparing: mayHoldEntries)
        }
        try verifyEntries(sent)
        var options = RecordEngineOptions()
        options.ancestorCacheByteCount = 0
        options.finishesCopy = true
        let engine = try RecordEngine(store: target, options: options, incarnation: draw())
        try copyContents(into: engine)
        try verify(engine)
        report.operationCount = try copyOperations(engine, listener(.operations))
        try engine.renewIncarnations(draw: draw, progress: listener(.incarnations))
        try engine.finishCopy()
        return report
    }

    private func listener(_ part: StoreCopyProgress.Part) -> WorkMeter.Listener {
        { [tell] in tell(StoreCopyProgress(part: part, doneCount: $0, totalCount: $1)) }
    }

    // MARK: The mark

    private func format(of store: any StoreReader) throws -> FormatEntry {
        guard let format = try store.withValue(forKey: GlobalKeys.format(), { try FormatEntry(decoding: $0) }) else {
            throw StoreError(
                .notAStore, "The source is not a Stratus store, because it has no format entry: name another source.")
        }
        guard format.version == FormatEntry.currentVersion else {
            throw StoreError(
                .olderFormat, "The store is of an older format: migrate it first, with 'stratus migrate'.",
                ["found": "\(format.version)", "supported": "\(FormatEntry.currentVersion)"])
        }
        return format
    }

    /// Marks the target. Returns whether it may hold entries of an earlier attempt.
    private func begin(_ format: FormatEntry, resuming: Bool) throws -> Bool {
        let incarnation = draw()
        return try target.transact { writer in
            let found = try writer.withValue(forKey: GlobalKeys.format()) { try FormatEntry(decoding: $0) }
            if var mark = found, let copied = mark.copied {
                guard resuming else {
                    throw StoreError(
                        .invalidRequest, "The target holds an unfinished copy: continue it with --resume, or remove it."
                    )
                }
                guard copied == format.incarnation else {
                    throw StoreError(
                        .invalidRequest, "The target holds an unfinished copy of another store: remove it first.")
                }
                // The source may have been migrated since.
                mark.version = format.version
                try writer.set(GlobalKeys.format(), to: mark.encoded())
                return true
            }
            guard try found == nil ? !writer.hasEntries(in: .everything) : Self.isUnused(writer) else {
                throw StoreError(
                    .invalidRequest,
                    resuming
                        ? "The target is a store, and no unfinished copy: there is nothing to continue."
                        : "The target is not empty: copy into a store without any data.")
            }
            let mark = FormatEntry(version: format.version, incarnation: incarnation, copied: format.incarnation)
            try writer.set(GlobalKeys.format(), to: mark.encoded())
            return found != nil
        }
    }

    /// Whether a store has only what every store gets when it is created.
    private static func isUnused(_ store: any StoreReader) throws -> Bool {
        let outside = KeyRange(from: GlobalKeys.all.upper, upTo: KeyRange.everything.upper)
        let used = [outside] + [GlobalKeyspace.databases, .accounts, .schema, .assets].map(GlobalKeys.keyspace)
        return try used.allSatisfy { try !store.hasEntries(in: $0) }
    }

    // MARK: Entries

    /// What is not copied: the format entry, which is the target's own, and what only one engine has.
    private static let leftOut = [
        GlobalKeyspace.format, .receipts, .uploads, .collecting, .operations, .work, .hosts, .runs, .timeline,
    ]
    .map(GlobalKeys.keyspace)

    private static let databases = GlobalKeys.keyspace(.databases)
    /// Databases in one page: on a server each is divided from the one before by forty rows.
    private static let pageDivisionCount = 50

    private static func isLeftOut(_ key: [UInt8]) -> Bool { leftOut.contains { $0.contains(key) } }

    /// Entries in key order that are compared and written together.
    private struct Page {
        var entries: [(key: [UInt8], value: [UInt8])] = []
        var byteCount = 0

        /// How many entries of databases are among them.
        var dividedCount = 0

        mutating func add(_ key: [UInt8], _ value: [UInt8]) {
            if StoreCopier.databases.contains(key) { dividedCount += 1 }
            entries.append((key, value))
            byteCount += key.count + value.count
        }
    }

    private mutating func copyEntries(of store: any StoreReader, comparing: Bool) throws -> EntrySum {
        var (sum, page, position) = (EntrySum(), Page(), [UInt8]())
        let hasContents = target.contents != nil
        try store.scan(.everything) { key, value in
            let (key, value) = ([UInt8](copying: key), [UInt8](copying: value))
            guard !Self.isLeftOut(key) else { return .next }
            try sum.add(key, value)
            page.add(key, try LedgerForm.value(value, of: key, namingUpload: hasContents))
            let isFull = page.entries.count >= pageEntryCount || page.byteCount >= Self.pageByteCount
            guard isFull || page.dividedCount >= Self.pageDivisionCount else { return .next }
            let next = key + [0]
            try put(page, KeyRange(from: position, upTo: next), comparing: comparing)
            (page, position) = (Page(), next)
            listener(.entries)(sum.count, 0)
            return .next
        }
        try put(page, KeyRange(from: position, upTo: KeyRange.everything.upper), comparing: comparing)
        listener(.entries)(sum.count, sum.count)
        report.entryCount = sum.count
        return sum
    }

    /// Makes a range of the target equal to the page.
    private mutating func put(_ page: Page, _ range: KeyRange, comparing: Bool) throws {
        var (wanted, removed) = (page.entries, [[UInt8]]())
        if comparing {
            // Both are in key order.
            var (index, equal) = (0, Set<Int>())
            try target.read(.wholeStore) { reader in
                try reader.scan(range) { key, value in
                    let (key, value) = ([UInt8](copying: key), [UInt8](copying: value))
                    guard !Self.isLeftOut(key) else { return .next }
                    while index < wanted.count, wanted[index].key.lexicographicallyPrecedes(key) { index += 1 }
                    guard index < wanted.count, wanted[index].key == key else {
                        removed.append(key)
                        return .next
                    }
                    if wanted[index].value == value { equal.insert(index) }
                    return .next
                }
            }
            wanted = wanted.indices.filter { !equal.contains($0) }.map { wanted[$0] }
        }
        report.changedEntryCount += wanted.count + removed.count
        for start in stride(from: 0, to: removed.count, by: pageEntryCount) {
            let keys = removed[start..<min(start + pageEntryCount, removed.count)]
            try target.transact { writer in for key in keys { try writer.delete(key) } }
        }
        guard !wanted.isEmpty else { return }
        try target.transact { writer in
            for (key, value) in wanted {
                try writer.set(key, to: value)
                guard Self.databases.contains(key) else { continue }
                writer.divide(at: DatabaseKeys(try DatabaseEntry(decoding: value.span).number).all.lower, true)
            }
        }
    }

    /// Reads all entries of the target again, and compares their sum with that of the snapshot.
    private mutating func verifyEntries(_ sent: EntrySum) throws {
        let tell = listener(.digest)
        var arrived = EntrySum()
        try target.read(.wholeStore) { reader in
            arrived = EntrySum()
            try reader.scan(.everything) { key, value in
                let key = [UInt8](copying: key)
                guard !Self.isLeftOut(key) else { return .next }
                try arrived.add(key, [UInt8](copying: value))
                if arrived.count.isMultiple(of: pageEntryCount) { tell(arrived.count, sent.count) }
                return .next
            }
        }
        report.digest = sent.digest
        guard arrived.count == sent.count, arrived.digest == sent.digest else {
            throw StoreError(
                .corruption, "The copy does not hold what was copied: nothing else may write to it. Resume the copy.",
                ["sent": "\(sent.count)", "arrived": "\(arrived.count)"])
        }
    }

    // MARK: Contents, and verification

    private mutating func copyContents(into engine: RecordEngine) throws {
        let target = assets.target(engine)
        var contents = AssetBackup(from: assets.source, to: target)
        let lost = try contents.takeNamed(in: engine, progress: listener(.contents))
        let verifier = AssetVerifier(engine: engine, store: target)
        if let error = try lossError(lost, verifier) ?? damageError(contents.damaged, verifier) { throw error }
        try contents.finish(with: engine)
        let found = try verifier.verifyCounts(
            addingTo: verifier.verify(progress: listener(.contentBytes)), owner: CloudService.assetOwner)
        if let damage = found.findings.first(where: { [.missing, .damaged].contains($0.kind) }) {
            throw StoreError(.corruption, Self.damageMessage, ["finding": "\(damage)"])
        }
        report.contentCount = try engine.read(.wholeStore) { reader in
            try reader.entryCount(in: GlobalKeys.keyspace(.assets))
        }
        report.findings += found.findings.map(\.description)
    }

    private static let damageMessage: StaticString =
        "The content of an asset is damaged: 'stratus verify' says so of the source too."

    /// The error for contents that the source does not have, with a record that holds one.
    private func lossError(_ lost: Set<AssetKey>, _ verifier: AssetVerifier) throws -> StoreError? {
        guard !lost.isEmpty else { return nil }
        // A host may have removed contents since the snapshot, with their last records.
        let missing = try source.read { reader in try lost.filter { try AssetLedger.entry(of: $0, in: reader) != nil } }
        guard let key = Self.first(of: missing) else {
            return StoreError(
                .unavailable,
                """
                The source has changed while it was copied, and no longer has the content of an asset: stop its host, \
                then resume the copy.
                """,
                ["count": "\(lost.count)"])
        }
        var fields = try fields(of: key, verifier)
        fields["finding"] = "\(AssetFinding.missing(key))"
        fields["count"] = "\(missing.count)"
        return StoreError(
            .corruption,
            """
            The content of an asset is missing in the source: restore it from a backup, or delete the record. 'stratus \
            verify' names all of them.
            """, fields)
    }

    /// The error for contents that differ from their digests, with a record that holds one.
    private func damageError(_ damaged: Set<AssetKey>, _ verifier: AssetVerifier) throws -> StoreError? {
        guard let key = Self.first(of: damaged) else { return nil }
        var fields = try fields(of: key, verifier)
        fields["finding"] = "\(AssetFinding.damaged(key))"
        return StoreError(.corruption, Self.damageMessage, fields)
    }

    /// The same one whenever the same contents are lost.
    private static func first(of keys: Set<AssetKey>) -> AssetKey? {
        keys.min { $0.digest.lexicographicallyPrecedes($1.digest) }
    }

    /// A record that holds a content, and where the content should be.
    private func fields(of key: AssetKey, _ verifier: AssetVerifier) throws -> [String: String] {
        var fields: [String: String] = [:]
        if assets.source.stored == nil { fields["file"] = assets.source.directory.file(of: key) }
        if let holder = try verifier.holder(of: key, owner: CloudService.assetOwner) {
            fields["record"] = holder.record.text
            fields["zone"] = holder.zone.name.text
            fields["container"] = holder.zone.database.container.text
        }
        return fields
    }

    private mutating func verify(_ engine: RecordEngine) throws {
        let tell = listener(.verification)
        report.findings += try engine.verify(progress: tell).findings.map(\.description)
        report.findings += try AccountVerifier(engine: engine).verify(progress: tell).findings.map(\.description)
        report.findings += try ShareVerifier(engine: engine).verify(progress: tell).findings.map(\.description)
        report.findings += try SubscriptionVerifier(engine: engine).verify(progress: tell).findings.map(\.description)
    }
}

/// The entries of the ledger in the form of each engine.
private enum LedgerForm {
    private static let range = GlobalKeys.keyspace(.assets)

    /// The value of an entry. If it is the ledger's, it names an upload or none. Other entries have one form.
    static func value(_ value: [UInt8], of key: [UInt8], namingUpload: Bool) throws -> [UInt8] {
        guard range.contains(key) else { return value }
        var entry = try AssetEntry(decoding: value.span)
        if namingUpload {
            entry.upload = try entry.upload ?? upload(of: GlobalKeys.readAssetKey(key.span).digest)
        } else {
            entry.upload = nil
        }
        return entry.encoded()
    }

    /// The upload of a content that was a file.
    private static func upload(of digest: [UInt8]) throws -> UUID {
        guard digest.count == 32 else { throw StoreError(.corruption, "The digest of a content has not 32 bytes.") }
        let b = digest
        return UUID(
            uuid: (
                b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]
            ))
    }
}

/// The number and the digest of entries in key order.
private struct EntrySum {
    private(set) var count = 0
    private var hash = ContentDigest()

    mutating func add(_ key: [UInt8], _ value: [UInt8]) throws {
        count += 1
        // The lengths, so that no byte of a key can pass for one of its value.
        for part in [key, try LedgerForm.value(value, of: key, namingUpload: false)] {
            hash.add(bytes(of: part.count))
            hash.add(part)
        }
    }

    private func bytes(of length: Int) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: length >> (8 * $0)) }
    }

    var digest: [UInt8] { hash.finish() }
}
