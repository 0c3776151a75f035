// The base of all operations: an `Operation` whose state is a machine behind a lock.
//
// Foundation's own state is told of every change by `willChangeValue` and `didChangeValue`; without these calls queues and
// dependents wait for ever. What an operation does is a job, made when it starts.

public import Foundation
import StratusCloud
import StratusOperations

/// The base of the operations that are sent to the server.
///
/// Blocks are set before the operation starts; later changes are ignored. An operation runs once (O-07). All its blocks
/// are called one after another on a queue of its own, never in `add` and never on the main queue (O-03). When it has
/// finished it lets go of its blocks.
open class CKOperation: Operation, @unchecked Sendable {
    // Unchecked because blocks of clients are not sendable: every variable, here and in the subclasses, is touched only
    // through `locked` and `configure`, and blocks are called on the operation's serial queue alone.

    /// The type of `operationID`.
    public typealias ID = String

    /// An identity of the operation, by which a long-lived one is found again (O-14).
    public internal(set) final var operationID: CKOperation.ID {
        get { locked { identity } }
        set { configure { identity = newValue } }
    }

    /// The session that was current when the operation was made: tasks' values do not reach operation queues.
    let captured: CloudSession?
    /// Recursive because letting go of a client's block may end objects that look at the operation.
    private let lock = NSRecursiveLock()
    private var state = OperationState()
    private var identity = UUID().uuidString
    private var ownConfiguration = Configuration()
    private var ownGroup: CKOperationGroup?
    private var persistedBlock: (() -> Void)?
    private var surroundings = Surroundings()
    private var runner: OperationRunner?

    /// Where an operation stands that was added to a container or database, or made by a convenience call.
    struct Surroundings {
        /// The container it was added to.
        var scope: ContainerScope?
        /// The quality of service where nothing sets one.
        var qualityOfService = QualityOfService.default
        /// The session that counts the operation as under way.
        var countedBy: CloudSession?
        /// Whether that session takes no more requests.
        var isRefused = false
        /// Where the operation is held that was found again, so that it is not dropped before it runs (O-14).
        var holder: LongLivedRegistry?
        /// Whether no block of a client's is called, so that a queue for them is not needed.
        var isInline = false
    }

    /// An operation that has not started. A bare `CKOperation` does nothing when it runs (O-02).
    public override init() {
        captured = CurrentSession.captured()
        super.init()
    }

    deinit {
        // What could not be let go of is dropped after a day.
        try? surroundings.holder?.release(identity, by: ObjectIdentifier(self))
    }

    // MARK: Settings

    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    /// How the operation is to run. The object can be changed in place until the start; setting it copies, nil resets it.
    public final var configuration: CKOperation.Configuration! {
        get { locked { ownConfiguration } }
        set {
            let copy = Configuration(newValue?.explicit ?? .init())
            configure { ownConfiguration = copy }
        }
    }

    /// The group whose configuration the operation inherits.
    public final var group: CKOperationGroup? {
        get { locked { ownGroup } }
        set { configure { ownGroup = newValue } }
    }

    /// Called when a long-lived operation was persisted, before any other of its blocks (O-14).
    public final var longLivedOperationWasPersistedBlock: (() -> Void)? {
        get { locked { persistedBlock } }
        set { configure { persistedBlock = newValue } }
    }

    /// How urgent the operation is; the same as the configuration's.
    open override var qualityOfService: QualityOfService {
        get { configuration.qualityOfService }
        set { configuration.qualityOfService = newValue }
    }

    // MARK: State

    open override var isAsynchronous: Bool { true }
    open override var isExecuting: Bool { locked { state.isExecuting } }
    open override var isFinished: Bool { locked { state.isFinished } }
    open override var isCancelled: Bool { locked { state.isCancelled } }

    /// Starts the operation and returns at once. An operation that waits for others, or was started before, ignores it.
    open override func start() {
        guard isReady else { return }
        prepare()
        handle(.startRequested)
    }

    /// Cancels the operation (O-08): its blocks are still called, with `operationCancelled`; what its request has done on
    /// the server stays.
    open override func cancel() {
        handle(.cancelRequested)
        super.cancel()
    }

    // MARK: For subclasses

    /// The job of the operation as it is now; nil where there is nothing to do. Called when the operation starts.
    func makeJob() -> (any OperationJob)? { nil }

    /// The inputs as a long-lived operation keeps them; nil where it cannot be one (O-14).
    func archiveInputs() -> [String: Any]? { nil }

    /// Takes the inputs of a kept operation.
    func adoptInputs(_ archive: [String: Any]) {}

    /// Lets go of blocks, which often refer to the operation. Called when it has finished; the lock is held.
    func dropBlocks() { persistedBlock = nil }

