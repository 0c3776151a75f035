// A crash during the last commit's write loses pages of it: the store opens without that commit, and reports it.
// Anything similar is damage.

import Foundation
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusLevelDB

@Suite("lost pages of the last commit")
struct LostPageTests {
    private static let pageByteCount = 4_096

    /// A closed store: small commits, and a last one over several pages and blocks.
    private final class Original {
        let directory: TemporaryDirectory
        let path: String
        let log: String
        /// The beginning of each commit, and the end of the last one.
        let bounds: [Int]
        let bytes: [UInt8]
        /// LevelDB's numbers of the writes of the last commit.
        let sequences: ClosedRange<UInt64>

        init(smallCommits: Int, lastByteCount: Int, lastWriteCount: Int = 4) throws {
            directory = try TemporaryDirectory()
            path = directory.path(of: "original")
            var random = SplitMix64(seed: UInt64(smallCommits + lastByteCount))
            var options = LevelDBOptions()
            options.testHooks.leavesLog = true
            let store = try LevelDBStore.open(at: path, options: options)
            log = try #require(try files(in: path, suffix: ".log").last)
            var begins: [Int] = []
            let url = URL(fileURLWithPath: "\(path)/\(log)")
            for number in 0...smallCommits {
                let (writes, byteCount) = number < smallCommits ? (1, 200) : (lastWriteCount, lastByteCount)
                begins.append(try Data(contentsOf: url).count)
                try store.transact { transaction in
                    for write in 0..<writes {
                        let value = (0..<byteCount / writes).map { _ in UInt8.random(in: 1...255, using: &random) }
                        try transaction.set([UInt8](number: number * 100 + write), to: value)
                    }
                }
            }
            store.close()
            bytes = [UInt8](try Data(contentsOf: url))
            bounds = begins + [bytes.count]
            let first = UInt64(smallCommits) + 1
            sequences = first...first + UInt64(lastWriteCount) - 1
            // If no commit was acknowledged, no log is recorded as having one.
            if smallCommits == 0 {
                for note in try files(in: path, suffix: ".acknowledged") {
                    try FileManager.default.removeItem(atPath: "\(path)/\(note)")
                }
            }
        }

        var lastCommit: Range<Int> { bounds[bounds.count - 2]..<bounds[bounds.count - 1] }

        /// The pages of a part of the log.
        func pages(of range: Range<Int>) -> [Range<Int>] {
            (range.lowerBound / pageByteCount...(range.upperBound - 1) / pageByteCount).map {
                max($0 * pageByteCount, range.lowerBound)..<min(($0 + 1) * pageByteCount, range.upperBound)
            }
        }

        /// Opens a copy with another log. Returns the number of its commits, and what was dropped.
        func open(
            _ change: (inout [UInt8]) -> Void, prepare: (String) throws -> Void = { _ in },
            options: LevelDBOptions = LevelDBOptions()
        ) throws -> (commitCount: Int, dropped: DroppedCommit?) {
            let copy = try TemporaryDirectory()
            let target = copy.path(of: "copy")
            try FileManager.default.copyItem(atPath: path, toPath: target)
            var bytes = bytes
            change(&bytes)
            try Data(bytes).write(to: URL(fileURLWithPath: "\(target)/\(log)"))
            try prepare(target)
            let store = try LevelDBStore.open(at: target, options: options)
            defer { store.close() }
            let commits = Set(try contents(store).keys.map { $0.number / 100 })
            return (commits.count, store.droppedCommit)
        }

        func error(_ change: (inout [UInt8]) -> Void, options: LevelDBOptions = LevelDBOptions()) throws -> StoreError?
        {
            do {
                _ = try open(change, options: options)
                return nil
            } catch let error as StoreError { return error }
        }

        func checkDropped(_ dropped: DroppedCommit?, end: Int, headerIsLost: Bool, _ place: Comment) {
            #expect(dropped?.log == log, place)
            #expect(dropped?.offset == lastCommit.lowerBound, place)
            #expect(dropped?.byteCount == end - lastCommit.lowerBound, place)
            #expect(dropped?.firstSequence == sequences.lowerBound, place)
            #expect(dropped?.lastSequence == (headerIsLost ? nil : sequences.upperBound), place)
        }
    }

