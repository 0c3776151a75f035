// When a store does the work that nobody waits for.

import Foundation
import Logging
import StratusCloud
import StratusStore

extension Stratus {
    /// Does at once what the store otherwise does in the background now and then: frees what deleted zones and accounts,
    /// expired history and orphaned assets take.
    ///
    /// It blocks its thread until everything is done.
    ///
    /// - Throws: ``StratusError`` where the store fails or was closed.
    public func performUpkeep() throws {
        session.hub.wake()
        let pace = UpkeepPace(pause: { Thread.sleep(forTimeInterval: 0.05) })
        try asking { try $0.performUpkeep(historySeconds: options.historySeconds, pace) }
        try StratusError.wrapping { try Self.forgetDeleted(server, session.longLived) }
    }

    /// Drops the long-lived operations of accounts that are gone: where their deletion was cut off.
    static func forgetDeleted(_ server: HostedServer, _ longLived: LongLivedRegistry) throws {
        try longLived.forgetAccounts { account in try server.withService { try $0.account(account) == nil } }
    }

    /// History is looked through so often: it costs some reads for each zone of the store.
    private static let historyPauseSeconds = 3_600.0

    /// Does what an end of the process has cut off, then begins with the upkeep in the background.
    func startUpkeep() {
        do { try Self.forgetDeleted(server, session.longLived) } catch {
            // A damaged operation is told to who asks for operations, and must not keep the store shut.
            output.log(.error, "long-lived operations cannot be looked through", ["error": "\(error)"])
        }
        let historySeconds = options.historySeconds
        let clock = session.clock
        let lastHistory = Locked(clock.uptimeSeconds)
        upkeep.start { [server, upkeep, output, hub = session.hub, longLived = session.longLived] in
            // What could not be delivered before.
            hub.wake()
            let pace = UpkeepPace(
                pause: { upkeep.rest(seconds: 0.05) },
                rest: { upkeep.rest(seconds: $0) },
                shouldContinue: { upkeep.mayContinue })
            let isHistoryDue = clock.uptimeSeconds - lastHistory.value >= Self.historyPauseSeconds
            do {
                try server.withService {
                    try $0.performUpkeep(historySeconds: isHistoryDue ? historySeconds : nil, pace)
                }
                if isHistoryDue { lastHistory.withLock { $0 = clock.uptimeSeconds } }
                try Self.forgetDeleted(server, longLived)
            } catch {
                guard upkeep.mayContinue else { return }
                output.log(.error, "upkeep failed", ["error": "\(error)"])
            }
        }
    }
}