    /// The database the operation works on.
    var selector: DatabaseSelector { .private }

    /// The container to use: that of a subclass's database, of the configuration, of where it was added, else the default.
    func effectiveScope(_ configuration: EffectiveConfiguration) -> ContainerScope {
        if let container = configuration.container { return container.scope }
        if let scope = locked({ surroundings.scope }) { return scope }
        return ContainerScope(captured: captured, identifier: nil, account: .signedIn)
    }

    /// Reads variables under the operation's lock.
    final func locked<Value>(_ body: () -> Value) -> Value {
        lock.lock()
        defer { lock.unlock() }
        return body()
    }

    /// Changes variables under the operation's lock, unless it has started (O-07).
    final func configure(_ body: () -> Void) {
        locked { if state.acceptsConfiguration && runner == nil { body() } }
    }

    /// Changes where the operation stands.
    final func place(_ change: (inout Surroundings) -> Void) {
        configure { change(&surroundings) }
    }
}

// MARK: Running

extension CKOperation {
    /// What the operation runs with (O-12).
    var effectiveConfiguration: EffectiveConfiguration {
        let (own, group, surroundings) = locked { (ownConfiguration, ownGroup, self.surroundings) }
        let defaults = surroundings.scope?.defaults as? ConfiguredDefaults
        let explicit = own.explicit
            .inheriting(defaults?.configuration?.explicit)
            .inheriting((group ?? defaults?.group)?.defaultConfiguration.explicit)
        return EffectiveConfiguration(explicit, qualityOfService: surroundings.qualityOfService)
    }

    /// Counts the operation as under way in its session, so that the session's end can wait for it. False when it is
    /// counted already.
    @discardableResult
    func count() -> Bool {
        let session = effectiveScope(effectiveConfiguration).session
        return locked {
            guard surroundings.countedBy == nil, !surroundings.isRefused, state.acceptsConfiguration else {
                return false
            }
            surroundings.isRefused = !session.activity.accept()
            if !surroundings.isRefused { surroundings.countedBy = session }
            return true
        }
    }

    /// Fixes inputs, blocks and configuration.
    private func prepare() {
        guard locked({ state.acceptsConfiguration && runner == nil }) else { return }
        count()
        let configuration = effectiveConfiguration
        let surroundings = locked { self.surroundings }
        let scope = effectiveScope(configuration)
        let session = surroundings.countedBy ?? scope.session
        let context = RequestContext(
            session: session, caller: scope.caller(in: session), database: selector,
            callbacks: CallbackQueue(pool: surroundings.isInline ? nil : session.callbackPool))
        let made = OperationRunner(
            makeJob() ?? IdleJob(), context: context, configuration: configuration,
            longLived: configuration.isLongLived ? makeLongLived(context) : nil, isRefused: surroundings.isRefused,
            onWorkEnd: { self.handle(.workFinished) }, onTimeOut: { [weak self] in self?.handle(.timeOutReached) })
        locked { if runner == nil { runner = made } }
    }

    private func makeLongLived(_ context: RequestContext) -> LongLivedRun? {
        guard let inputs = archiveInputs() else { return nil }
        return LongLivedRun(
            operation: self, inputs: inputs, database: selector, caller: context.caller,
            onPersisted: longLivedOperationWasPersistedBlock)
    }

    private func handle(_ event: OperationEvent) {
        for action in locked({ state.handle(event) }) { perform(action) }
    }

    private func perform(_ action: OperationAction) {
        let runner = locked { self.runner }
        switch action {
        case .startWork: runner?.begin()
        case .stopWork: runner?.stop()
        case .deliverCallbacks(let outcome): runner?.conclude(outcome) { self.handle(.callbacksDelivered) }
        case .isExecutingChanged:
            willChangeValue(for: \.isExecuting)
            didChangeValue(for: \.isExecuting)
        case .isFinishedChanged: finish()
        case .isCancelledChanged:
            willChangeValue(for: \.isCancelled)
            didChangeValue(for: \.isCancelled)
        case .isReadyChanged:
            willChangeValue(for: \.isReady)
            didChangeValue(for: \.isReady)
        case .refuse: break
        }
    }

    private func finish() {
        let session = locked {
            dropBlocks()
            runner = nil
            return surroundings.countedBy
        }
        willChangeValue(for: \.isFinished)
        didChangeValue(for: \.isFinished)
        session?.activity.end()
    }
}

/// What a bare operation does.
private final class IdleJob: OperationJob {
    func send(_ context: RequestContext) {}
    func deliver() {}
    func conclude(_ result: Result<Void, CKError>) {}
}

/// What everything done through a container or database of `configuredWith` inherits.
struct ConfiguredDefaults: OperationDefaults {
    var configuration: CKOperation.Configuration?
    var group: CKOperationGroup?
}
