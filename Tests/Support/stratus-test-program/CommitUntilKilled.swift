// Writes the commits of a `CrashWorkload` until the process is killed, and prints the acknowledged ones. Meanwhile one
// thread changes, fills and clears indexes.
//
// Each line is "writer number digest", written whole by one call after the commit was acknowledged.

import Foundation
import StratusLevelDB
import StratusTestSupport

func commitUntilKilled(_ arguments: [String]) -> Never {
    @Sendable func say(_ line: String) {
        do { try FileHandle.standardOutput.write(contentsOf: Data("\(line)\n".utf8)) } catch { exit(74) }
    }
    guard arguments.count == 3, let seed = UInt64(arguments[1]) else {
        say("usage: crash DIRECTORY SEED sync|nosync")
        exit(64)
    }
    var options = LevelDBOptions()
    options.syncsCommits = arguments[2] == "sync"
    // Small commits, too, answer only when a thread of the engine's own has synced them.
    options.backgroundSyncByteCount = 1
    // Little memory, so that tables are written and compacted while the process is killed.
    options.writeBufferByteCount = 64 << 10
    do {
        let engine = try CrashWorkload.openEngine(on: LevelDBStore.open(at: arguments[0], options: options))
        let workload = CrashWorkload(seed: seed)
        try TestThreads.run(CrashWorkload.writerCount + 1) { writer in
            guard writer < CrashWorkload.writerCount else {
                for number in 0... { try CrashWorkload.changeIndexes(number, in: engine) }
                return
            }
            var number = try CrashWorkload.lastCommit(of: writer, in: engine)
            while true {
                number += 1
                try workload.commit(number, of: writer, to: engine)
                say("\(writer) \(number) \(workload.digest(of: writer, number))")
            }
        }
    } catch {
        say("failed: \(error)")
        exit(1)
    }
    exit(0)
}
