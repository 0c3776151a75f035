// The contents of assets as parts in the store.
//
//   1. Read each file for its digest and its size (`measure`).
//   2. Write a lease for each in one transaction (`StoredContents.reserve`). Nothing more is sent of a content that the
//      store has.
//   3. Read each of the others again, and append its parts (`send`). The file must be the same as in step 1.
//
// A file is read twice, because the name of its parts has its digest. Memory holds the parts of one commit.

import StratusModel
import StratusStore

/// A file whose digest is known.
private struct MeasuredFile {
    let index: Int
    let path: String
    let facts: AssetFileFacts
    let asset: AssetDescriptor
}

extension AssetStore {
    /// Stores files as parts in the store.
    func upload(
        _ paths: [String], _ owner: UserName, to stored: StoredContents
    ) -> [Result<AssetDescriptor, CloudError>] {
        var results: [Result<AssetDescriptor, CloudError>] = []
        var measured: [MeasuredFile] = []
        for (index, path) in paths.enumerated() {
            do throws(CloudError) {
                let file = try measure(path, index, owner)
                measured.append(file)
                results.append(.success(file.asset))
            } catch { results.append(.failure(error)) }
        }
        // Files with the same content are sent once.
        let groups = Dictionary(grouping: measured) { $0.asset.digest }.values.sorted { $0[0].index < $1[0].index }
        guard !groups.isEmpty else { return results }
        let reserved: [StoredContents.Reservation]
        do {
            reserved = try stored.reserve(groups.map { AssetKey(owner: owner, digest: $0[0].asset.digest) })
        } catch {
            for file in measured { results[file.index] = .failure(Self.unstorable(error)) }
            return results
        }
        var renewal = LeaseRenewal(stored: stored, clock: clock, all: reserved)
        for (files, reservation) in zip(groups, reserved) {
            do throws(CloudError) {
                if reservation.isNew { try send(files[0], reservation, &renewal) }
                stored.noteComplete(reservation, useCount: files.count)
            } catch {
                stored.abandon(reservation)
                for file in files { results[file.index] = .failure(error) }
            }
        }
        return results
    }

    private func measure(_ path: String, _ index: Int, _ owner: UserName) throws(CloudError) -> MeasuredFile {
        guard AssetDirectory.canHold(owner) else {
            throw CloudError(.internalError, "The name of an owner of assets is empty or too long.")
        }
        let source = try openSource(path)
        defer { files.close(source.descriptor) }
        let digest = try read(source, path: path) { _, _ throws(CloudError) in }
        let asset = AssetDescriptor(digest: digest, byteCount: source.facts.byteCount)
        return MeasuredFile(index: index, path: path, facts: source.facts, asset: asset)
    }

    private func send(
        _ file: MeasuredFile, _ reservation: StoredContents.Reservation, _ renewal: inout LeaseRenewal
    ) throws(CloudError) {
        let source = try openSource(file.path)
        defer { files.close(source.descriptor) }
        guard source.facts == file.facts else { throw Self.modified(file.path) }
        var writer = PartWriter(renewal.stored.contents, reservation.name)
        let digest = try read(source, path: file.path) { buffer, count throws(CloudError) in
            try renewal.extendIfDue()
            do { try writer.add(buffer[..<count]) } catch { throw Self.unstorable(error) }
        }
        guard digest == file.asset.digest else { throw Self.modified(file.path) }
        do { try writer.finish() } catch { throw Self.unstorable(error) }
    }

    fileprivate static func unstorable(_ error: any Error) -> CloudError {
        guard let error = error as? StoreError, error.code == .diskFull else { return CloudError(answering: error) }
        return CloudError(
            .serviceUnavailable,
            "The asset cannot be stored: the server's disk is full. Free space, then save again.", error.fields,
            cause: error.description)
    }

    /// A copy of a content in the store in a new file. Throws like `privateCopy(of:owner:)`.
    func privateCopy(
        of asset: AssetDescriptor, _ key: AssetKey, from stored: StoredContents
    ) throws(CloudError) -> String {
        do {
            for name in try stored.names(of: key) where try stored.contents.part(0, of: name) != nil {
                return try makeCopy(of: asset, key) { write throws(CloudError) in
                    do {
                        let digest = try stored.read(name) { part in try write(part, part.count) } ?? []
                        if digest != asset.digest { stored.noteDamaged(name) }
                        return digest
                    } catch { throw CloudError(answering: error) }
                }
            }
        } catch { throw CloudError(answering: error) }
        throw CloudError(
            .assetNotAvailable, "The asset's content is missing. Restore it from a backup, or save it again.",
            Self.fields(key))
    }
}

/// Extends the leases of a request whose uploads take long.
private struct LeaseRenewal {
    let stored: StoredContents
    private let clock: any CloudClock
    private let all: [StoredContents.Reservation]
    private var dueAtUptimeSeconds: Double

    init(stored: StoredContents, clock: any CloudClock, all: [StoredContents.Reservation]) {
        self.stored = stored
        self.clock = clock
        self.all = all
        dueAtUptimeSeconds = clock.uptimeSeconds + stored.renewalSeconds
    }

    mutating func extendIfDue() throws(CloudError) {
        guard clock.uptimeSeconds >= dueAtUptimeSeconds else { return }
        let areLeased: Bool
        do { areLeased = try stored.renew(all) } catch { throw AssetStore.unstorable(error) }
        guard areLeased else {
            throw CloudError(
                .assetNotAvailable, "The upload of the asset took too long, so the record was not saved. Save it again."
            )
        }
        dueAtUptimeSeconds = clock.uptimeSeconds + stored.renewalSeconds
    }
}

/// Appends bytes to a content as parts, several in one commit. Only `finish` writes the last part, so a content that is
/// not finished is never as long as it should be.
struct PartWriter {
    private let contents: any StoreContents
    private let name: [UInt8]
    /// Complete parts that were not written yet.
    private var parts: [[UInt8]] = []
    private var last: [UInt8] = []
    private var writtenCount = 0

    init(_ contents: any StoreContents, _ name: [UInt8]) {
        self.contents = contents
        self.name = name
    }

    mutating func add(_ bytes: ArraySlice<UInt8>) throws {
        var rest = bytes
        while !rest.isEmpty {
            if parts.count == StoredContents.appendedCount { try append() }
            if last.isEmpty { last.reserveCapacity(contents.partByteCount) }
            let next = rest.prefix(contents.partByteCount - last.count)
            last += next
            rest = rest.dropFirst(next.count)
            guard last.count == contents.partByteCount else { continue }
            parts.append(last)
            last = []
        }
    }

    /// Writes what is left. An empty content has one empty part.
    mutating func finish() throws {
        if !last.isEmpty || writtenCount + parts.count == 0 { parts.append(last) }
        if !parts.isEmpty { try append() }
    }

    private mutating func append() throws {
        try contents.append(parts, from: writtenCount, to: name)
        writtenCount += parts.count
        parts = []
    }
}
