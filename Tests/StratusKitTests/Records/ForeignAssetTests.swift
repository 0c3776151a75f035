// Assets that are moved from one record to another: copied at the request, and not before.

import Foundation
@testable import StratusCloud
import StratusModel
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusKit

@Suite struct ForeignAssetTests {
    private let content = AssetDescriptor(digest: [UInt8](repeating: 7, count: 32), byteCount: 5)

    /// A record of the server's with one asset; making its copy is noted.
    private func fetched(_ copies: Trace) -> CKRecord {
        let answer = ClientRecord(
            ToldRecord(
                address: CKRecord.ID(recordName: "a").address, type: "Photo", changeTag: "t1",
                creationDate: Date(timeIntervalSince1970: 1), modificationDate: Date(timeIntervalSince1970: 2),
                creatorUserName: "__defaultOwner__", lastModifiedUserName: "__defaultOwner__",
                fields: ClientFields(["file": ClientField(.asset(.content(content)))])))
        let download = MadeCopies { _, _ in
            copies.note(Self.currentThread)
            return URL(fileURLWithPath: "/copy")
        }
        return CKRecord(answer, origin: nil, download: download)
    }

    @Test("[R-14] starting a save copies no content; making its request does")
    func beginning() {
        let copies = Trace()
        let record = CKRecord(recordType: "Photo")
        record["file"] = fetched(copies)["file"] as? CKAsset
        record["files"] = [fetched(copies)["file"] as? CKAsset].compactMap { $0 }
        let target = RecordOrigin(container: "iCloud.a", database: .private, account: "a1")
        let sent = record.beginSave()
        #expect(copies.all.isEmpty)
        #expect(sent.makeSave(to: target).fields["file"] == ClientField(.asset(.file(path: "/copy"))))
        #expect(sent.makeSave(to: target).fields["files"] == ClientField(.list([.asset(.file(path: "/copy"))])))
        #expect(copies.all.count == 2)
    }

    @Test("[R-14] an operation copies it on a thread of the session, and not on the one that starts it")
    func thread() async throws {
        let bench = try OperationBench()
        let copies = Trace()
        let record = CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: "b"))
        record["file"] = fetched(copies)["file"] as? CKAsset
        let operation = CKModifyRecordsOperation(recordsToSave: [record])
        operation.database = bench.database
        let starter = try await TestThreads.offPool {
            operation.start()
            return Self.currentThread
        }
        // The bench stores no assets, so the server refuses the item; the copy is created before.
        await bench.session.activity.untilIdle()
        #expect(copies.all.count == 1)
        #expect(copies.all != [starter])
    }

    private static var currentThread: String { "\(ObjectIdentifier(Thread.current))" }
}

/// Copies that a test creates.
struct MadeCopies: AssetDownload {
    let make: @Sendable (AssetDescriptor, CKAsset.Place) throws -> URL

    init(_ make: @escaping @Sendable (AssetDescriptor, CKAsset.Place) throws -> URL) { self.make = make }

    func makeCopy(of content: AssetDescriptor, at place: CKAsset.Place) throws -> URL { try make(content, place) }
    func take(_ copy: URL) {}
    func show(_ copy: URL) {}
}
