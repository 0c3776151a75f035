// When a host's lease has ended, seen from outside and from inside. Pure: looks at the server and times of a clock that
// nobody sets go in, decisions come out.
//
// Invariant: a holder stops before others take it for dead. It stops when no beat that began within four seconds has
// succeeded; others need ten looks in a row, over five seconds at least, that show the same beat. Neither is what keeps
// two hosts from writing: the fence is (`HostLease`).

/// What the server shows of the lease.
struct LeaseLook: Hashable, Sendable {
    /// Raised by each host that takes the lease.
    var generation: Int64
    /// Nil while no host has the store for itself.
    var holder: [UInt8]?
    /// What the holder says of itself.
    var name = ""
    var processID: Int32 = 0
    /// Raised by the holder each second.
    var beat: Int64?
}

/// What the server shows of all hosts but the one that looks.
struct HostsLook {
    var generation: Int64
    /// Another host that has the store for itself; nil while there is none.
    var holder: [UInt8]?
    /// Whether the host that looks has it for itself, by an attempt whose answer was lost.
    var isOwn = false
    var hosts: [LeaseLook] = []

    var isShared: Bool { holder == nil && !isOwn }
}

extension LeaseLook {
    init(_ look: HostsLook) {
        self.init(generation: look.generation, holder: look.holder)
    }
}

/// The lease of another host, as a host that wants it sees it.
struct LeaseView {
    enum Decision: Equatable {
        /// Nobody holds it.
        case free
        /// Its holder is alive, or was not looked at for long enough.
        case held
        /// Its holder has not moved.
        case expired
    }

    static let neededLookCount = 10
    static let neededSeconds = 5.0
    /// A look that took longer says nothing of a host: the server was slow.
    static let longestLookSeconds = 1.0

    private var look: LeaseLook?
    private var since = 0.0
    private var count = 0

    /// Notes a look, by the times at which it began and ended.
    mutating func note(_ look: LeaseLook, began: Double, ended: Double) -> Decision {
        guard look.holder != nil else { return .free }
        guard ended - began <= Self.longestLookSeconds else {
            noteFailure()
            return .held
        }
        if look != self.look || count == 0 {
            self.look = look
            since = ended
            count = 0
        }
        count += 1
        return count >= Self.neededLookCount && began - since >= Self.neededSeconds ? .expired : .held
    }

    /// Notes a look that failed: a server that was away shows no dead host.
    mutating func noteFailure() { count = 0 }
}

/// The lease of this host.
struct LeaseHealth {
    enum State: Equatable {
        case held
        /// No beat has succeeded for so long that another host may be about to take the lease.
        case unsure
        /// Another host has it.
        case lost(LeaseLook)
    }

    static let trustedSeconds = ServerRoute.trustedSeconds

    private let generation: Int64
    private let holder: [UInt8]
    private let isShared: Bool
    private var lastBeat: Double
    private var successor: LeaseLook?

    init(generation: Int64, holder: [UInt8], isShared: Bool, takenAt time: Double) {
        self.generation = generation
        self.holder = holder
        self.isShared = isShared
        lastBeat = time
    }

    /// Notes what the server showed after a beat that began at a time.
    mutating func note(_ look: LeaseLook, beatBegan time: Double) {
        if look.generation == generation, look.holder == holder || (isShared && look.holder == nil) {
            lastBeat = max(lastBeat, time)
        } else {
            noteLoss(to: look)
        }
    }

    /// Notes another generation. Nothing takes it back.
    mutating func noteLoss(to look: LeaseLook) {
        guard successor.map({ $0.generation <= look.generation }) ?? true else { return }
        // A look without a name says less than an earlier one.
        if successor?.generation == look.generation, look.name.isEmpty { return }
        successor = look
    }

    func state(at time: Double) -> State {
        if let successor { return .lost(successor) }
        return time - lastBeat < Self.trustedSeconds ? .held : .unsure
    }
}
