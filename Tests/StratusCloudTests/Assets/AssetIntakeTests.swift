// Which files are imported, and which are refused and how (C-10, L-04, X-27).

import Foundation
import Glibc
import StratusCloud
import StratusLayout
import StratusModel
import StratusStore
import Testing

/// Files of the disk that can be changed between two calls, or refuse to be read.
struct MeddlingFiles: AssetFiles {
    let files = SystemAssetFiles()
    /// Called before the read with this number.
    var meddle: (@Sendable (_ read: Int) -> Void)?
    var openFailure: FileFailure?
    private let readCount = Locked(0)

    init(openFailure: FileFailure? = nil, meddle: (@Sendable (Int) -> Void)? = nil) {
        self.openFailure = openFailure
        self.meddle = meddle
    }

    func openFile(_ path: String) throws(FileFailure) -> Int32 {
        if let openFailure { throw openFailure }
        return try files.openFile(path)
    }
    func read(_ descriptor: Int32, into buffer: inout [UInt8]) throws(FileFailure) -> Int {
        let number = readCount.withLock { count in
            count += 1
            return count
        }
        meddle?(number)
        return try files.read(descriptor, into: &buffer)
    }
    func createFile(_ path: String) throws(FileFailure) -> Int32 { try files.createFile(path) }
    func facts(_ descriptor: Int32) throws(FileFailure) -> AssetFileFacts { try files.facts(descriptor) }
    func write(_ descriptor: Int32, _ buffer: [UInt8], count: Int) throws(FileFailure) {
        try files.write(descriptor, buffer, count: count)
    }
    func beginSync(_ descriptor: Int32) { files.beginSync(descriptor) }
    func sync(_ descriptor: Int32) throws(FileFailure) { try files.sync(descriptor) }
    func close(_ descriptor: Int32) { files.close(descriptor) }
    func rename(_ path: String, to newPath: String) throws(FileFailure) { try files.rename(path, to: newPath) }
    func removeFile(_ path: String) throws(FileFailure) { try files.removeFile(path) }
    func createDirectory(_ path: String) throws(FileFailure) { try files.createDirectory(path) }
    func removeDirectory(_ path: String) throws(FileFailure) { try files.removeDirectory(path) }
    func syncDirectory(_ path: String) throws(FileFailure) { try files.syncDirectory(path) }
    func names(in path: String) throws(FileFailure) -> [String] { try files.names(in: path) }
}

@Suite("taking assets in", .inBothPlaces)
struct AssetIntakeTests {
    private let scratch: AssetScratch
    private let fixture: AssetFixture

    init() throws {
        scratch = try AssetScratch()
        fixture = try AssetFixture(directory: scratch.path + "/assets", byteCountLimit: 1 << 20)
    }

    @Test("a content is identified by its SHA-256 and its size, and is returned byte for byte")
    func roundTrip() throws {
        let path = try scratch.write(Array("abc".utf8), to: "a")
        let asset = try fixture.save(path)
        #expect(Hex.text(asset.digest) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(asset.byteCount == 3)
        let copy = try fixture.store.privateCopy(of: asset, owner: AssetFixture.owner)
        #expect(FileManager.default.contents(atPath: copy) == Data("abc".utf8))
        #expect(FileManager.default.contents(atPath: path) == Data("abc".utf8))
    }

    @Test(
        "assets of public databases are kept, found again and collected, however long their container's name is",
        .onlyFiles,
        arguments: [
            ("iCloud.com.example", "public%3aiCloud%2ecom%2eexample"),
            (String(repeating: ".", count: 82), "public%3a" + String(repeating: "%2e", count: 82)),
            (String(repeating: ".", count: 83), "=" + String(repeating: ".", count: 83)),
            (String(repeating: "a", count: 246), "public%3a" + String(repeating: "a", count: 246)),
            (String(repeating: "a", count: 247), "=" + String(repeating: "a", count: 247)),
            (String(repeating: "a.", count: 127), "=" + String(repeating: "a.", count: 127)),
        ])
    func longOwners(container: String, directory: String) throws {
        let owner = AssetLedger.publicOwner(of: ContainerName(container))
        let asset = try fixture.save(try scratch.write([1, 2, 3], to: "a"), owner: owner)
        let content = scratch.path + "/assets/content"
        #expect(try FileManager.default.contentsOfDirectory(atPath: content) == [directory])
        #expect(try fixture.verifier.verify().findings.isEmpty)
        let copy = try fixture.store.privateCopy(of: asset, owner: owner)
        #expect(FileManager.default.contents(atPath: copy) == Data([1, 2, 3]))
        try fixture.settle(removing: [asset], owner: owner)
        let report = try fixture.collector.sweep()
        #expect(report.foreignNames == 0)
        #expect(cloudErrorCode { try fixture.store.privateCopy(of: asset, owner: owner) } == .assetNotAvailable)
    }

