// A returned copy belongs to its receiver.

import Foundation
@testable import StratusCloud
import StratusModel
import StratusStore
import StratusTestSupport
import Testing

@Suite("handing assets out", .inBothPlaces)
struct AssetCopyTests {
    private let scratch: AssetScratch
    private let fixture: AssetFixture
    private let asset: AssetDescriptor

    init() throws {
        scratch = try AssetScratch()
        fixture = try AssetFixture(directory: scratch.path + "/assets")
        asset = try fixture.save(try scratch.write(Array("content".utf8), to: "a"))
    }

    private func copy() throws -> String { try fixture.store.privateCopy(of: asset, owner: AssetFixture.owner) }

    private var contentPath: String {
        get throws {
            let top = scratch.path + "/assets/content"
            let name = try #require(FileManager.default.subpathsOfDirectory(atPath: top).first { $0.utf8.count > 64 })
            return top + "/" + name
        }
    }

    @Test("[X-27] changing or deleting a copy changes neither the content nor other copies")
    func copiesArePrivate() throws {
        let (first, second) = (try copy(), try copy())
        #expect(first != second)
        try FileHandle(forWritingAtPath: first)?.write(contentsOf: Data("CHANGED".utf8))
        #expect(FileManager.default.contents(atPath: second) == Data("content".utf8))
        try FileManager.default.removeItem(atPath: second)
        #expect(FileManager.default.contents(atPath: try copy()) == Data("content".utf8))
        #expect(try fixture.verifier.verify().findings.isEmpty)
    }

