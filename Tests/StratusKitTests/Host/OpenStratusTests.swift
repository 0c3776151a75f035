// The register of open stores, with threads that meet in it.

import Foundation
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusKit

@Suite("Register of open stores")
struct OpenStratusTests {
    /// The register has lost an open store.
    private struct Forgotten: Error {}

    @Test("two threads that close one store do not remove the one that a third opens meanwhile")
    func closedTwice() async throws {
        let directory = try HostDirectory()
        let path = OpenStratus.canonicalPath(directory.store)
        let first = try Stratus(directory: URL(fileURLWithPath: path, isDirectory: true), options: .tested())
        let second = try await Stratus.inMemory(options: .tested())
        try await TestThreads.offPool {
            for _ in 0..<3_000 {
                let register = OpenStratus()
                _ = try register.open(directory.store) { _ in first }
                let (closings, opened) = (Locked(0), Latch("the directory to be opened again"))
                try TestThreads.run(3) { index in
                    guard index == 0 else {
                        return register.close(first) {
                            let number = closings.withLock { closings in
                                closings += 1
                                return closings
                            }
                            // The second one is late: someone has opened the directory again.
                            if number == 2 { try? opened.wait() }
                        }
                    }
                    while try register.open(directory.store, { _ in second }) !== second { TestThreads.yield() }
                    opened.open()
                }
                guard try register.open(directory.store, { _ in throw Forgotten() }) === second else {
                    throw Forgotten()
                }
            }
        }
        try await onThread { first.close() }
    }
}
