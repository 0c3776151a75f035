// Client objects that use an operation, record or store while these release them: no lock may be held then.

import Foundation
import StratusCloud
import StratusModel
import StratusTestSupport
import Testing

@testable import StratusKit

/// A client object that uses an operation when it is deallocated.
private final class Farewell<Target: CKOperation>: Sendable {
    private weak let target: Target?
    private let body: @Sendable (Target?) -> Void

    init(to target: Target, _ body: @escaping @Sendable (Target?) -> Void) {
        self.target = target
        self.body = body
    }

    deinit { body(target) }

    /// What a block does that refers to it.
    func stay() {}
}

/// A client's array type, which may use anything when it is read.
private final class Watching: NSArray {
    private var look: @Sendable () -> Void = {}

    static func array(_ look: @escaping @Sendable () -> Void) -> Watching {
        let array = Watching(array: [1, 2])
        array.look = look
        return array
    }

    override var count: Int {
        look()
        return 2
    }

    override func object(at index: Int) -> Any { NSNumber(value: index) }
}

@Suite("Re-entrancy")
struct OperationReentrancyTests {
    /// Runs `body` here, and on another thread that is waited for, as a client's object may.
    private static func everywhere(_ body: @escaping @Sendable () -> Void) {
        body()
        let done = Gate("another thread to look")
        Thread.detachNewThread {
            body()
            done.open()
        }
        try? done.wait()
    }

    @Test("a block that is replaced may use its operation while it is released, from any thread")
    func replacing() async throws {
        let gone = Gate("the object to end")
        let hasNewBlock = try await TestThreads.offPool {
            let operation = CKModifyRecordsOperation(recordsToSave: [note("a")])
            do {
                let farewell = Farewell(to: operation) { operation in
                    Self.everywhere {
                        operation?.perRecordDeleteBlock = { _, _ in }
                        _ = operation?.perRecordSaveBlock
                        _ = operation?.isReady
                    }
                    gone.open()
                }
                operation.perRecordSaveBlock = { _, _ in farewell.stay() }
            }
            operation.perRecordSaveBlock = nil
            try gone.wait()
            do {
                let farewell = Farewell(to: operation) { operation in
                    Self.everywhere { operation?.longLivedOperationWasPersistedBlock = nil }
                    gone.open()
                }
                operation.longLivedOperationWasPersistedBlock = { farewell.stay() }
            }
            operation.longLivedOperationWasPersistedBlock = {}
            try gone.wait()
            return operation.perRecordDeleteBlock != nil
        }
        #expect(hasNewBlock)
    }

    @Test("the blocks of a finished operation may use it, and the store, while they are released")
    func ending() async throws {
        let bench = try OperationBench(threadCount: 1)
        let hold = bench.hold(.fetchRecords)
        let (gone, saved) = (Gate("the object to end"), Gate("the object's record to be saved"))
        let ids = [CKRecord.ID(recordName: "a")]
        func fetching() -> CKFetchRecordsOperation {
            let operation = CKFetchRecordsOperation(recordIDs: ids)
            operation.database = bench.database
            return operation
        }
        do {
            let operation = fetching()
            let database = bench.database
            let farewell = Farewell(to: operation) { operation in
                Self.everywhere {
                    _ = operation?.perRecordResultBlock
                    _ = operation?.isFinished
                }
                database.save(makeRecord("farewell")) { _, _ in saved.open() }
                gone.open()
            }
            operation.perRecordResultBlock = { _, _ in farewell.stay() }
            operation.start()
        }
        try await hold.arrived()
        // Two requests that wait for the one thread, behind the first.
        for operation in [fetching(), fetching()] { operation.start() }
        bench.interference.intervene(nil)
        hold.letGo()
        try await TestThreads.offPool {
            try gone.wait()
            try saved.wait()
        }
        await bench.session.activity.untilIdle()
        #expect(try await bench.stored(["farewell"]) == ["farewell"])
    }

    @Test("a client's own array may use the record that it is assigned to")
    func holding() async throws {
        let record = CKRecord(recordType: "Note")
        try await TestThreads.offPool {
            let array = Watching.array { Self.everywhere { _ = record.changedKeys() } }
            record["list"] = array
            record.encryptedValues["secret"] = array
        }
        #expect(record["list"] as? [Int] == [0, 1])
        #expect(record.encryptedValues["secret"] as? [Int] == [0, 1])
    }

    @Test("an asset can be used while its file is copied, and concurrent callers get one copy")
    func copying() async throws {
        let directory = try HostDirectory()
        let content = AssetDescriptor(digest: [UInt8](repeating: 1, count: 32), byteCount: 3)
        let looked = Gate("somebody to look at the asset")
        let place = CKAsset.Place(record: RecordAddress(recordName: "r"), key: "file", in: nil)
        let download = MadeCopies { _, _ in
            try looked.wait()
            let file = directory.url.appendingPathComponent(UUID().uuidString)
            try Data("abc".utf8).write(to: file)
            return file
        }
        let asset = CKAsset(content, at: place, download: download)
        let files = Collected<URL?>()
        try await TestThreads.offPool {
            try TestThreads.run(9) { index in
                guard index == 0 else { return files.append(asset.fileURL) }
                for _ in 1..<9 {
                    _ = asset.description
                    looked.open()
                }
            }
        }
        let file = try #require(asset.fileURL)
        #expect(files.values == [URL?](repeating: file, count: 8))
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.url.path) == [file.lastPathComponent])
    }
}