    @Test("a last commit that has lost any of its pages is dropped and reported", arguments: [0, 1, 37, 150])
    func anySubset(smallCommits: Int) throws {
        let original = try Original(smallCommits: smallCommits, lastByteCount: 5 * Self.pageByteCount)
        let pages = original.pages(of: original.lastCommit)
        let header = original.lastCommit.lowerBound..<original.lastCommit.lowerBound + 19
        for subset in 1..<(1 << pages.count) {
            let lost = pages.indices.filter { subset >> $0 & 1 == 1 }.map { pages[$0] }
            let (commitCount, dropped) = try original.open { bytes in
                for page in lost { bytes.replaceSubrange(page, with: repeatElement(0, count: page.count)) }
            }
            #expect(commitCount == smallCommits, "\(lost)")
            original.checkDropped(
                dropped, end: original.bytes.count, headerIsLost: lost.contains { $0.overlaps(header) }, "\(lost)")
        }
    }

    @Test("a last commit over several blocks that has lost pages is dropped, truncated or not")
    func blocks() throws {
        let original = try Original(smallCommits: 20, lastByteCount: 150_000)
        let pages = original.pages(of: original.lastCommit)
        let header = original.lastCommit.lowerBound..<original.lastCommit.lowerBound + 19
        var random = SplitMix64(seed: 3)
        for round in 0..<60 {
            let lost = pages.filter { _ in Int.random(in: 0..<4, using: &random) == 0 }
            guard let first = lost.first else { continue }
            let end =
                round % 3 == 0
                ? Int.random(in: first.upperBound...original.bytes.count, using: &random) : original.bytes.count
            let (commitCount, dropped) = try original.open { bytes in
                for page in lost { bytes.replaceSubrange(page, with: repeatElement(0, count: page.count)) }
                bytes.removeSubrange(end...)
            }
            #expect(commitCount == 20, "\(lost)")
            // A truncated fragment is unfinished, whatever its contents: LevelDB ignores it.
            let block = first.lowerBound / LogFile.blockByteCount
            if end <= (block + 1) * LogFile.blockByteCount, dropped == nil { continue }
            original.checkDropped(
                dropped, end: end, headerIsLost: lost.contains { $0.overlaps(header) }, "\(lost) \(end)")
        }
    }

    @Test("a dropped commit stays dropped: the store opens again, with nothing to drop")
    func again() throws {
        let original = try Original(smallCommits: 3, lastByteCount: 9_000)
        let page = original.pages(of: original.lastCommit)[1]
        let log = URL(fileURLWithPath: "\(original.path)/\(original.log)")
        var bytes = original.bytes
        bytes.replaceSubrange(page, with: repeatElement(0, count: page.count))
        try Data(bytes).write(to: log)
        for isFirst in [true, false] {
            let store = try LevelDBStore.open(at: original.path)
            #expect((store.droppedCommit != nil) == isFirst)
            try store.transact { try $0.set([9], to: [9]) }
            store.close()
        }
    }

    @Test("a commit before the last one that has lost a page is corruption")
    func earlierCommit() throws {
        let original = try Original(smallCommits: 100, lastByteCount: 100)
        for number in [0, 1, 50, 98, 99] {
            let commit = original.bounds[number]..<original.bounds[number + 1]
            let error = try original.error { $0.replaceSubrange(commit, with: repeatElement(0, count: commit.count)) }
            #expect(error?.code == .corruption, "commit \(number)")
            #expect(error?.fields["candidateFiles"] == original.log, "commit \(number)")
        }
    }

    @Test("a flipped bit in the last commit is corruption that names the log")
    func flippedBit() throws {
        let original = try Original(smallCommits: 5, lastByteCount: 3 * Self.pageByteCount)
        for offset in stride(from: original.lastCommit.lowerBound, to: original.bytes.count, by: 97) {
            let error = try original.error { $0[offset] ^= 4 }
            #expect(error?.code == .corruption, "byte \(offset)")
            #expect(error?.fields["candidateFiles"] == original.log, "byte \(offset)")
        }
    }

