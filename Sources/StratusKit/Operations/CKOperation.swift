// The base of all operations: an `Operation` whose state is an `OperationState` behind a lock.
//
// Foundation learns of every change through `willChangeValue` and `didChangeValue`; without these calls queues and
// dependents wait forever. What an operation does is a job, created when it starts. Settings that moved to the
// configuration, and the base of the operations on one database, are at the end.

public import Foundation
import StratusCloud

/// The base class of the operations that send requests to the server.
///
/// Set blocks before the operation starts, or in a subclass's `main` before it calls `super.main()`; later changes are
/// ignored. An operation runs once (O-07). It calls all its blocks one after another on its own queue, never in
/// `add` and never on the main queue (O-03). It releases its blocks when it has finished.
open class CKOperation: Operation, @unchecked Sendable {
    // Unchecked because clients' blocks are not sendable: every variable, here and in the subclasses, is used only
    // through `locked` and `configure`, and blocks are called only on the operation's serial queue.

    /// The type of `operationID`.
    public typealias ID = String

    /// The identity of the operation, by which a program finds a long-lived operation again (O-14).
    public internal(set) final var operationID: CKOperation.ID {
        get { locked { identity } }
        set { configure(newValue) { swap(&identity, &$0) } }
    }

    /// The store that was current when the operation was created: task-local values do not reach operation queues
    ///
    let captured: any SessionSource
    /// Never held while a client's code is called or a client's object is released.
    private let lock = NSLock()
    private var state = OperationState()
    private var identity = UUID.drawn().uuidString
    private var ownConfiguration = Configuration()
    private var ownGroup: CKOperationGroup?
    private var persistedBlock: (() -> Void)?
    private var ownCompletionBlock: (@Sendable () -> Void)?
    private var surroundings = Surroundings()
    private var runner: OperationRunner?
    private var watches: [DependencyWatch] = []
    private var hasDroppedWatches = false

    /// Creates an operation that has not started. Running a bare `CKOperation` is a mistake, which raises an exception
    /// on Apple's systems (O-02). Here the operation does nothing and finishes, unless ``StratusMisuse/trapsAtOnce`` is
    /// set.
    public override init() {
        captured = CurrentSession.captured()
        super.init()
    }

    deinit {
        for watch in watches { watch.end() }
        // If this fails, the stored operation is dropped after a day.
        try? surroundings.holder?.release(identity, by: ObjectIdentifier(self))
    }

    // MARK: Settings

    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    /// How the operation runs. You can change the object in place until the start; setting the property copies it, nil
    /// resets it.
    public final var configuration: CKOperation.Configuration! {
        get { locked { ownConfiguration } }
        set {
            configure(Configuration(newValue?.explicit ?? .init())) { swap(&ownConfiguration, &$0) }
        }
    }

    /// The group whose configuration the operation inherits.
    public final var group: CKOperationGroup? {
        get { locked { ownGroup } }
        set { configure(newValue) { swap(&ownGroup, &$0) } }
    }

    /// Called when a long-lived operation was persisted, before any other of its blocks (O-14). Its files have been
    /// copied by then, and you may delete your own.
    public final var longLivedOperationWasPersistedBlock: (() -> Void)? {
        get { locked { persistedBlock } }
        set { configure(newValue) { swap(&persistedBlock, &$0) } }
    }

    /// How urgent the operation is; the same as in the configuration.
    open override var qualityOfService: QualityOfService {
        get { configuration.qualityOfService }
        set { configuration.qualityOfService = newValue }
    }

    /// Called when the operation has finished, after all its other blocks and on the same queue (O-04).
    open override var completionBlock: (@Sendable () -> Void)? {
        // Not Foundation's property: Foundation calls its block on a thread that no session counts, so a program that
        // waits for the store would not wait for the block.
        get { locked { ownCompletionBlock } }
        set { replace(newValue) { swap(&ownCompletionBlock, &$0) } }
    }

    // MARK: State

    /// Always true: `start()` returns before the work is done.
    open override var isAsynchronous: Bool { true }
    /// Whether the operation has started and not finished.
    open override var isExecuting: Bool { locked { state.isExecuting } }
    /// Whether the operation has called its last block, or will call none.
    open override var isFinished: Bool { locked { state.isFinished } }
    /// Whether the operation was cancelled (O-08).
    open override var isCancelled: Bool { locked { state.isCancelled } }

