// When a store does the work that nobody waits for.

import Foundation
import Logging
import StratusCloud

extension Stratus {
    /// Does at once what the store otherwise does in the background now and then: frees what deleted zones and accounts,
    /// expired history and orphaned assets take.
    ///
    /// It blocks its thread until everything is done.
    ///
    /// - Throws: ``StratusError`` where the store fails or was closed.
    public func performUpkeep() throws {
        let pace = UpkeepPace(pause: { Thread.sleep(forTimeInterval: 0.05) })
        try asking { try $0.performUpkeep(historySeconds: options.historySeconds, pace) }
    }

    func startUpkeep() {
        let historySeconds = options.historySeconds
        upkeep.start { [server, upkeep, output] in
            let pace = UpkeepPace(
                pause: { upkeep.rest(seconds: 0.05) },
                // About as long as a batch takes, so that clients get every other turn at least.
                rest: { upkeep.rest(seconds: 0.004) },
                shouldContinue: { upkeep.mayContinue })
            do {
                try server.withService { try $0.performUpkeep(historySeconds: historySeconds, pace) }
            } catch {
                guard upkeep.mayContinue else { return }
                output.log(.error, "upkeep failed", ["error": "\(error)"])
            }
        }
    }
}
