// Finds the records of an imported tree whose files are no longer on the disk.
//
// It goes through the records backwards: a folder's name is the beginning of the names below it, so what lies in a gone
// folder comes before the folder, and a commit never leaves a record without its parent. Records that others still lie
// under (cut names, or records that somebody put there) are put off to the end, and kept if that does not help.

import StratusKit
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

struct GoneFinder {
    private static let pageCount = 1_000
    /// Gone records put off are remembered up to this number; the next run finds the others again.
    private static let maximumPutOffCount = 100_000

    private let session: StoreSession
    private let zone: ZoneID
    private let naming: TreeNaming
    private let directory: [UInt8]
    /// The name that the next page ends before.
    private var upper: RecordName?
    private var gone: [RecordName] = []
    private var lookCount = 0
    private var putOff: [RecordName] = []

    init(_ session: StoreSession, zone: ZoneID, naming: TreeNaming, directory: [UInt8]) {
        self.session = session
        self.zone = zone
        self.naming = naming
        self.directory = directory
        // "0" follows "/", so everything below the top is before this name.
        upper = RecordName(naming.top.text + "0")
    }

    /// The next gone records, or nil when there are no more. `progress` is told how many records were looked at so far.
    ///
    /// Throws `interrupted` where the verb was asked to stop.
    mutating func next(limit: Int, progress: (Int) -> Void = { _ in }) throws -> [RecordName]? {
        while gone.count < limit, let page = try nextPage() {
            try StopSignal.safePoint()
            for (name, path) in page where isGone(path) { gone.append(name) }
            lookCount += page.count
            progress(lookCount)
        }
        if gone.isEmpty { return nil }
        defer { gone.removeFirst(min(limit, gone.count)) }
        return Array(gone.prefix(limit))
    }

    /// A page of the tree's records and their paths; nil at the end.
    private mutating func nextPage() throws -> [(name: RecordName, path: [UInt8])]? {
        guard let upper else { return nil }
        var page: [(name: RecordName, path: [UInt8])] = []
        var last: RecordName?
        try session.read(zone) { zone in
            let range = KeyRange(from: zone.keys.record(naming.top), upTo: zone.keys.record(upper))
            try zone.store.scan(range, .backward, limit: Self.pageCount) { key, value in
                let parts = try zone.keys.readRecordKey(key)
                last = parts.name
                guard parts.chunkIndex == nil, try !RecordCodec.isTombstone(value) else { return .next }
                let record = try zone.record(parts.name, fields: .only([TreeField.path]))?.record
                if let record, let path = naming.relativePath(of: record) { page.append((parts.name, path)) }
                return .next
            }
        }
        self.upper = last
        return last == nil ? nil : page
    }

    /// Gone is only what the operating system says is not there; what cannot be looked at stays.
    private func isGone(_ path: [UInt8]) -> Bool {
        if path.isEmpty { return false }
        do throws(FileError) {
            _ = try Disk.facts(of: directory + [UInt8(ascii: "/")] + path)
            return false
        } catch {
            return error.isAbsence
        }
    }

    /// Deletes records in one commit, without those that others still lie under. Returns how many it deleted.
    mutating func delete(_ names: [RecordName]) throws -> Int {
        var rest = names
        while !rest.isEmpty {
            do {
                try session.delete(rest, in: zone)
                return rest.count
            } catch let error as ItemsRefused {
                let refused = rest.filter { error.errors[$0]?.code == .referenceViolation }
                guard !refused.isEmpty, refused.count == error.errors.count else { throw error }
                putOff += refused.prefix(Self.maximumPutOffCount - putOff.count)
                rest.removeAll { error.errors[$0] != nil }
            }
        }
        return 0
    }

    /// Tries those that were put off again, until nothing more goes. Returns how many it deleted. `progress` is told
    /// how many were tried, and of how many: each time round there are fewer.
    ///
    /// Throws `interrupted` where the verb was asked to stop.
    mutating func deleteRest(progress: (_ done: Int, _ total: Int) -> Void = { _, _ in }) throws -> Int {
        var deleted = 0
        while true {
            let names = putOff
            putOff = []
            var deletedNow = 0
            for start in stride(from: 0, to: names.count, by: ZoneClient.requestItemCount) {
                try StopSignal.safePoint()
                let end = min(start + ZoneClient.requestItemCount, names.count)
                deletedNow += try delete(Array(names[start..<end]))
                progress(end, names.count)
            }
            deleted += deletedNow
            if deletedNow == 0 { return deleted }
        }
    }
}
