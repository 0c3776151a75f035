// Long-lived uploads: their process ended before the request, their files were deleted, or they are too large.

import Foundation
import StratusCloud
import StratusModel
import StratusTestSupport
import Testing

@testable import StratusKit

@Suite("Long-lived uploads")
struct LongLivedUploadTests {
    private let id = CKRecord.ID(recordName: "photo")

    /// A store whose saves fail as if the server were unreachable, so that they are retried; with a stopped clock this
    /// is never.
    private func unreachable(_ directory: URL) throws -> (store: Stratus, account: Stratus.Account) {
        let store = try Stratus.open(at: directory, options: .tested { $0.clock = .manual(Stratus.ManualClock()) })
        let account = try store.createAccount(.init(), externalID: "alice")
        store.faults.fail(
            .operation(.modifyRecords), with: .networkFailure, retryAfter: 1_000, lasting: .untilCancelled)
        return (store, account)
    }

    private func operation(_ files: [URL]) -> CKModifyRecordsOperation {
        let record = CKRecord(recordType: "Photo", recordID: id)
        record["title"] = "Sunset"
        record["file"] = CKAsset(fileURL: files[0])
        record["same"] = CKAsset(fileURL: files[0])
        record["files"] = files.map { CKAsset(fileURL: $0) }
        let operation = CKModifyRecordsOperation(recordsToSave: [record])
        operation.configuration.isLongLived = true
        operation.configuration.qualityOfService = .utility
        operation.clientChangeTokenData = Data([1, 2, 3])
        return operation
    }

    @Test("[O-14] an interrupted upload is completed by the next process, even if the original file is gone")
    func upload() async throws {
        let directory = try HostDirectory()
        let (store, account) = try unreachable(directory.store)
        let files = try ["sunset", "sunrise"].map { text in
            let file = directory.url.appendingPathComponent("\(text).jpg")
            try Data(text.utf8).write(to: file)
            return file
        }
        let first = operation(files)
        await withCheckedContinuation { continuation in
            first.longLivedOperationWasPersistedBlock = { continuation.resume() }
            store.container("iCloud.test", signedInAs: account).privateCloudDatabase.add(first)
        }
        for file in files { try FileManager.default.removeItem(at: file) }
        // What a crash leaves is what is in the directory now.
        let crashed = directory.url.appendingPathComponent("crashed")
        try FileManager.default.copyItem(at: directory.store, to: crashed)

        let next = try await Stratus.open(at: crashed, options: .tested())
        let container = await next.container(
            "iCloud.test", signedInAs: try #require(try next.account(externalID: "alice")))
        let found = try await container.longLivedOperation(for: first.operationID)
        let second = try #require(found as? CKModifyRecordsOperation)
        #expect(second.clientChangeTokenData == Data([1, 2, 3]))
        await withCheckedContinuation { continuation in
            second.completionBlock = { continuation.resume() }
            container.privateCloudDatabase.add(second)
        }
        let saved = try await container.privateCloudDatabase.record(for: id)
        #expect(saved["title"] as? String == "Sunset")
        let assets = [saved["file"] as? CKAsset, saved["same"] as? CKAsset] + (saved["files"] as? [CKAsset] ?? [])
        let contents = assets.map { $0?.fileURL.flatMap { try? String(contentsOf: $0, encoding: .utf8) } }
        #expect(contents == ["sunset", "sunset", "sunset", "sunrise"])
        // The operation's files are deleted with it; an asset of its record can still be saved elsewhere.
        let other = CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: "other"))
        other["file"] = second.recordsToSave?.first?["file"] as? CKAsset
        try await container.privateCloudDatabase.save(other)
        let copy = try await container.privateCloudDatabase.record(for: other.recordID)["file"] as? CKAsset
        #expect(try copy?.fileURL.map { try String(contentsOf: $0, encoding: .utf8) } == "sunset")
        #expect(try FileManager.default.contentsOfDirectory(atPath: crashed.path + "/operations") == [])