    /// Starts the operation by calling `main`. An operation that waits for others, or was started before, ignores the
    /// call.
    open override func start() {
        let isAllowed = isReady
        receive(.startCalled(isAllowed: isAllowed, byQueue: !isAllowed && isKnownToQueue))
    }

    /// Sends the request and returns at once. A subclass that overrides `main` may still set inputs and blocks; it then
    /// calls `super.main()`, which fixes them (O-07). Without that call the operation never finishes.
    open override func main() {
        if type(of: self) == CKOperation.self {
            locked {
                StratusMisuse.note("You must use a concrete subclass of CKOperation", in: &surroundings.misuse)
            }
        }
        begin()
    }

    private func begin() {
        fixInputs()
        receive(.startRequested)
    }

    /// Cancels the operation (O-08). Its blocks are still called, with `operationCancelled`. Changes that its request
    /// has made on the server stay.
    open override func cancel() {
        receive(.cancelRequested)
        super.cancel()
    }

    /// The operations that this one waits for, or has waited for (O-09). An operation that was cancelled and has
    /// finished lists only those that finished before it.
    open override var dependencies: [Operation] { locked { watches }.map(\.dependency) }

    /// Whether every operation it waits for has finished, or it was cancelled (O-09).
    open override var isReady: Bool { locked { state.isReady } && super.isReady }

    /// Makes the operation wait until another one has finished (O-09).
    /// - Parameter op: The other operation. Adding it again has no effect.
    open override func addDependency(_ op: Operation) {
        let watch = DependencyWatch(op) { [weak self] in self?.receive(.dependencyFinished) }
        let actions: [OperationAction]? = locked {
            guard !watches.contains(where: { $0.dependency === op }) else { return nil }
            watches.append(watch)
            return state.isWaiting ? state.receive(.dependencyAdded) : nil
        }
        guard let actions else { return }
        for action in actions { run(action) }
        watch.begin()
        reconsiderDependencies()
    }

    /// Stops waiting for another operation.
    /// - Parameter op: The other operation. The call has no effect if this operation does not wait for it.
    open override func removeDependency(_ op: Operation) {
        let watch = locked {
            watches.firstIndex { $0.dependency === op }.map { watches.remove(at: $0) }
        }
        if watch?.end() == true { receive(.dependencyFinished) }
        reconsiderDependencies()
    }

    /// Drops the dependencies that have not finished. A cancelled operation may finish before them, and operations that
    /// wait for each other would keep each other alive permanently.
    ///
    /// A dependency counts as unfinished until it has dropped its own dependencies. So if two operations that wait for
    /// each other finish at the same time, at least one drops the other.
    private func dropUnfinishedDependencies() {
        let unfinished = locked { watches }.filter { watch in
            !watch.dependency.isFinished || (watch.dependency as? CKOperation)?.isHoldingDependencies == true
        }
        locked { watches.removeAll { watch in unfinished.contains { $0 === watch } } }
        for watch in unfinished { watch.end() }
        locked { hasDroppedWatches = true }
    }

    private var isHoldingDependencies: Bool { locked { !hasDroppedWatches } }

    /// Whether the operation is ready except that a client's subclass reports that it is not.
    final var isHeldBack: Bool { locked { state.isReady } && super.isReady && !isReady }

    // MARK: For subclasses

    /// Creates the job of the operation as it is now; nil if there is nothing to do. Called when the operation starts.
    func makeJob(in context: RequestContext) -> (any OperationJob)? { nil }

    /// The inputs as a long-lived operation stores them; nil if this kind cannot be long-lived (O-14).
    func archiveInputs() -> (kind: LongLivedKind, inputs: [String: Any])? { nil }

    /// Sets the inputs to those of a stored operation.
    func adoptInputs(_ archive: [String: Any]) {}

    /// Sets the files to those that were stored with the inputs.
    func adoptFiles(_ files: [(place: KeptFilePlace, path: String)]) {}

    /// Releases the blocks of a subclass, which often refer to the operation. Called when it has finished.
    func dropBlocks() {}

    /// The database the operation works on.
    var selector: DatabaseSelector { .private }

    /// The container to use: that of a subclass's database, of the configuration, of the place it was added to, or the
    /// default.
    func effectiveScope(_ configuration: Configuration.Explicit) -> ContainerScope {
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
        locked { if state.acceptsConfiguration { body() } }
    }