    @Test(
        "a directory of no owner is not treated as an asset directory; a name that fits no directory is refused",
        .onlyFiles)
    func foreignOwners() throws {
        let content = scratch.path + "/assets/content"
        for name in ["=iCloud.short", "=" + String(repeating: ".", count: 82), "=", "=a%2e", "public:a", "%"] {
            try FileManager.default.createDirectory(atPath: content + "/" + name, withIntermediateDirectories: true)
        }
        #expect(try fixture.collector.sweep().foreignNames == 6)
        let path = try scratch.write([1], to: "a")
        for name in [String(repeating: "a", count: 255), String(repeating: "/", count: 90)] {
            let owner = AssetLedger.publicOwner(of: ContainerName(name))
            #expect(cloudErrorCode { try fixture.store.takeIn(path: path, owner: owner) } == .internalError)
        }
    }

    @Test(
        "empty files and files around the size of a buffer are returned byte for byte",
        arguments: [0, 1, 262_143, 262_144, 262_145, 600_000])
    func sizes(byteCount: Int) throws {
        let content = (0..<byteCount).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
        let asset = try fixture.save(try scratch.write(content, to: "a"))
        #expect(asset.byteCount == Int64(byteCount))
        let copy = try fixture.store.privateCopy(of: asset, owner: AssetFixture.owner)
        #expect(FileManager.default.contents(atPath: copy) == Data(content))
    }