        first.cancel()
        try await onThread {
            next.close()
            store.close()
        }
    }

    @Test(
        "[X-33] an operation is listed and resumed only on its device; containers without a device count as one device")
    func devices() async throws {
        let directory = try HostDirectory()
        let (store, account) = try unreachable(directory.store)
        func containers(of store: Stratus, _ account: Stratus.Account) throws -> [CKContainer] {
            try store.signIn(account)
            return [
                try store.device("phone", signedInAs: account).container("iCloud.test"),
                try store.device("desk", signedInAs: account).container("iCloud.test"),
                store.container("iCloud.test", signedInAs: account), store.container("iCloud.test"),
            ]
        }
        let first = try containers(of: store, account)
        var operations: [CKModifyRecordsOperation] = []
        for container in [first[0], first[2]] {
            let operation = CKModifyRecordsOperation(recordsToSave: [note("waiting")])
            operation.configuration.isLongLived = true
            operation.configuration.qualityOfService = .utility
            await withCheckedContinuation { continuation in
                operation.longLivedOperationWasPersistedBlock = { continuation.resume() }
                container.privateCloudDatabase.add(operation)
            }
            operations.append(operation)
        }
        let ids = operations.map(\.operationID)
        let lists = [[ids[0]], [], [ids[1]], [ids[1]]]
        func expectLists(_ containers: [CKContainer]) async throws {
            for (container, list) in zip(containers, lists) {
                #expect(try await container.allLongLivedOperationIDs() == list)
                for id in ids {
                    #expect(try await (container.longLivedOperation(for: id) != nil) == list.contains(id))
                }
            }
        }
        try await expectLists(first)
        // What a crash leaves is what is in the directory now.
        let crashed = directory.url.appendingPathComponent("crashed")
        try FileManager.default.copyItem(at: directory.store, to: crashed)
        let next = try await Stratus.open(at: crashed, options: .tested())
        try await expectLists(containers(of: next, try #require(try next.account(externalID: "alice"))))
        for operation in operations { operation.cancel() }
        try await onThread {
            next.close()
            store.close()
        }
    }

    @Test("[X-33] an operation that an earlier version stored belongs to the containers without a device")
    func ofEarlierVersion() throws {
        let directory = try HostDirectory()
        let file = #"{"container":"iCloud.test","id":"a","kind":"modifyRecords","request":""}"#
        let path = directory.url.appendingPathComponent("operations").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        try Data(file.utf8).write(to: URL(fileURLWithPath: "\(path)/61.operation"))
        let entry = try #require(try OperationFiles(directory: path).entry("a"))
        let local = Caller(container: ContainerName("iCloud.test"), account: nil, device: "local")
        #expect(entry.device == local.keepingDevice)
    }

    @Test("[O-14] a stored file that the disk damaged is not uploaded: its record fails, and nothing is saved")
    func damagedFile() async throws {
        let directory = try HostDirectory()
        let (store, account) = try unreachable(directory.store)
        let file = directory.url.appendingPathComponent("sunset.jpg")
        try Data("sunset".utf8).write(to: file)
        let first = operation([file])
        await withCheckedContinuation { continuation in
            first.longLivedOperationWasPersistedBlock = { continuation.resume() }
            store.container("iCloud.test", signedInAs: account).privateCloudDatabase.add(first)
        }
        let crashed = directory.url.appendingPathComponent("crashed")
        try FileManager.default.copyItem(at: directory.store, to: crashed)
        let kept =
            FileManager.default.enumerator(atPath: crashed.path + "/operations")?
            .compactMap { $0 as? String }.filter { $0.hasSuffix(".files/0") } ?? []
        #expect(kept.count == 1)
        try Data("sunsex".utf8).write(to: crashed.appendingPathComponent("operations/\(kept[0])"))

        let next = try await Stratus.open(at: crashed, options: .tested())
        let container = await next.container(
            "iCloud.test", signedInAs: try #require(try next.account(externalID: "alice")))
        let found = try await container.longLivedOperation(for: first.operationID)
        let second = try #require(found as? CKModifyRecordsOperation)
        let outcomes = Collected<String>()
        second.perRecordSaveBlock = { outcomes.append(outcome($1)) }
        container.privateCloudDatabase.add(second)
        await next.settle()
        #expect(outcomes.values == ["assetFileNotFound"])
        first.cancel()
        try await onThread {
            next.close()
            store.close()
        }
    }

    @Test("[O-14] an upload succeeds even if the original file is gone", arguments: [false, true])
    func uploadByItself(isInMemory: Bool) async throws {
        let directory = try HostDirectory()
        let clock = Stratus.ManualClock()
        let hasFailed = Latch("the request to fail")
        let options = Stratus.Options.tested {
            $0.clock = .manual(clock)
            $0.onEvent = { event in
                if event.operation == .modifyRecords, event.errorCode == .networkFailure { hasFailed.open() }
            }
        }
        let store =
            try await isInMemory
            ? Stratus.inMemory(options: options) : Stratus.open(at: directory.store, options: options)
        let database = await store.container(
            "iCloud.test", signedInAs: try store.createAccount(.init(), externalID: "alice")
        ).privateCloudDatabase
        store.faults.fail(
            .operation(.modifyRecords), with: .networkFailure, retryAfter: 1_000, lasting: .untilCancelled)
        let file = directory.url.appendingPathComponent("sunset.jpg")
        try Data("sunset".utf8).write(to: file)
        let operation = operation([file])
        let isKept = Collected<Bool>()
        operation.longLivedOperationWasPersistedBlock = {
            // The request fails before the block returns, and settling waits for the block all the same.
            do { try hasFailed.wait() } catch { return }
            isKept.append(true)
        }
        database.add(operation)
        // Its request has failed, and is repeated when the clock is moved.
        await store.settle()
        #expect(isKept.values == [true])
        try FileManager.default.removeItem(at: file)
        store.faults.removeAll()
        clock.advance(by: 1_000)
        await store.settle()
        let saved = try await database.record(for: id)
        let content = try (saved["file"] as? CKAsset)?.fileURL.map { try String(contentsOf: $0, encoding: .utf8) }
        #expect(content == "sunset")
        try await onThread { store.close() }
    }

    @Test("[L-01][O-14] a request with too many items is refused before any of its files is copied")
    func tooManyItems() async throws {
        let directory = try HostDirectory()
        let store = try await Stratus.open(at: directory.store, options: .tested { $0.requestItemCount = 1 })
        let account = try await store.createAccount(.init(), externalID: "alice")
        let file = directory.url.appendingPathComponent("sunset.jpg")
        try Data("sunset".utf8).write(to: file)
        let operation = operation([file])
        operation.recordIDsToDelete = [CKRecord.ID(recordName: "other")]
        let outcomes = Collected<String>()
        operation.longLivedOperationWasPersistedBlock = { outcomes.append("kept") }
        operation.modifyRecordsResultBlock = { outcomes.append(outcome($0)) }
        store.container("iCloud.test", signedInAs: account).privateCloudDatabase.add(operation)
        await store.settle()
        #expect(outcomes.values == ["limitExceeded"])
        // It is created with the first copy, and stays.
        #expect(!FileManager.default.fileExists(atPath: directory.store.path + "/operations"))
        try await onThread { store.close() }
    }

    @Test("[L-04][O-14] a file over the server's limit is refused as usual, and is not copied")
    func tooLarge() async throws {
        let directory = try HostDirectory()
        let store = try await Stratus.open(at: directory.store, options: .tested { $0.assetByteCount = 5 })
        let account = try await store.createAccount(.init(), externalID: "alice")
        let file = directory.url.appendingPathComponent("sunset.jpg")
        try Data("sunset".utf8).write(to: file)
        let operation = operation([file])
        let outcomes = Collected<String>()
        operation.longLivedOperationWasPersistedBlock = {
            // The operation's copies are there until its last block was called.
            let names = try? FileManager.default.contentsOfDirectory(atPath: directory.store.path + "/operations")
            outcomes.append((names ?? []).contains { $0.hasSuffix(".files") } ? "copied" : "kept")
        }
        operation.perRecordSaveBlock = { outcomes.append(outcome($1)) }
        store.container("iCloud.test", signedInAs: account).privateCloudDatabase.add(operation)
        await store.settle()
        #expect(outcomes.values == ["kept", "limitExceeded"])
        try await onThread { store.close() }
    }

    @Test("[O-14][C-10] a missing file is reported as usual, and the operation is stored without it")
    func missing() async throws {
        let directory = try HostDirectory()
        let store = try await Stratus.open(at: directory.store, options: .tested())
        let account = try await store.createAccount(.init(), externalID: "alice")
        let operation = operation([directory.url.appendingPathComponent("none")])
        let error: (any Error)? = await withCheckedContinuation { continuation in
            operation.perRecordSaveBlock = { _, result in
                if case .failure(let error) = result { continuation.resume(returning: error) }
            }
            store.container("iCloud.test", signedInAs: account).privateCloudDatabase.add(operation)
        }
        #expect((error as? CKError)?.code == .assetFileNotFound)
        try await onThread { store.close() }
    }
}