    @Test("a flipped bit next to a lost page, in another block, is corruption")
    func flippedBitAndLostPage() throws {
        let original = try Original(smallCommits: 5, lastByteCount: 100_000)
        let pages = original.pages(of: original.lastCommit)
        let error = try original.error { bytes in
            bytes.replaceSubrange(pages[1], with: repeatElement(0, count: pages[1].count))
            bytes[70_000] ^= 4
        }
        #expect(error?.code == .corruption)
        #expect(error?.fields["candidateFiles"] == original.log)
    }

    @Test("a lost page is corruption if commits are not synced: the commit may have been acknowledged")
    func unsynced() throws {
        let original = try Original(smallCommits: 5, lastByteCount: 9_000)
        let page = original.pages(of: original.lastCommit)[1]
        var options = LevelDBOptions()
        options.syncsCommits = false
        let error = try original.error(
            { $0.replaceSubrange(page, with: repeatElement(0, count: page.count)) }, options: options)
        #expect(error?.code == .corruption)
    }

    @Test("a lost page, and a truncated log, are corruption if a newer log has commits")
    func newerLog() throws {
        let original = try Original(smallCommits: 5, lastByteCount: 9_000)
        let page = original.pages(of: original.lastCommit)[1]
        let batch = [UInt8](repeating: 0, count: 8) + [0, 0, 0, 0]
        for isCut in [true, false] {
            let error = try storeError {
                _ = try original.open(
                    { bytes in
                        if isCut {
                            bytes.removeLast(10)
                        } else {
                            bytes.replaceSubrange(page, with: repeatElement(0, count: page.count))
                        }
                    },
                    prepare: { path in
                        let log = LogFile.fragments(of: batch, appendedAt: 0)
                        try Data(log).write(to: URL(fileURLWithPath: "\(path)/\(StoreFileName.logName(900))"))
                    })
            }
            #expect(error.code == .corruption)
            #expect(error.fields["candidateFiles"] == original.log)
        }
    }

    @Test("a log that lost everything and is known to have commits is corruption; its first commit is not dropped")
    func acknowledgedLog() throws {
        let original = try Original(smallCommits: 0, lastByteCount: 9_000)
        let number = try #require(UInt64(original.log.dropLast(4)))
        for byteCount in [4_096, original.bytes.count] {
            let error = try storeError {
                _ = try original.open(
                    { $0.replaceSubrange(0..<byteCount, with: repeatElement(0, count: byteCount)) },
                    prepare: { path in
                        let note = "\(path)/\(StoreFileName.acknowledgedName(number))"
                        try Data().write(to: URL(fileURLWithPath: note))
                    })
            }
            #expect(error.code == .corruption)
            #expect(error.fields["candidateFiles"] == original.log)
        }
    }

    @Test("repair keeps whole commits: nothing of one that lost a page, and all of the others")
    func repair() throws {
        let original = try Original(smallCommits: 40, lastByteCount: 100_000, lastWriteCount: 50)
        let pages = original.pages(of: original.lastCommit)
        var bytes = original.bytes
        // Damage that keeps the store closed: a bit in addition to the page.
        bytes.replaceSubrange(pages[3], with: repeatElement(0, count: pages[3].count))
        bytes[original.bounds[7] + 30] ^= 1
        try Data(bytes).write(to: URL(fileURLWithPath: "\(original.path)/\(original.log)"))
        #expect(try storeError { _ = try LevelDBStore.open(at: original.path) }.code == .corruption)
        let salvaged = original.directory.path(of: "salvaged")
        try LevelDBStore.repairLosingDamagedData(ofStoreAt: original.path, to: salvaged)
        let store = try LevelDBStore.open(at: salvaged)
        defer { store.close() }
        let commits = Dictionary(grouping: try contents(store).keys) { $0.number / 100 }
        #expect(commits[40] == nil)
        #expect(commits.values.allSatisfy { $0.count == 1 })
        // LevelDB drops everything after damage in the same block, as whole commits.
        #expect(Set(0..<7).isSubset(of: commits.keys))
        #expect(commits[7] == nil)
    }
}