    /// Replaces a value under the operation's lock, unless it has started (O-07). The old value is released after the
    /// lock, because a client's object may use the operation in its `deinit`.
    final func configure<Value>(_ value: Value, _ exchange: (inout Value) -> Void) {
        replace(value) { if state.acceptsConfiguration { exchange(&$0) } }
    }

    /// Replaces a value under the operation's lock, also after the start.
    final func replace<Value>(_ value: Value, _ exchange: (inout Value) -> Void) {
        var value = value
        locked { exchange(&value) }
        withExtendedLifetime(value) {}
    }

    /// Changes the surroundings of the operation.
    final func place(_ change: (inout Surroundings) -> Void) {
        configure { change(&surroundings) }
    }
}

// MARK: Running

extension CKOperation: WaitingWork {
    /// What an operation gets from the container, database or convenience call that runs it.
    struct Surroundings {
        /// The container it was added to.
        var scope: ContainerScope?
        /// The quality of service if nothing sets one.
        var qualityOfService = QualityOfService.default
        /// The session that counts the operation as under way.
        var countedBy: CloudSession?
        /// Why no request is sent: the session accepts no more requests, or gives the operation up.
        var refusal: CKError?
        /// The programmer's mistake, such as adding it twice.
        var misuse: String?
        /// What keeps a long-lived operation that was found again from being dropped before it runs (O-14).
        var holder: LongLivedRegistry?
        /// Whether it calls no blocks of a client's and so needs no queue for them.
        var isInline = false
    }

    /// The configuration that the operation runs with (O-12).
    var effectiveConfiguration: Configuration.Explicit {
        let (own, group, surroundings) = locked { (ownConfiguration, ownGroup, self.surroundings) }
        return own.explicit.inheriting(
            from: surroundings.scope?.defaults, group: group, qualityOfService: surroundings.qualityOfService)
    }

    /// Takes the operation's one place in a queue, the container's or one of the program's own. Returns false if it is
    /// in a queue or has started: operations are single use (O-07). Adding an operation twice is a mistake that raises
    /// an exception on Apple's systems, and so fails it.
    func enterQueue(_ entry: OperationEvent) -> Bool {
        let isElsewhere = isKnownToQueue
        return locked {
            if !isElsewhere, state.receive(entry).isEmpty { return true }
            StratusMisuse.note(
                "The operation is in a queue already: it runs once, in one database. Create another one.",
                in: &surroundings.misuse)
            return false
        }
    }

    /// Counts the operation as under way in its session, so that closing the session can wait for it, unless it is
    /// counted already.
    func count(waiting: CKOperation?) {
        let session = effectiveScope(effectiveConfiguration).session
        locked {
            guard surroundings.countedBy == nil, surroundings.refusal == nil, state.isWaiting else { return }
            if session.activity.accept(waiting) {
                surroundings.countedBy = session
            } else {
                surroundings.refusal = CKError.of(BlockingPool.Refusal.closed)
            }
        }
    }

    /// Fixes inputs, blocks and configuration.
    private func fixInputs() {
        guard locked({ state.acceptsConfiguration }) else { return }
        count(waiting: nil)
        let configuration = effectiveConfiguration
        let surroundings = locked { self.surroundings }
        let scope = effectiveScope(configuration)
        let session = surroundings.countedBy ?? scope.session
        let context = RequestContext(
            session: session, caller: scope.caller(in: session), database: selector,
            callbacks: CallbackQueue(pool: surroundings.isInline ? nil : session.callbackPool),
            isStopped: { [weak self] in self?.isStopping ?? true })
        let refusal = surroundings.misuse.map { CKError(Misuse($0).error) } ?? surroundings.refusal
        var rules = configuration.rules
        rules.isRefused = refusal != nil
        let made = OperationRunner(
            makeJob(in: context) ?? AnswerJob({ _ in }, conclude: { _ in }), context: context,
            configuration: configuration,
            longLived: configuration.isLongLived == true ? LongLivedRun(of: self, context) : nil, refusal: refusal,
            report: { self.receive($0) })
        let isMine = locked {
            guard state.receive(.inputsFixed(rules)).isEmpty else { return false }
            runner = made
            return true
        }
        if isMine { session.activity.begin(self) }
    }

    private var isStopping: Bool { locked { state.isStopping } }

