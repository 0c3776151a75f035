// Hears of shares that are saved and stopped.

public import Foundation
import StratusCloud
import StratusModel
import StratusStore

/// Hears of every share that is saved or stopped in a container by the container's user. On Apple's systems that is what
/// the sharing sheet does; there is none here, and it is whatever operations do, also those of a host's own invitations.
public final class CKSystemSharingUIObserver: NSObject, Sendable {
    private struct Blocks: Sendable {
        var saved: (@Sendable (CKRecord.ID, Result<CKShare, any Error>) -> Void)?
        var stopped: (@Sendable (CKRecord.ID, Result<Void, any Error>) -> Void)?
    }

    private let scope: ContainerScope
    private let blocks = Locked(Blocks())

    /// An observer that hears as long as somebody refers to it.
    /// - Parameter container: Where to listen, and whose shares.
    public init(container: CKContainer) {
        scope = container.scope
        super.init()
        scope.session.shareObservers.add(self)
    }

    /// Called when a share was saved, or could not be: on the operation's queue, after its own block.
    public var systemSharingUIDidSaveShareBlock:
        (@Sendable (_ recordID: CKRecord.ID, _ saveResult: Result<CKShare, any Error>) -> Void)?
    {
        get { blocks.value.saved }
        set { blocks.withLock { $0.saved = newValue } }
    }

    /// Called when a share was deleted, or could not be: on the operation's queue, after its own block. A share is deleted
    /// with its root, and with its zone too; of one zone the first thousand are told of, by their names. A participant who
    /// deletes a share has left it.
    public var systemSharingUIDidStopSharingBlock:
        (@Sendable (_ recordID: CKRecord.ID, _ deleteResult: Result<Void, any Error>) -> Void)?
    {
        get { blocks.value.stopped }
        set { blocks.withLock { $0.stopped = newValue } }
    }
}

extension CKSystemSharingUIObserver: ShareObserver {
    func observes(_ caller: Caller, in session: CloudSession) -> Bool {
        let own = scope.caller(in: session)
        // On whatever device.
        return scope.session === session && own.container == caller.container && own.account == caller.account
    }

    func shareWasSaved(_ recordID: CKRecordID, _ result: Result<CKShare, any Error>) {
        systemSharingUIDidSaveShareBlock?(recordID, result)
    }

    func shareWasStopped(_ recordID: CKRecordID, _ result: Result<Void, any Error>) {
        systemSharingUIDidStopSharingBlock?(recordID, result)
    }
}
