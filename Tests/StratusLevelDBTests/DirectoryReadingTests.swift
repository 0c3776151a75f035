// An incomplete list of names is no list: a backup would miss logs.

import Foundation
import Glibc
import StratusStore
import Testing

@testable import StratusLevelDB

@Suite struct DirectoryReadingTests {
    @Test("an error in the middle of a directory is thrown, whatever was read before it")
    func failures() throws {
        let directory = try TemporaryDirectory()
        for number in 0..<5 { try Data().write(to: URL(fileURLWithPath: directory.path(of: "\(number)"))) }
        for readable in 0..<7 {
            var done = 0
            let error = #expect(throws: SystemError.self) {
                try unsafe SystemFiles.names(in: directory.path) { stream in
                    done += 1
                    if done <= readable { return unsafe readdir(stream) }
                    errno = EIO
                    return nil
                }
            }
            #expect(error?.number == EIO)
            #expect("\(error?.call ?? "")" == "readdir")
        }
    }

    @Test("an error of another call is not attributed to the directory")
    func foreignErrors() throws {
        let directory = try TemporaryDirectory()
        try Data().write(to: URL(fileURLWithPath: directory.path(of: "a")))
        errno = EIO
        #expect(try SystemFiles.names(in: directory.path) == ["a"])
    }
}
