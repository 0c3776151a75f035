// What every request has in common: planned faults before and after it, and one event for the host.

import StratusModel

extension CloudService {
    /// Asks for a planned fault, runs `body`, asks again for one that loses the answer (S-21), and reports.
    func reporting<Result>(
        _ kind: RequestKind, _ caller: Caller, itemCount: Int,
        _ body: (inout CloudEvent) throws -> Result
    ) throws(CloudError) -> Result {
        let start = environment.clock.uptimeSeconds
        var event = CloudEvent(kind: kind, caller: caller, itemCount: itemCount)
        defer {
            event.durationSeconds = environment.clock.uptimeSeconds - start
            environment.onEvent?(event)
            tellOfDeliveries()
        }
        do {
            if let fault = environment.faults?.error(at: .request(kind, caller)) { throw fault }
            let result = try body(&event)
            if let fault = environment.faults?.error(at: .response(kind, caller)) { throw fault }
            return result
        } catch {
            let error = CloudError(answering: error)
            event.error = error
            throw error
        }
    }
}

extension CloudEvent {
    /// Counts the failed items of an answer.
    mutating func count<Value>(_ results: [Result<Value, CloudError>]) {
        for case .failure(let error) in results {
            failedItemCount += 1
            if error.code == .serverRecordChanged { conflictCount += 1 }
        }
    }
}
