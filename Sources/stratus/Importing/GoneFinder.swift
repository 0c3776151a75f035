// Finds the records of an imported tree whose files are gone from the disk, and deletes them.
//
// It scans the records backwards: a folder's name is a prefix of the names below it, so the contents of a folder come
// before the folder, and no commit leaves a record without its parent. Records that still have others below them
// (because names are cut, or because a person put records there) are tried again at the end, and kept if they still
// have some.

import StratusKit
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

struct GoneFinder {
    private static let pageCount = 1_000
    /// How many postponed records are remembered; the next run finds the others again.
    private static let maximumPutOffCount = 100_000

    private let session: StoreSession
    private let zone: ZoneID
    private let naming: TreeNaming
    private let directory: [UInt8]
    /// The next page ends before this name.
    private var upper: RecordName?
    private var gone: [RecordName] = []
    private var lookCount = 0
    private var putOff: [RecordName] = []

    init(_ session: StoreSession, zone: ZoneID, naming: TreeNaming, directory: [UInt8]) {
        self.session = session
        self.zone = zone
        self.naming = naming
        self.directory = directory
        // "0" follows "/", so everything below the top sorts before this name.
        upper = RecordName(naming.top.text + "0")
    }

    /// The next gone records, or nil at the end. `progress` gets the number of records examined so far.
    ///
    /// Throws `interrupted` if a signal asks the verb to stop.
    mutating func next(limit: Int, progress: (Int) -> Void) throws -> [RecordName]? {
        while gone.count < limit, upper != nil {
            try readPage()
            try StopSignal.safePoint()
            progress(lookCount)
        }
        if gone.isEmpty { return nil }
        defer { gone.removeFirst(min(limit, gone.count)) }
        return Array(gone.prefix(limit))
    }

    /// Looks for the files of a page of the tree's records.
    private mutating func readPage() throws {
        guard let upper else { return }
        var last: RecordName?
        try session.read(zone) { zone in
            let range = KeyRange(from: zone.keys.record(naming.top), upTo: zone.keys.record(upper))
            try zone.store.scan(range, .backward, limit: Self.pageCount) { key, value in
                let parts = try zone.keys.readRecordKey(key)
                last = parts.name
                guard parts.chunkIndex == nil, try !RecordCodec.isTombstone(value) else { return .next }
                let record = try zone.record(parts.name, fields: .only([TreeField.path]))?.record
                guard let record, let path = naming.relativePath(of: record) else { return .next }
                lookCount += 1
                if isGone(path) { gone.append(parts.name) }
                return .next
            }
        }
        self.upper = last
    }

    /// A file is gone only if the operating system says that it does not exist, not if it cannot be examined.
    private func isGone(_ path: [UInt8]) -> Bool {
        if path.isEmpty { return false }
        do throws(FileError) {
            _ = try Disk.facts(of: directory + [UInt8(ascii: "/")] + path)
            return false
        } catch {
            return error.isAbsence
        }
    }

    /// Deletes records in one commit, except those that still have others below them. Returns how many it deleted.
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

    /// Tries the postponed records again until no more can be deleted. Returns how many it deleted. `progress` gets the
    /// number of tries and the total, which is smaller in each round.
    ///
    /// Throws `interrupted` if a signal asks the verb to stop.
    mutating func deleteRest(progress: (_ done: Int, _ total: Int) -> Void) throws -> Int {
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
