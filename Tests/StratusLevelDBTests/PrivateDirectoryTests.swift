// Directories that are removed with their process.

import Foundation
import StratusLevelDB
import StratusTestSupport
import Testing

@Suite struct PrivateDirectoryTests {
    private static let prefix = "work-"

    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path) }
    }

    @Test("only its owner can access a private directory, and it is removed after its process has died, not before")
    func sweeping() throws {
        let child = try TestChild.start("private", folder.path)
        #expect(child.readLine() == "made")
        let mine = try PrivateDirectory.make(in: folder.path, prefix: Self.prefix)
        let second = try PrivateDirectory.make(in: folder.path, prefix: Self.prefix)
        #expect(Set([mine.path, second.path]).count == 2)
        let mode = try FileManager.default.attributesOfItem(atPath: mine.path)[.posixPermissions] as? Int
        #expect(mode == 0o700)
        #expect(PrivateDirectory.sweep(folder.path, prefix: Self.prefix) == 0)
        #expect(try names.count == 3)
        kill(child.processID, SIGKILL)
        child.finish()
        #expect(PrivateDirectory.sweep(folder.path, prefix: Self.prefix) == 1)
        #expect(try names.count == 2)
        for directory in [mine, second] {
            try Data([1]).write(to: URL(fileURLWithPath: "\(directory.path)/file"))
            directory.remove()
            directory.remove()
        }
        #expect(try names.isEmpty)
    }

    @Test(
        "only directories with the prefix are removed; links are not followed, and partial ones are removed")
    func strangers() throws {
        let files = FileManager.default
        for name in ["other-1-1/kept", "target/kept", "work-1-1", "work-1-2/assets/deep"] {
            try files.createDirectory(atPath: folder.path(of: name), withIntermediateDirectories: true)
        }
        try files.createSymbolicLink(
            atPath: folder.path(of: "work-1-3"), withDestinationPath: folder.path(of: "target"))
        try files.createSymbolicLink(
            atPath: folder.path(of: "work-1-2/link"), withDestinationPath: folder.path(of: "target"))
        try Data([1]).write(to: URL(fileURLWithPath: folder.path(of: "work-1-2/assets/deep/file")))
        try Data([1]).write(to: URL(fileURLWithPath: folder.path(of: "work-1-4")))
        #expect(PrivateDirectory.sweep(folder.path, prefix: Self.prefix) == 2)
        #expect(try names.sorted() == ["other-1-1", "target", "work-1-3", "work-1-4"])
        #expect(files.fileExists(atPath: folder.path(of: "target/kept")))
    }

    @Test("directories that threads create while others clean up are never removed")
    func races() throws {
        let folder = folder.path
        try TestThreads.run(4) { thread in
            for _ in 0..<100 {
                if thread < 2 {
                    PrivateDirectory.sweep(folder, prefix: Self.prefix)
                    continue
                }
                let directory = try PrivateDirectory.make(in: folder, prefix: Self.prefix)
                let file = URL(fileURLWithPath: "\(directory.path)/file")
                try Data([1]).write(to: file)
                TestThreads.yield()
                try #require(try Data(contentsOf: file) == Data([1]))
                directory.remove()
            }
        }
        #expect(try names.isEmpty)
    }
}
