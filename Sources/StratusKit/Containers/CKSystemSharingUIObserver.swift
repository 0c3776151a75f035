// Observes shares that are saved and stopped.

public import Foundation
import StratusCloud
import StratusStore

/// Observes every share that the container's user saves or stops in a container. On Apple's systems it observes the
/// sharing sheet. There is no sheet here, so it observes all operations, including a host's own invitations.
public final class CKSystemSharingUIObserver: NSObject, ShareObserver, Sendable {
    private struct Blocks: Sendable {
        var saved: (@Sendable (CKRecord.ID, Result<CKShare, any Error>) -> Void)?
        var stopped: (@Sendable (CKRecord.ID, Result<Void, any Error>) -> Void)?
    }

    private let scope: ContainerScope
    private let blocks = Locked(Blocks())

    /// Creates an observer, which observes as long as it is referenced.
    /// - Parameter container: The container, and the user whose shares are observed.
    public init(container: CKContainer) {
        scope = container.scope
        super.init()
        scope.session.shareObservers.add(self)
    }

    /// Called when a share was saved or could not be saved, on the operation's queue, after the operation's own block.
    public var systemSharingUIDidSaveShareBlock:
        (@Sendable (_ recordID: CKRecord.ID, _ saveResult: Result<CKShare, any Error>) -> Void)?
    {
        get { blocks.value.saved }
        set { blocks.withLock { $0.saved = newValue } }
    }

    /// Called when a share was deleted or could not be deleted, on the operation's queue, after the operation's own
    /// block. Deleting a root or a zone deletes its shares too; of one zone the first thousand, by name, are reported.
    /// A participant who deletes a share leaves it.
    public var systemSharingUIDidStopSharingBlock:
        (@Sendable (_ recordID: CKRecord.ID, _ deleteResult: Result<Void, any Error>) -> Void)?
    {
        get { blocks.value.stopped }
        set { blocks.withLock { $0.stopped = newValue } }
    }

    func observes(_ caller: Caller, in session: CloudSession) -> Bool {
        let own = scope.caller(in: session)
        // On any device.
        return scope.session === session && own.container == caller.container && own.account == caller.account
    }

    func shareWasSaved(_ recordID: CKRecordID, _ result: Result<CKShare, any Error>) {
        systemSharingUIDidSaveShareBlock?(recordID, result)
    }

    func shareWasStopped(_ recordID: CKRecordID, _ result: Result<Void, any Error>) {
        systemSharingUIDidStopSharingBlock?(recordID, result)
    }
}