    @Test("[C-10] a file that does not exist is assetFileNotFound")
    func missing() {
        for path in [
            "/none", "/none/of/this", scratch.path + "/a\0b", scratch.path + "/" + String(repeating: "x", count: 300),
        ] {
            #expect(
                cloudErrorCode { try fixture.store.takeIn(path: path, owner: AssetFixture.owner) } == .assetFileNotFound
            )
        }
    }

    @Test("[C-10] a file without read permission is assetNotAvailable")
    func unreadable() throws {
        let path = try scratch.write([1], to: "a")
        let files = MeddlingFiles(openFailure: FileFailure(number: 13))
        let refusing = try AssetFixture(directory: scratch.path + "/assets", files: files)
        #expect(cloudErrorCode { try refusing.save(path) } == .assetNotAvailable)
    }

    @Test("[X-27] only regular files are imported: no folder, link, pipe or device, and none of them blocks the server")
    func regularFilesOnly() throws {
        let file = try scratch.write([1], to: "a")
        let link = scratch.path + "/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
        let pipe = scratch.path + "/pipe"
        #expect(unsafe mkfifo(pipe, 0o600) == 0)
        for path in [scratch.path, link, pipe, "/dev/null", "/dev/zero", "relative/a", ""] {
            let code = cloudErrorCode { try fixture.store.takeIn(path: path, owner: AssetFixture.owner) }
            #expect(code == .assetNotAvailable, "\(path)")
        }
    }

    @Test("[L-04] a file over the limit is limitExceeded, and a file at the limit is imported")
    func limit() throws {
        let large = try scratch.write([UInt8](repeating: 0, count: 1 << 20 + 1), to: "large")
        #expect(cloudErrorCode { try fixture.save(large) } == .limitExceeded)
        #expect(try fixture.save(scratch.write([UInt8](repeating: 0, count: 1 << 20), to: "fits")).byteCount == 1 << 20)
    }

    enum Meddling: CaseIterable {
        case grows, shrinks, isRewritten, isTouched
    }

    @Test(
        "[C-10] a file that changes while it is read is assetFileModified, and nothing of it is kept",
        arguments: Meddling.allCases)
    func modified(meddling: Meddling) throws {
        let path = try scratch.write([UInt8](repeating: 7, count: 600_000), to: "a")
        let files = MeddlingFiles { read in
            guard read == 2 else { return }
            switch meddling {
            case .grows:
                guard let handle = FileHandle(forWritingAtPath: path) else { return }
                _ = try? handle.seekToEnd()
                try? handle.write(contentsOf: Data([1]))
            case .shrinks: try? FileHandle(forWritingAtPath: path)?.truncate(atOffset: 300_000)
            case .isRewritten: try? FileHandle(forWritingAtPath: path)?.write(contentsOf: Data([8]))
            case .isTouched:
                // The time of modification is set back: the time of change reveals it.
                let date = (try? FileManager.default.attributesOfItem(atPath: path))?[.modificationDate] as? Date
                try? FileHandle(forWritingAtPath: path)?.write(contentsOf: Data([8]))
                if let date { try? FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path) }
            }
        }
        let fixture = try AssetFixture(directory: scratch.path + "/assets", files: files)
        #expect(cloudErrorCode { try fixture.save(path) } == .assetFileModified)
        #expect(try fixture.verifier.verify().findings.isEmpty)
        #expect(try fixture.contentCount(in: scratch.path + "/assets") == 0)
        let incoming = try? FileManager.default.contentsOfDirectory(atPath: scratch.path + "/assets/incoming")
        #expect(incoming ?? [] == [])
    }

    @Test("[X-27] a content is stored once per owner")
    func onceByOwner() throws {
        let names = try ["a", "b", "c"].map { try scratch.write(Array("same".utf8), to: $0) }
        for path in names { try fixture.save(path) }
        #expect(try fixture.contentCount(in: scratch.path + "/assets") == 1)
        let asset = try fixture.save(names[0], owner: "_bob")
        #expect(try fixture.contentCount(in: scratch.path + "/assets") == 2)
        #expect(try fixture.count(of: asset) == 3)
        #expect(try fixture.count(of: asset, owner: "_bob") == 1)
        #expect(cloudErrorCode { try fixture.store.privateCopy(of: asset, owner: "_carol") } == .assetNotAvailable)
    }

    @Test("an owner of any name has its own directory inside the store's", .onlyFiles)
    func ownerNames() throws {
        let path = try scratch.write([1], to: "a")
        let owners: [UserName] = [
            "..", "../..", "a/b", "a%2fb", ".", "\u{E9}", "e\u{301}", "_A", "_a", "public:iCloud.x",
        ]
        for owner in owners { try fixture.save(path, owner: owner) }
        let directories = try FileManager.default.contentsOfDirectory(atPath: scratch.path + "/assets/content")
        #expect(directories.count == owners.count)
        #expect(try fixture.verifier.verify().findings.isEmpty)
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path).sorted() == ["a", "assets"])
        for owner in ["", String(repeating: "x", count: 256)] {
            #expect(cloudErrorCode { try fixture.save(path, owner: UserName(owner)) } == .internalError)
        }
    }

    @Test("of several files imported at once, each succeeds or fails in its own position")
    func several() throws {
        let paths = try [
            scratch.write([1], to: "a"), "/none", scratch.write([2], to: "b"), scratch.write([1], to: "c"),
        ]
        let results = fixture.store.takeIn(paths: paths, owner: AssetFixture.owner)
        let assets = results.map { try? $0.get() }
        #expect(assets[1] == nil)
        #expect(assets[0] == assets[3])
        #expect(assets[0] != assets[2])
        #expect(assets[2] != nil)
    }

    @Test("more files than may be open at once are all imported")
    func many() throws {
        let paths = try (0..<100).map { try scratch.write([UInt8($0), 1], to: "many\($0)") }
        let results = fixture.store.takeIn(paths: paths + ["/none"] + paths, owner: AssetFixture.owner)
        let assets = try results.indices.filter { $0 != 100 }.map { try results[$0].get() }
        #expect(Set(assets).count == 100)
        #expect(assets[..<100] == assets[100...])
        try fixture.settle(adding: assets)
        #expect(try fixture.verifier.verify().findings.isEmpty)
    }
}
