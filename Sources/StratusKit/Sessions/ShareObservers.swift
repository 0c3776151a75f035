// Who wants to hear of shares that are saved and stopped in a session.
//
// Invariant: observers are held weakly: one that is gone hears nothing.

import StratusCloud
import StratusStore

/// Hears of shares.
protocol ShareObserver: AnyObject, Sendable {
    /// Whether what this caller does is its business.
    func observes(_ caller: Caller, in session: CloudSession) -> Bool
    func shareWasSaved(_ recordID: CKRecordID, _ result: Result<CKShare, any Error>)
    func shareWasStopped(_ recordID: CKRecordID, _ result: Result<Void, any Error>)
}

/// The observers of a session.
package final class ShareObservers: Sendable {
    private struct Box: Sendable {
        weak var observer: (any ShareObserver)?
    }

    private let boxes = Locked<[Box]>([])

    func add(_ observer: any ShareObserver) {
        boxes.withLock { boxes in
            boxes.removeAll { $0.observer == nil }
            boxes.append(Box(observer: observer))
        }
    }

    /// Those who want to hear of what a caller does.
    func observers(of caller: Caller, in session: CloudSession) -> [any ShareObserver] {
        boxes.value.compactMap(\.observer).filter { $0.observes(caller, in: session) }
    }
}
