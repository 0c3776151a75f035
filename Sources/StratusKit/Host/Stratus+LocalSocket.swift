// How a host serves other processes over a socket in its store's directory.
//
// The process that has the store open locks the directory. So an existing socket belongs to this host, or to one that
// was killed, and is replaced.

import Foundation
import Logging
import StratusCloud
import StratusModel
import StratusRecords
import StratusStore

/// The socket of a host.
struct ToolSocket {
    var listener: LocalSocketListener?
    /// Whether no more sockets may be created.
    var isOver = false
}

extension Stratus {
    /// Starts to serve, if the host's options say so. Throws `StratusError` if the directory takes no socket.
    func startServingTool(_ patience: LocalPatience = LocalPatience()) throws {
        guard let directory else { return }
        guard options.servesTool else {
            // Remove the socket of a killed host. A host that answers is waiting to recover the store.
            guard !LocalClient.isAnswered(in: directory.path) else { return }
            return LocalSocketListener.removeSocket(in: directory.path)
        }
        let requests = HostedRequests(server: server, feed: output.feed) { [weak self] call, tell in
            guard let self else { throw CloudError(.serviceUnavailable, "The store was closed: open it again.") }
            return try self.answer(call, tell)
        }
        do {
            try toolSocket.withLock { [server] socket in
                guard !socket.isOver else { return }
                socket.listener = try LocalSocketListener(
                    in: directory.path, reached: { server.heldPath(of: $0) },
                    farewellSeconds: patience.farewellSeconds,
                    serve: { channel, isStopping in
                        LocalConnection(channel: channel, host: requests, patience: patience, isStopping: isStopping)
                            .serve()
                    }, wake: { requests.feed.wake() })
            }
        } catch let error as LocalSocketError {
            throw StratusError(
                .inputOutput, "The store's directory takes no socket. Fix the cause, or set servesTool to false.",
                error.fields.merging(["path": directory.path]) { own, _ in own })
        }
    }

    /// Stops serving after the current requests. With `forGood`, no more sockets may be created.
    func stopServingTool(forGood: Bool = false) { takeListener(forGood: forGood)?.stop() }

    private func takeListener(forGood: Bool = false) -> LocalSocketListener? {
        toolSocket.withLock { socket in
            if forGood { socket.isOver = true }
            return socket.listener.take()
        }
    }

    /// Creates a new socket if no process can reach the old one: the store's volume was mounted again, or the store was
    /// put back.
    func serveToolAgain() {
        guard let directory, options.servesTool else { return }
        guard !LocalClient.isAnswered(in: directory.path) else { return }
        let old = takeListener()
        do { try startServingTool() } catch {
            output.log(.error, "the tool is no longer served", ["error": "\(error)"])
        }
        // On another thread: one of its connections may be running this recovery.
        if let old { Thread.detachNewThread { old.stop(removingSocket: false) } }
    }