    @Test("[X-27] a copy outlives its content, and the content outlives its record's copies")
    func copyOutlivesContent() throws {
        let path = try copy()
        try fixture.settle(removing: [asset])
        #expect(try fixture.collector.collectOrphans() == 1)
        #expect(FileManager.default.contents(atPath: path) == Data("content".utf8))
        fixture.collector.removeCopies()
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test(
        "[X-27] a released copy is removed after a delay, a copy that was moved away stays, and others are not touched")
    func releasedCopies() throws {
        let (released, moved, held, unseen) = (try copy(), try copy(), try copy(), try copy())
        let kept = scratch.path + "/kept"
        try FileManager.default.moveItem(atPath: moved, toPath: kept)
        fixture.store.releasedCopies.add([released, moved], unseen: [unseen])
        fixture.clock.advance(seconds: 3_599)
        try fixture.collector.collect()
        // No one uses it, so it need not wait.
        #expect(!FileManager.default.fileExists(atPath: unseen))
        #expect(FileManager.default.fileExists(atPath: released))
        fixture.clock.advance(seconds: 1)
        try fixture.collector.collect()
        #expect(!FileManager.default.fileExists(atPath: released))
        for path in [kept, held] { #expect(FileManager.default.contents(atPath: path) == Data("content".utf8)) }
        #expect(try fixture.verifier.verify().findings.isEmpty)
    }

    @Test("[X-27] a copy that its receiver saves again is imported like any file")
    func copyIsSavedAgain() throws {
        #expect(try fixture.save(try copy()) == asset)
        #expect(try fixture.count(of: asset) == 2)
    }

    @Test("a damaged content is never returned", .onlyFiles, arguments: [0, 3, 6])
    func damage(position: Int) throws {
        let handle = try #require(FileHandle(forUpdatingAtPath: try contentPath))
        try handle.seek(toOffset: UInt64(position))
        try handle.write(contentsOf: Data([0]))
        #expect(cloudErrorCode { try copy() } == .assetNotAvailable)
        let session = scratch.path + "/assets/copies/" + AssetFixture.session.uuidString
        #expect(try FileManager.default.contentsOfDirectory(atPath: session).isEmpty)
    }

    @Test("a truncated or missing content is never returned", .onlyFiles)
    func loss() throws {
        try FileHandle(forWritingAtPath: try contentPath)?.truncate(atOffset: 3)
        #expect(cloudErrorCode { try copy() } == .assetNotAvailable)
        try FileManager.default.removeItem(atPath: try contentPath)
        #expect(cloudErrorCode { try copy() } == .assetNotAvailable)
    }

    @Test("saving a damaged content's file again repairs it", .onlyFiles)
    func repairing() throws {
        try FileHandle(forWritingAtPath: try contentPath)?.truncate(atOffset: 3)
        try fixture.save(scratch.path + "/a")
        #expect(FileManager.default.contents(atPath: try copy()) == Data("content".utf8))
    }

    @Test("the next opening removes the copies of earlier sessions and unfinished files", .onlyFiles)
    func leftovers() throws {
        let path = try copy()
        let stray = scratch.path + "/assets/incoming/stray"
        try Data([1]).write(to: URL(filePath: stray))
        let next = try AssetFixture(directory: scratch.path + "/assets", session: UUID())
        try next.collector.removeLeftovers()
        #expect(!FileManager.default.fileExists(atPath: path))
        #expect(!FileManager.default.fileExists(atPath: stray))
        #expect(FileManager.default.fileExists(atPath: try contentPath))
    }

    @Test("a session keeps its own copies, and creates its directories again after they were removed")
    func removedDirectories() throws {
        let path = try copy()
        try fixture.collector.removeLeftovers()
        #expect(FileManager.default.fileExists(atPath: path))
        try FileManager.default.removeItem(atPath: scratch.path + "/assets")
        let again = try fixture.save(scratch.path + "/a")
        #expect(FileManager.default.contents(atPath: try copy()) == Data("content".utf8))
        #expect(again == asset)
    }

    @Test("a digest of any length that no content has is not available")
    func foreignDigests() {
        for digest: [UInt8] in [[], [1], [UInt8](repeating: 0, count: 32), [UInt8](repeating: 46, count: 500)] {
            let foreign = AssetDescriptor(digest: digest, byteCount: 1)
            #expect(
                cloudErrorCode { try fixture.store.privateCopy(of: foreign, owner: AssetFixture.owner) }
                    == .assetNotAvailable)
        }
    }

    @Test("a fetch without disk space says what could not be written, where, and what to do", arguments: [28, 122, 5])
    func fullDisk(number: Int32) throws {
        let files = MemoryFiles()
        files.put(Array("content".utf8), at: "/source")
        files.put([], at: "/store/none")
        let fixture = try AssetFixture(directory: "/store/assets", files: files)
        let asset = try fixture.save("/source")
        _ = try fixture.store.privateCopy(of: asset, owner: AssetFixture.owner)
        // Among a copy's calls, opening and reading the content cannot fail with a full disk.
        var found: [CloudError] = []
        for call in 1...8 {
            files.fail(at: call, number: number)
            let error = cloudError { _ = try fixture.store.privateCopy(of: asset, owner: AssetFixture.owner) }
            files.clearFailure()
            if let error, error.code == .serviceUnavailable { found.append(error) }
        }
        #expect(found.count >= 2)
        for error in found {
            #expect(
                error.message.hasPrefix("The copy of the asset that the fetch returns cannot be written:"), "\(error)")
            #expect(
                error.message.contains("Free space where the copies are stored, then fetch again") == (number != 5),
                "\(error)")
            #expect(error.fields["path"]?.hasPrefix("/store/assets/copies/") == true)
            #expect(error.fields["byteCount"] == "7")
        }
    }

    @Test(
        "anything but a file in the place of a content is refused without blocking", .onlyFiles,
        arguments: SpecialFile.allCases)
    func irregular(thing: SpecialFile) async throws {
        let path = try contentPath
        guard try await TestThreads.offPool({ try thing.replace(path) }) else { return }
        let error = cloudError { _ = try copy() }
        #expect(error?.code == .assetNotAvailable, "\(String(describing: error))")
        #expect(try fixture.verifier.verify().findings.count == 1)
    }
}
