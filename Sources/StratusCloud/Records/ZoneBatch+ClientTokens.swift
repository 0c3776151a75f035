// A request that a client repeats, because its answer got lost (S-21), is recognised by what the client sent with it and is
// not applied again (T-11).

import StratusLayout
import StratusModel
import StratusRecords

extension ZoneBatch {
    /// The answer to a request that was processed already: the records as they are now. Nil for every other request.
    func repeatedAnswer() throws -> ZoneAnswer? {
        guard let token = request.clientToken,
            try ClientTokens.entry(of: account.userName, in: zone)?.data == token
        else { return nil }
        var answer = ZoneAnswer()
        for item in request.saves {
            if let stored = try zone.record(item.name), let shown = try judge.shown(stored) {
                answer.saves[item.index] = .success(shown)
            } else {
                answer.saves[item.index] = .failure(
                    CloudError(
                        .unknownItem, inner: CloudError.InnerCode.unknownItem, "Record not found",
                        ["record": item.name.text]))
            }
        }
        for item in request.deletes { answer.deletes[item.index] = .success(()) }
        return answer
    }

    /// Remembers what the client sent. Not where an item failed, which another try is to save, and not of somebody who
    /// has just left: nothing of theirs stays in another's zone.
    func noteClientToken() throws {
        guard let token = request.clientToken, errors.isEmpty, try judge.access.isZoneVisible() else { return }
        try ClientTokens.note(
            token, sequence: zone.header().sequence, of: account.userName, in: zone, transaction)
    }
}