    /// Answers another process. `tell` sends progress and returns whether the process still waits.
    ///
    /// The upkeep waits during long work on the store. If the caller no longer waits, such work stops; the upkeep
    /// continues it, or for files the next request of the same kind. A rebuild always runs to its end, because the zone
    /// takes no requests before that.
    func answer(_ call: HostCall, _ tell: @escaping (WorkProgress) -> Bool) throws -> any Encodable {
        switch call {
        case .createAccount(let draft, let onlyIfMissing):
            return try asking { service in
                if onlyIfMissing, let externalID = draft.externalID {
                    return try service.account(externalID: externalID, createIfMissing: draft).id
                }
                return try service.createAccount(draft).id
            }
        case .setHandles(let handles, let id):
            _ = try asking { try $0.changeAccount(id) { $0.handles = handles } }
        case .setStanding(let standing, let id):
            try setStanding(Standing(standing), of: existing(id))
        case .deleteAccount(let id):
            try deleteAccountWithAllData(existing(id)) { _ = tell(WorkProgress($0)) }
        case .importSchema(let text, let container):
            try importSchema(text, intoContainer: container.text)
        case .openShare(let url, let id):
            return try openShare(url, as: id)
        case .writeFailure:
            return WriteState(failure: server.writeFailure.map { LocalFailure($0) })
        case .recover:
            return Recovered(isReopened: try recovery.recover())
        case .finishIndexes:
            try pausingUpkeep(tell) { service, pace, report in
                try service.buildIndexes(pace) { report(WorkProgress($0)) }
            }
        case .rebuild(let zone, let incarnation):
            try asking { service in
                try service.engine.rebuild(zone, incarnation: incarnation) {
                    _ = tell(
                        WorkProgress(part: $0.step.rawValue, doneCount: $0.doneCount, totalCount: $0.totalCount))
                }
            }
        case .purgeZones:
            return try pausingUpkeep(tell) { service, pace, report in
                try service.purge(pace) { report(WorkProgress($0)) }
            }
        case .compact:
            return try asking { service in
                try StoreBacking.compact(service.engine.store) { done, total in
                    let isWanted = tell(WorkProgress(doneCount: done, totalCount: total))
                    // After the last slice there is nothing to stop.
                    guard isWanted || done == total else {
                        throw CloudError(
                            .serviceUnavailable,
                            "The host stopped compacting. Finished work stays; run the same again to continue.")
                    }
                }
            }
        case .statistics:
            return try asking { $0.engine.store.statistics }
        }
        return Done()
    }

    /// Runs `body` while the upkeep pauses, until it ends or the caller no longer waits. In the second case it throws:
    /// a caller that still waits when the host closes must not get a success.
    private func pausingUpkeep<Result>(
        _ tell: @escaping (WorkProgress) -> Bool,
        _ body: (CloudService, UpkeepPace, _ report: @escaping (WorkProgress) -> Void) throws -> Result
    ) throws -> Result {
        var (progress, isWanted) = (WorkProgress(doneCount: 0), true)
        let pace = UpkeepPace(
            pause: { Thread.sleep(forTimeInterval: 0.05) }, rest: { Thread.sleep(forTimeInterval: $0) },
            shouldContinue: {
                isWanted = isWanted && tell(progress)
                return isWanted
            })
        let result = try upkeep.pausing {
            try asking { service in
                try body(service, pace) {
                    progress = $0
                    _ = tell($0)
                }
            }
        }
        guard isWanted else {
            throw CloudError(
                .serviceUnavailable,
                "The host stopped this before its end. Finished work stays, and the next host continues with the rest.")
        }
        return result
    }
}

/// What connections need from a host. It keeps the server alive, but not the host.
private struct HostedRequests: LocalHost {
    let server: HostedServer
    let feed: EventFeed
    let answerHostCall: @Sendable (HostCall, @escaping (WorkProgress) -> Bool) throws -> any Encodable

    func answer(_ call: AnyCloudCall) throws -> any Encodable { try call.answer(by: server) }

    func answer(_ call: HostCall, telling tell: @escaping (WorkProgress) -> Bool) throws -> any Encodable {
        try answerHostCall(call, tell)
    }

    func read(_ body: (any StoreReader, _ isOver: () -> Bool) throws -> Void) throws {
        try server.withService { service in
            try service.engine.store.read { try body($0) { server.isAbandoned } }
        }
    }
}

extension LocalFailure {
    init(_ error: any Error) {
        if !(error is CloudError), let told = StratusError.wrapped(error) {
            self = .host(code: told.code.description, message: told.message, fields: told.fields, cause: told.cause)
        } else {
            self = .server(CloudError(answering: error))
        }
    }

    /// The original error.
    var error: any Error {
        switch self {
        case .server(let error): error
        case .host(let code, let message, let fields, let cause):
            StratusError(StratusError.Code(code), text: message, fields, cause: cause)
        }
    }
}
