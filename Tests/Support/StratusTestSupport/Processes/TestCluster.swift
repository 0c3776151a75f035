// The cluster of the tests: three servers that Patroni looks after, which `scripts/cluster run` starts. Without it
// failover is not tested, and one line says so.

internal import Foundation
internal import StratusStore

/// Three servers, of which one takes writes.
package struct TestCluster: Sendable {
    /// The cluster that the environment names.
    package static let current: TestCluster? = {
        let environment = ProcessInfo.processInfo.environment
        guard let url = environment["STRATUS_CLUSTER_URL"], let directory = environment["STRATUS_CLUSTER_DIRECTORY"]
        else {
            print("No cluster (make failover): what happens when a server is lost was not tested.")
            return nil
        }
        return TestCluster(url: url, directory: directory)
    }()

    /// Whether there is one. Tests are enabled by it.
    package static var isThere: Bool { current != nil }

    /// How many times the tests lose a server.
    package static let roundCount = ProcessInfo.processInfo.environment["STRATUS_ROUNDS"].flatMap { Int($0) } ?? 3

    /// The address, which names all servers.
    package let url: String
    private let directory: String

    /// The addresses of single servers.
    package var serverURLs: [String] {
        guard var parts = URLComponents(string: url.replacing(Self.hostList(of: url), with: "host")) else { return [] }
        return Self.hostList(of: url).split(separator: ",").compactMap { server in
            let words = server.split(separator: ":")
            parts.host = words.first.map(String.init)
            parts.port = words.last.flatMap { Int($0) }
            return parts.string
        }
    }

    /// The address with others in the place of its servers, which are addresses of single servers.
    package func url(through urls: [String]) -> String {
        let servers = urls.map { Self.hostList(of: $0) }.joined(separator: ",")
        let query = urls.first.flatMap { $0.split(separator: "?").dropFirst().first }.map { "?\($0)" } ?? ""
        return url.replacing(Self.hostList(of: url), with: servers) + query
    }

    private static func hostList(of url: String) -> String {
        let place = url.split(separator: "@").last ?? ""
        return String(place.prefix { $0 != "/" })
    }

    /// The number of the node that takes writes; nil while none does.
    package func leader() throws -> Int? { Int(try call("leader").filter(\.isNumber)) }

    /// The number of the node that confirms commits.
    package func standby() throws -> Int? { Int(try call("standby").filter(\.isNumber)) }

    /// Kills a node, as if its machine had failed.
    package func kill(_ node: Int) throws { try call("kill", node) }

    /// Kills what looks after a node's server. The server goes on.
    package func killPatroni(of node: Int) throws { try call("kill-patroni", node) }

    package func revive(_ node: Int) throws { try call("revive", node) }

    /// Waits until all nodes run and one of them confirms commits.
    package func settle() throws { try call("settle") }

    @discardableResult
    private func call(_ verb: String, _ node: Int? = nil) throws -> String {
        let arguments = ["scripts/cluster", verb, directory] + (node.map { ["\($0)"] } ?? [])
        let (end, output) = try ChildProcess.run("/usr/bin/env", arguments)
        guard end.isSuccess else {
            throw StoreError(.unavailable, "scripts/cluster failed: see its output above.", ["verb": verb])
        }
        return String(decoding: output, as: UTF8.self)
    }
}
