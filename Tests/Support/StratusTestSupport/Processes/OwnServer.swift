// A server of one test alone, which the test stops, starts, and turns back to an earlier state.

internal import Foundation
internal import StratusStore

/// A server for one test alone.
package final class OwnServer: Sendable {
    package let directory: String
    package let url: String

    /// Starts a server. One that can be turned back writes more.
    package init(canBeTurnedBack: Bool = false) throws {
        var environment = ProcessInfo.processInfo.environment
        if canBeTurnedBack { environment["STRATUS_POSTGRES_WAL"] = "replica" }
        let (end, output) = try ChildProcess.run(
            "/usr/bin/env", ["scripts/postgres", "start"], environment: environment)
        let lines = String(decoding: output, as: UTF8.self).split(separator: "\n").map(String.init)
        guard end.isSuccess, lines.count == 2 else {
            throw StoreError(.unavailable, "The test's own server did not start: see the output above.")
        }
        (directory, url) = (lines[0], lines[1])
    }

    package func halt(_ mode: String) throws { try call(["halt", directory, mode]) }
    package func resume() throws { try call(["resume", directory]) }

    /// Stops it, keeps a copy of what it has, and starts it again.
    package func keepCopy() throws { try call(["keep", directory]) }

    /// Ends it, and starts it with the kept copy: every commit since then is lost. It is on a new timeline, as after a
    /// promotion, or on the same one, as after a volume was restored.
    package func turnBack(onNewTimeline: Bool) throws {
        try call(["turn-back", directory] + (onNewTimeline ? [] : ["same"]))
    }

    package func stop() {
        try? call(["stop", directory, "immediate"])
    }

    /// Makes a directory of the server's user.
    package func makeDirectory(_ path: String) throws -> String {
        let script = "mkdir \"$0\" && chmod 711 \"$(dirname \"$0\")\" && chown --reference=\"$1\" \"$0\""
        let (end, _) = try ChildProcess.run("/usr/bin/env", ["bash", "-c", script, path, directory + "/data"])
        guard end.isSuccess else { throw StoreError(.unavailable, "The directory for the server was not made.") }
        return path
    }

    private func call(_ arguments: [String]) throws {
        let (end, _) = try ChildProcess.run("/usr/bin/env", ["scripts/postgres"] + arguments)
        guard end.isSuccess else { throw StoreError(.unavailable, "The test's own server did not stop or start.") }
    }
}
