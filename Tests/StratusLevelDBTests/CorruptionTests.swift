// Flipped bytes: each is corruption or changes nothing; none is ever a missing entry, a wrong value or an abort.

import Foundation
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusLevelDB

@Suite struct CorruptionTests {
    /// A closed store with tables, a log of several blocks' fragments, and its contents.
    private final class Original: Sendable {
        let directory: TemporaryDirectory
        let path: String
        let entries: [[UInt8]: [UInt8]]

        init(logged: Int) throws {
            directory = try TemporaryDirectory()
            path = directory.path(of: "original")
            var random = SplitMix64(seed: 5)
            var entries: [[UInt8]: [UInt8]] = [:]
            let store = try LevelDBStore.open(at: path, options: Self.options)
            func commit(_ number: Int) throws {
                let key = [UInt8](number: number)
                let value = (0..<100).map { _ in UInt8.random(in: 0...255, using: &random) }
                entries[key] = value
                try store.transact { try $0.set(key, to: value) }
            }
            for number in 0..<400 { try commit(number * 2) }
            try store.compact(KeyRange(from: [0], upTo: [1]))
            for number in 0..<logged { try commit(number * 8 + 1) }
            store.close()
            self.entries = entries
        }

        static var options: LevelDBOptions {
            var options = LevelDBOptions()
            options.syncsCommits = false
            options.writeBufferByteCount = 4 << 20
            options.fileByteCount = 1 << 20
            options.testHooks.leavesLog = true
            return options
        }

        /// Checks a copy in which one byte of `file` is changed. Returns the corruption found.
        func check(flipping offset: Int, of file: String, by mask: UInt8) throws -> StoreError? {
            let copy = try TemporaryDirectory()
            let target = copy.path(of: "copy")
            try FileManager.default.copyItem(atPath: path, toPath: target)
            var bytes = try Data(contentsOf: URL(fileURLWithPath: "\(target)/\(file)"))
            bytes[offset] ^= mask
            try bytes.write(to: URL(fileURLWithPath: "\(target)/\(file)"))
            let place: Comment = "byte \(offset) of \(file) changed by \(mask)"
            do {
                let store = try LevelDBStore.open(at: target, options: Self.options)
                defer { store.close() }
                return try read(store, place)
            } catch let error as StoreError {
                #expect(error.code == .corruption, place)
                return error
            }
        }

        private func read(_ store: LevelDBStore, _ place: Comment) throws -> StoreError? {
            var found: StoreError?
            func reading(_ body: () throws -> Void) throws {
                do { try body() } catch let error as StoreError {
                    #expect(error.code == .corruption, "\(place): \(error)")
                    found = error
                }
            }
            let everything = KeyRange(from: [0], upTo: [1])
            for direction in [ScanDirection.forward, .backward] {
                try reading {
                    var scanned: [[UInt8]: [UInt8]] = [:]
                    try store.read { reader in
                        try reader.scan(everything, direction, limit: .max) { key, value in
                            scanned[[UInt8](copying: key)] = [UInt8](copying: value)
                            return .next
                        }
                    }
                    #expect(scanned == entries, place)
                }
            }
            for (key, value) in entries {
                try reading {
                    let found = try store.read { try $0.value(forKey: key) }
                    #expect(found == value, place)
                }
            }
            let report = try store.verifyChecksums()
            if found != nil { #expect(!report.damages.isEmpty, place) }
            return found
        }
    }

    @Test("a flipped byte in a table is corruption that names the table, or changes nothing")
    func tables() throws {
        let original = try Original(logged: 0)
        let table = try #require(try files(in: original.path, suffix: ".ldb").last)
        let count = try #require(
            try FileManager.default.attributesOfItem(atPath: "\(original.path)/\(table)")[.size] as? Int)
        var random = SplitMix64(seed: 11)
        let spread = (0..<80).map { _ in Int.random(in: 0..<count, using: &random) }
        var found = 0
        for offset in spread + Array(count - 60..<count) {
            guard let error = try original.check(flipping: offset, of: table, by: .random(in: 1...255, using: &random))
            else { continue }
            found += 1
            #expect(error.fields["candidateFiles"] == table, "\(error)")
            #expect(error.fields["key"] != nil || error.fields["lowerKey"] != nil, "\(error)")
        }
        // Filter blocks and the padding of the footer are never read, or may be left out.
        #expect(found >= 70, "only \(found) of 140 flips were found")
    }

