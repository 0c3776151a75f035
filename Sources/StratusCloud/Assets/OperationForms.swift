// Long-lived operations of a store whose contents are in the store itself (O-14): the bytes of each operation, and the
// files that it uploads. What the bytes mean is the client library's.
//
//   entries of the keyspace `operations`: a head, and the parts of the operation's bytes
//   contents whose names are keys of the same keyspace: the files
//
// Invariants:
//   1. The head changes in one transaction, and names parts that are complete and never change. So an operation exists
//      in one of its forms or not at all, however large it is.
//   2. The files of an operation exist before the operation does. Parts and files without a head are left from a crash.

package import FoundationEssentials
import StratusLayout
package import StratusRecords
import StratusStore

/// The stored bytes of one operation.
package struct OperationForm: Sendable {
    package let id: String
    /// Nil if parts are missing.
    package let bytes: Data?
    /// The index after its last part.
    package let end: UInt64
}

/// Reads and writes the operations of a store with a place for contents. Calls block their thread.
package struct OperationForms {
    /// Parts of an operation in one transaction.
    private static let partsAtOnce = 40
    private static let removedAtOnce = 1_000

    private let engine: RecordEngine
    private let contents: any StoreContents

    /// Nil if the store has no place for contents.
    package init?(_ engine: RecordEngine) {
        guard let contents = engine.store.contents else { return nil }
        self.engine = engine
        self.contents = contents
    }

    /// Whether other processes may change the operations.
    package var isShared: Bool { engine.store.isShared }

    /// Whether this process may run an operation.
    package func takeRun(of id: String) throws -> Bool { try engine.takeRun(of: id) }

    /// Lets another process run an operation.
    package func endRun(of id: String) throws { try engine.endRun(of: id) }

    /// All operations, as they are now.
    package func all() throws -> [OperationForm] { try ids().compactMap { try form(of: $0) } }

    /// All operations. Removes what a crash has left, unless another process has the store open, which may be about to
    /// store an operation. `isTidy` says whether nothing is left.
    package func readAll() throws -> (forms: [OperationForm], isTidy: Bool) {
        var (forms, headless): ([OperationForm], [String]) = ([], [])
        for id in try ids() {
            if let form = try form(of: id) { forms.append(form) } else { headless.append(id) }
        }
        let known = Set(forms.map(\.id))
        var strays: Set<String> = []
        try visitFiles(in: GlobalKeys.keyspace(.operations)) { name in
            let id = try GlobalKeys.readOperationKey(name.span).id
            if !known.contains(id) { strays.insert(id) }
        }
        guard !headless.isEmpty || !strays.isEmpty else { return (forms, true) }
        guard try !engine.isOpenElsewhere() else { return (forms, false) }
        for id in headless { try removeEntries(of: id) }
        for id in strays { try removeFiles(of: id) }
        return (forms, true)
    }

    /// Writes the parts of an operation, which begin at an index that none of its parts has had, then the head. Returns
    /// the index after the last part. Older parts are removed with the head.
    package func write(_ bytes: [UInt8], of id: String, at first: UInt64 = 1) throws -> UInt64 {
        // One empty part if the bytes are lost.
        let starts = Array(stride(from: 0, to: max(1, bytes.count), by: OperationPart.byteCount))
        let count = UInt64(starts.count)
        for batch in stride(from: 0, to: starts.count, by: Self.partsAtOnce) {
            try engine.transact { transaction in
                for (offset, start) in starts.enumerated().dropFirst(batch).prefix(Self.partsAtOnce) {
                    let part = OperationPart(
                        first: first, count: count, bytes: Array(bytes[start...].prefix(OperationPart.byteCount)))
                    try transaction.set(GlobalKeys.operation(id, first + UInt64(offset)), to: part.encoded())
                }
            }
        }
        try engine.transact { transaction in
            let head = OperationPart(first: first, count: count)
            try transaction.set(GlobalKeys.operation(id, 0), to: head.encoded())
            for key in try transaction.store.keys(in: GlobalKeys.operation(id)) {
                let index = try GlobalKeys.readOperationKey(key.span).index
                if index != 0, index < first { try transaction.delete(key) }
            }
        }
        return first + count
    }

    /// Removes an operation. Its files stay.
    package func removeEntries(of id: String) throws {
        while true {
            let keys = try engine.read {
                try $0.store.keys(in: GlobalKeys.operation(id), limit: Self.removedAtOnce)
            }
            guard !keys.isEmpty else { return }
            // The head is the first key, so without it the rest is left over.
            try engine.transact { transaction in
                for key in keys { try transaction.delete(key) }
            }
        }
    }

    /// The operations with entries, found by a seek each. Those without a form are left from a crash.
    package func ids() throws -> [String] {
        try engine.read { reader in
            var (ids, range): ([String], KeyRange) = ([], GlobalKeys.keyspace(.operations))
            while let id = try reader.store.first(in: range, { key, _ in try GlobalKeys.readOperationKey(key).id }) {
                ids.append(id)
                range.lower = GlobalKeys.operation(id).upper
            }
            return ids
        }
    }

    /// The newest form of an operation; nil without a head.
    package func form(of id: String) throws -> OperationForm? {
        try engine.read { reader in
            var (head, bytes, count, end): (OperationPart?, Data, UInt64, UInt64) = (nil, Data(), 0, 1)
            try reader.store.scan(GlobalKeys.operation(id)) { key, value in
                let index = try GlobalKeys.readOperationKey(key).index
                let part = try OperationPart(decoding: value)
                end = max(end, index + 1)
                if index == 0 {
                    head = part
                } else if let head, part.first == head.first, count < head.count, index == head.first + count {
                    bytes.append(contentsOf: part.bytes)
                    count += 1
                }
                return .next
            }
            guard let head else { return nil }
            return OperationForm(id: id, bytes: count == head.count ? bytes : nil, end: end)
        }
    }

    // MARK: Files

    /// Stores a file for an operation, in place of one with the same number. Returns false, and stores nothing, if it
    /// is not a regular file, cannot be read completely, or changes.
    package func keepFile(
        _ path: String, as number: Int, of id: String, files: any AssetFiles
    ) throws -> Bool {
        let name = GlobalKeys.operation(id, UInt64(number))
        try remove(name)
        let isWhole = try send(path, to: name, files)
        if !isWhole { try remove(name) }
        return isWhole
    }

    private func send(_ path: String, to name: [UInt8], _ files: any AssetFiles) throws -> Bool {
        guard let file = try? files.openFile(path) else { return false }
        defer { files.close(file) }
        guard let before = try? files.facts(file), before.isRegular else { return false }
        var writer = PartWriter(contents, name)
        var (total, buffer): (Int64, [UInt8]) = (0, [UInt8](repeating: 0, count: AssetStore.bufferByteCount))
        while true {
            guard let count = try? files.read(file, into: &buffer) else { return false }
            if count == 0 { break }
            total += Int64(count)
            guard total <= before.byteCount else { return false }
            try writer.add(buffer[..<count])
        }
        guard total == before.byteCount, (try? files.facts(file)) == before else { return false }
        try writer.finish()
        return true
    }

    /// Reads a stored file part by part. Returns false if there is none.
    package func readFile(_ number: Int, of id: String, _ visit: (_ part: [UInt8]) throws -> Void) throws -> Bool {
        let name = GlobalKeys.operation(id, UInt64(number))
        var index = 0
        while let part = try contents.part(index, of: name) {
            try visit(part)
            index += 1
        }
        return index > 0
    }

    /// The numbers of an operation's files.
    package func fileNumbers(of id: String) throws -> [Int] {
        var numbers: [Int] = []
        try visitFiles(in: GlobalKeys.operation(id)) { name in
            numbers.append(Int(clamping: try GlobalKeys.readOperationKey(name.span).index))
        }
        return numbers
    }

    /// Removes all operations with their files.
    package func removeAll() throws {
        for id in try ids() { try removeEntries(of: id) }
        try visitFiles(in: GlobalKeys.keyspace(.operations), remove)
    }

    /// Removes the files of an operation.
    package func removeFiles(of id: String) throws { try visitFiles(in: GlobalKeys.operation(id), remove) }

    private func visitFiles(in range: KeyRange, _ visit: ([UInt8]) throws -> Void) throws {
        var last = range.lower
        while true {
            let names = try contents.names(after: last, limit: StoredContents.batchCount)
            for name in names where range.contains(name) { try visit(name) }
            guard let end = names.last, range.contains(end) else { return }
            last = end
        }
    }

    private func remove(_ name: [UInt8]) throws {
        while try !contents.remove(name, limit: StoredContents.removedCount) {}
    }
}