    private func receive(_ event: OperationEvent) {
        for action in locked({ state.receive(event) }) { run(action) }
    }

    private func run(_ action: OperationAction) {
        switch action {
        case .callStart: start()
        case .callMain: main()
        case .begin: begin()
        case .work(let work): locked { runner }?.run(work)
        case .isExecutingChanged: notify(\.isExecuting)
        case .isFinishedChanged: finish()
        case .isCancelledChanged: notify(\.isCancelled)
        case .isReadyChanged: notify(\.isReady)
        case .refuse: break
        }
    }

    private func notify(_ changed: KeyPath<Operation, Bool>) {
        willChangeValue(for: changed)
        didChangeValue(for: changed)
    }

    private func finish() {
        dropBlocks()
        replace(nil) { swap(&persistedBlock, &$0) }
        dropUnfinishedDependencies()
        let (session, callbacks, completion) = locked {
            (surroundings.countedBy, runner?.context.callbacks, ownCompletionBlock)
        }
        replace(nil) { swap(&ownCompletionBlock, &$0) }
        replace(nil) { swap(&runner, &$0) }
        notify(\.isFinished)
        guard let completion, let callbacks else {
            session?.activity.end()
            return
        }
        callbacks.async {
            // The block may use the operation without retaining it.
            withExtendedLifetime(self, completion)
            session?.activity.end()
        }
    }

    // MARK: Waiting for others

    package func prepareToGiveUp() {
        locked { if state.acceptsConfiguration { surroundings.refusal = .operationWasCancelled } }
    }

    /// Cancels an operation that cannot start, so that it starts and calls its blocks with `operationCancelled` (O-08).
    /// Returns false if it still does not start because a subclass says that it is not ready.
    package func giveUp() -> Bool {
        cancel()
        guard !isReady else { return true }
        return locked {
            guard state.acceptsConfiguration else { return true }
            surroundings.countedBy = nil
            surroundings.refusal = CKError.of(BlockingPool.Refusal.closed)
            return false
        }
    }

    final var isEnqueued: Bool { locked { state.isEnqueued } }

    private func reconsiderDependencies() { locked { surroundings.countedBy }?.activity.reconsider() }

    // Properties that moved to the configuration. Setting one sets it there.

    /// The container; nil for the default one.
    @available(*, deprecated, message: "Use configuration.container.")
    public final var container: CKContainer? {
        get { configuration.container }
        set { configuration.container = newValue }
    }

    /// Has no effect: no request leaves the machine.
    @available(*, deprecated, message: "Use configuration.allowsCellularAccess.")
    public final var allowsCellularAccess: Bool {
        get { configuration.allowsCellularAccess }
        set { configuration.allowsCellularAccess = newValue }
    }

    /// Whether the operation outlives its process (O-14).
    @available(*, deprecated, message: "Use configuration.isLongLived.")
    public final var isLongLived: Bool {
        get { configuration.isLongLived }
        set { configuration.isLongLived = newValue }
    }

    /// How many seconds one request may take.
    @available(*, deprecated, message: "Use configuration.timeoutIntervalForRequest.")
    public final var timeoutIntervalForRequest: TimeInterval {
        get { configuration.timeoutIntervalForRequest }
        set { configuration.timeoutIntervalForRequest = newValue }
    }

    /// How many seconds the operation may take.
    @available(*, deprecated, message: "Use configuration.timeoutIntervalForResource.")
    public final var timeoutIntervalForResource: TimeInterval {
        get { configuration.timeoutIntervalForResource }
        set { configuration.timeoutIntervalForResource = newValue }
    }
}

// Operations on one database.

/// An operation that works on one database: `database`, or the private database of its container (O-01).
open class CKDatabaseOperation: CKOperation, @unchecked Sendable {
    // Unchecked because it inherits from CKOperation, whose rules it follows.
    private var ownDatabase: CKDatabase?

    /// The database to work on. `CKDatabase.add` sets it.
    public final var database: CKDatabase? {
        get { locked { ownDatabase } }
        set { configure(newValue) { swap(&ownDatabase, &$0) } }
    }

    override var selector: DatabaseSelector { database?.selector ?? .private }

    override func effectiveScope(_ configuration: Configuration.Explicit) -> ContainerScope {
        database?.scope ?? super.effectiveScope(configuration)
    }
}