    @Test("a flipped byte in a log is corruption that names the log", arguments: [20, 400])
    func logs(logged: Int) throws {
        let original = try Original(logged: logged)
        let log = try #require(try files(in: original.path, suffix: ".log").last)
        let count = try #require(
            try FileManager.default.attributesOfItem(atPath: "\(original.path)/\(log)")[.size] as? Int)
        var random = SplitMix64(seed: 12)
        let spread = (0..<40).map { _ in Int.random(in: 0..<count, using: &random) }
        // Each header of the last records, whose length bytes no checksum covers.
        for offset in spread + Array(max(0, count - 280)..<count) {
            let mask: UInt8 = spread.contains(offset) ? .random(in: 1...255, using: &random) : 0x80
            let error = try original.check(flipping: offset, of: log, by: mask)
            #expect(error?.fields["candidateFiles"] == log, "byte \(offset) of \(count): \(String(describing: error))")
        }
    }

    @Test("a flipped byte in CURRENT or the MANIFEST is corruption")
    func lists() throws {
        let original = try Original(logged: 3)
        for file in try files(in: original.path, prefix: "MANIFEST") + ["CURRENT"] {
            let count = try Data(contentsOf: URL(fileURLWithPath: "\(original.path)/\(file)")).count
            for offset in 0..<count {
                let error = try original.check(flipping: offset, of: file, by: 0x40)
                #expect(error != nil, "byte \(offset) of \(file)")
            }
        }
    }

    @Test("a log truncated at any byte of its last commits leaves a prefix of the commits")
    func cutLogs() throws {
        let original = try Original(logged: 12)
        let log = try #require(try files(in: original.path, suffix: ".log").last)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(original.path)/\(log)"))
        for end in stride(from: bytes.count, to: bytes.count - 400, by: -1) {
            let copy = try TemporaryDirectory()
            let target = copy.path(of: "copy")
            try FileManager.default.copyItem(atPath: original.path, toPath: target)
            try bytes.prefix(end).write(to: URL(fileURLWithPath: "\(target)/\(log)"))
            let store = try LevelDBStore.open(at: target, options: Original.options)
            defer { store.close() }
            let found = try contents(store)
            let logged = (0..<12).map { [UInt8](number: $0 * 8 + 1) }
            let there = logged.prefix { found[$0] != nil }
            #expect(found.count == 400 + there.count, "cut at \(end)")
            #expect(there.count < 13, "cut at \(end)")
            for (key, value) in found { #expect(original.entries[key] == value, "cut at \(end)") }
        }
    }

    @Test("damage that a scan skipped takes precedence over the error that its visitor throws")
    func visitorThrows() throws {
        struct VisitorError: Error {}
        let original = try Original(logged: 0)
        let table = try #require(try files(in: original.path, suffix: ".ldb").last)
        let url = URL(fileURLWithPath: "\(original.path)/\(table)")
        var bytes = try Data(contentsOf: url)
        bytes[bytes.count / 2] ^= 1
        try bytes.write(to: url)
        let store = try LevelDBStore.open(at: original.path, options: Original.options)
        defer { store.close() }
        let everything = KeyRange(from: [0], upTo: [1])
        for direction in [ScanDirection.forward, .backward] {
            let last = direction == .forward ? [UInt8](number: 798) : [UInt8](number: 0)
            func scan(_ reader: any StoreReader, throwingAt key: [UInt8]) throws {
                try reader.scan(everything, direction, limit: .max) { found, _ in
                    if [UInt8](copying: found) == key { throw VisitorError() }
                    return .next
                }
            }
            let read = try storeError { try store.read { try scan($0, throwingAt: last) } }
            #expect(read.code == .corruption)
            #expect(read.fields["candidateFiles"] == table)
            let written = try storeError { try store.transact { try scan($0, throwingAt: last) } }
            #expect(written.code == .corruption)
            #expect(written.fields["candidateFiles"] == table)
            // Before the damage is met the visitor's error is all there is to say.
            let first = direction == .forward ? [UInt8](number: 0) : [UInt8](number: 798)
            #expect(throws: VisitorError.self) { try store.read { try scan($0, throwingAt: first) } }
        }
    }

    @Test("a truncated table is corruption")
    func cutTable() throws {
        let original = try Original(logged: 0)
        let table = try #require(try files(in: original.path, suffix: ".ldb").last)
        let handle = try #require(FileHandle(forWritingAtPath: "\(original.path)/\(table)"))
        let count = Int(try handle.seekToEnd())
        for end in [count - 1, count / 2, 10, 0] {
            try handle.truncate(atOffset: UInt64(end))
            let error = try storeError {
                let store = try LevelDBStore.open(at: original.path)
                defer { store.close() }
                _ = try contents(store)
            }
            #expect(error.code == .corruption, "cut at \(end): \(error)")
        }
    }

    @Test("damage found by a compaction is thrown with its place, ends writing, and reading continues")
    func backgroundDamage() throws {
        let original = try Original(logged: 0)
        let table = try #require(try files(in: original.path, suffix: ".ldb").last)
        let url = URL(fileURLWithPath: "\(original.path)/\(table)")
        var bytes = try Data(contentsOf: url)
        bytes[bytes.count / 2] ^= 1
        try bytes.write(to: url)
        let store = try LevelDBStore.open(at: original.path, options: Original.options)
        defer { store.close() }
        let key = [UInt8](number: 401)
        try store.transact { try $0.set(key, to: [1]) }
        let everything = KeyRange(from: [0], upTo: [1])
        let damage = try storeError { try store.compact(everything) }
        let files = damage.fields["candidateFiles"]
        #expect(damage.code == .corruption, "\(damage)")
        #expect(files?.contains(table) == true, "\(damage)")
        #expect(damage.cause?.hasPrefix("Corruption: ") == true)
        #expect(try storeError { try store.compact(everything) }.code == .unavailable)
        let refused = try storeError { try store.transact { try $0.set(key, to: [3]) } }
        #expect(refused.code == .unavailable)
        #expect(refused.fields["reason"] == "corruption")
        #expect(refused.cause?.hasPrefix("Corruption: ") == true)
        #expect(try store.read { try $0.value(forKey: key) } == [1])
        store.close()
        #expect(try storeError { try store.compact(everything) }.code == .closed)
    }

    @Test("each damage is reported by the keys on both sides of it, wherever it is and however many there are")
    func places() throws {
        let original = try Original(logged: 0)
        let table = try #require(try files(in: original.path, suffix: ".ldb").last)
        let url = URL(fileURLWithPath: "\(original.path)/\(table)")
        var bytes = try Data(contentsOf: url)
        for offset in [100, bytes.count / 2, bytes.count * 3 / 4] { bytes[offset] ^= 1 }
        try bytes.write(to: url)
        let store = try LevelDBStore.open(at: original.path, options: Original.options)
        defer { store.close() }
        // Newer entries of another table or of memory are among the damaged ones.
        var added = 0
        for number in stride(from: 1, to: 800, by: 80) {
            try store.transact { try $0.set([UInt8](number: number), to: [1]) }
            added += 1
        }
        let report = try store.verifyChecksums()
        #expect(report.damages.count == 3)
        var lost = 0
        for damage in report.damages {
            #expect(damage.code == .corruption, "\(damage)")
            #expect(damage.fields["candidateFiles"] == table, "\(damage)")
            let lower = try #require(damage.fields["lowerKey"]), upper = try #require(damage.fields["upperKey"])
            let between = original.entries.keys.filter { hexadecimal($0) >= lower && hexadecimal($0) < upper }
            #expect((1...60).contains(between.count), "\(damage)")
            for key in between {
                let error = try? storeError { _ = try store.read { try $0.value(forKey: key) } }
                if error?.code == .corruption { lost += 1 }
            }
        }
        // No entry outside of the stretches is lost.
        var unreadable = 0
        for key in original.entries.keys {
            do { _ = try store.read { try $0.value(forKey: key) } } catch { unreadable += 1 }
        }
        #expect(lost == unreadable)
        #expect(lost > 60)
        #expect(report.entryCount <= 400 + added - lost)
        #expect(report.entryCount >= 400 - lost)
    }

    @Test("a table that cannot be opened at all counts as damaged up to the beginning of the next one")
    func unreadableTable() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path(of: "store")
        // Two generations of the same keys: the newer is in level 0, or above the older.
        for generation in 0..<2 {
            let store = try LevelDBStore.open(at: path, options: Original.options)
            for number in 0..<2_000 {
                try store.transact { try $0.set([UInt8](number: number), to: [UInt8(generation)]) }
            }
            if generation == 0 { try store.compact(KeyRange(from: [0], upTo: [1])) }
            store.close()
        }
        // Opening writes the log's contents to a table.
        try LevelDBStore.open(at: path, options: Original.options).close()
        let tables = try files(in: path, suffix: ".ldb")
        try #require(tables.count == 2)
        let newest = URL(fileURLWithPath: "\(path)/\(tables[1])")
        var bytes = try Data(contentsOf: newest)
        bytes[bytes.count - 1] ^= 1
        try bytes.write(to: newest)
        let store = try LevelDBStore.open(at: path, options: Original.options)
        defer { store.close() }
        let report = try store.verifyChecksums()
        let damage = try #require(report.damages.first)
        #expect(report.damages.count == 1)
        #expect(damage.fields["lowerKey"] == "")
        #expect(damage.fields["upperKey"] == "ff")
        #expect(damage.fields["candidateFiles"]?.contains(tables[1]) == true)
    }

    @Test("an explicit repair reopens a store with everything that could be read")
    func repairs() throws {
        let original = try Original(logged: 5)
        try FileManager.default.removeItem(atPath: "\(original.path)/CURRENT")
        #expect(try storeError { try LevelDBStore.open(at: original.path).close() }.code == .corruption)
        try LevelDBStore.repairLosingDamagedData(at: original.path)
        let store = try LevelDBStore.open(at: original.path)
        defer { store.close() }
        #expect(try contents(store) == original.entries)
        #expect(try storeError { try LevelDBStore.repairLosingDamagedData(at: original.path) }.code == .held)
    }

    @Test("repairing into a new store reports each file copied, LevelDB's part, and each file made durable")
    func salvageProgress() throws {
        let original = try Original(logged: 5)
        let destination = original.directory.path(of: "salvaged")
        var told: [SalvageProgress] = []
        var toldBefore = 0
        try LevelDBStore.repairLosingDamagedData(
            ofStoreAt: original.path, to: destination, prepare: { _ in toldBefore = told.count },
            progress: { told.append($0) })
        guard case .copying(done: 0, total: let copied)? = told.first,
            case .syncing(done: _, total: let synced)? = told.last
        else {
            Issue.record("\(told)")
            return
        }
        var expected: [SalvageProgress] = (0...copied).map { .copying(done: $0, total: copied) }
        expected.append(.salvaging)
        #expect(toldBefore == expected.count)
        #expect(copied > 3)
        expected += (1...synced).map { .syncing(done: $0, total: synced) }
        #expect(told == expected)
        let store = try LevelDBStore.open(at: destination)
        defer { store.close() }
        #expect(try contents(store) == original.entries)
    }

    @Test("a store claimed by an opening is not repaired, and a repair releases its own claim")
    func repairClaims() throws {
        let original = try Original(logged: 0)
        let path = original.path
        // The first step of an opening, before it requests LevelDB's lock.
        let directory = try StoreDirectory.claim(path, LevelDBOptions())
        #expect(try storeError { try LevelDBStore.repairLosingDamagedData(at: path) }.code == .held)
        directory.release()
        func mark(_ format: Int) throws {
            try Data("stratus store\nformat \(format)\n".utf8).write(to: URL(fileURLWithPath: "\(path)/STRATUS"))
        }
        for _ in 0..<2 {
            try mark(7)
            let refused = try storeError { try LevelDBStore.repairLosingDamagedData(at: path) }
            #expect(refused.code == .newerFormat)
            try mark(1)
            let opened = try StoreDirectory.withDamaged(path, formatVersion: 1) {
                try storeError { try LevelDBStore.open(at: path).close() }
            }
            #expect(opened.code == .held)
            try LevelDBStore.repairLosingDamagedData(at: path)
        }
        let store = try LevelDBStore.open(at: path)
        defer { store.close() }
        #expect(try contents(store) == original.entries)
    }
}
