// Wakes watchers in other processes: LISTEN and NOTIFY.
//
// How it works: a commit that has changed a range which other processes may watch posts that range. A thread sends all
// posted ranges in one notification, and listens, on a connection of its own: inside of a saving transaction a
// notification would take a lock of the whole server.
//
// Invariants:
//   1. Notifications only make watchers look earlier: a connection may miss some, so a program that watches also
//      looks without being woken.
//   2. Nothing waits for the thread, except closing the store.
//   3. After a new connection was made, every range counts as changed.

internal import Glibc
internal import StratusStore

/// Sends and receives notifications of changes.
final class ChangeNotices: @unchecked Sendable {  // because the monitor guards all state
    /// Notifications are collected for this long.
    private static let collectedSeconds = 0.02
    private static let requestSeconds = 2.0
    private static let firstRetrySeconds = 0.5
    private static let longestRetrySeconds = 30.0
    private static let idleSeconds = 5.0
    /// More ranges than fit into a notification cannot be announced; a range has a short name.
    private static let rangeLimit = 32

    private let info: ConnectionInfo
    private let library: Libpq
    private let randomFraction: @Sendable () -> Double
    private let ranges: [KeyRange]
    private let watches = WatchList()
    private let signal: WakeSignal
    private let monitor = Monitor()
    private let ended = Condition()
    private var posted: Set<Int> = []
    private var isStopping = false
    private var isRunning = false

    /// Nil if the system has nothing left for it: then watchers look later.
    init?(
        of ranges: [KeyRange], _ info: ConnectionInfo, _ library: Libpq,
        randomFraction: @escaping @Sendable () -> Double
    ) {
        guard !ranges.isEmpty, let signal = WakeSignal() else { return nil }
        precondition(ranges.count <= Self.rangeLimit, "Too many ranges are announced for one notification.")
        self.ranges = ranges
        self.info = info
        self.library = library
        self.randomFraction = randomFraction
        self.signal = signal
    }

    /// Starts the thread. Returns false if the system has none left.
    func start() -> Bool {
        monitor.withLock { isRunning = true }
        let hasThread = BackgroundThread.start { [self] in
            run()
            monitor.withLock {
                isRunning = false
                ended.broadcast()
            }
        }
        if !hasThread { monitor.withLock { isRunning = false } }
        return hasThread
    }

    /// Ends the thread, and waits for it.
    func stop() {
        monitor.withLock {
            isStopping = true
            signal.raise()
            while isRunning { ended.wait(monitor) }
        }
    }

    /// Ends the thread without waiting for it.
    func abandon() {
        monitor.withLock {
            isStopping = true
            signal.raise()
        }
    }

    /// Watches changes by other processes.
    func watch(_ range: KeyRange, _ onChange: @escaping @Sendable () -> Void) -> StoreWatch {
        watches.add(range, onChange)
    }

    /// Watches a store's own commits, and posts them.
    func follow(_ watch: (KeyRange, @escaping @Sendable () -> Void) -> StoreWatch) -> [StoreWatch] {
        ranges.indices.map { index in watch(ranges[index]) { [weak self] in self?.post(index) } }
    }

    private func post(_ index: Int) {
        monitor.withLock {
            posted.insert(index)
            signal.raise()
        }
    }

    // MARK: The thread

    /// A connection that listens.
    private struct Listening {
        let connection: PostgresConnection
        let channel: String
    }

    private func run() {
        var listening: Listening?
        var retrySeconds = Self.firstRetrySeconds
        while !monitor.withLock({ isStopping }) {
            do {
                let current = try listening ?? listen()
                if listening == nil { watches.note { _ in true } }
                listening = current
                retrySeconds = Self.firstRetrySeconds
                try sendPosted(on: current)
                guard current.connection.checkIsUsable() else { throw ServerError.deadline }
                receive(on: current.connection)
                signal.wait(with: current.connection, until: .now + Self.idleSeconds)
            } catch {
                listening?.connection.close()
                listening = nil
                rest(seconds: retrySeconds * (0.5 + randomFraction() / 2))
                retrySeconds = min(Self.longestRetrySeconds, retrySeconds * 2)
            }
        }
        listening?.connection.close()
    }

    /// Waits, but not past the end of the thread. What is posted meanwhile does not end it.
    private func rest(seconds: Double) {
        let end = MonotonicTime.now + seconds
        while end > .now, !monitor.withLock({ isStopping }) { signal.wait(with: nil, until: end) }
    }

    private func listen() throws -> Listening {
        let deadline = MonotonicTime.now + Self.requestSeconds
        let connection = try PostgresConnection.open(info, as: .plain, until: deadline, library: library)
        // A channel is the database's; the table's number makes it the store's.
        let name = SetUp.Query(
            name: "name the channel", sql: "SELECT 'stratus_' || 'stratus_host'::regclass::oid::text")
        let channel = try connection.run([name], until: deadline)[0].text(0, 0)
        _ = try connection.run([SetUp.Query(name: "listen", sql: "LISTEN \(channel)")], until: deadline)
        return Listening(connection: connection, channel: channel)
    }

    /// Sends what was posted, in one notification. What cannot be sent is lost: watchers look later.
    private func sendPosted(on listening: Listening) throws {
        guard monitor.withLock({ !posted.isEmpty }) else { return }
        // Others will be posted meanwhile.
        MonotonicTime.pause(seconds: Self.collectedSeconds)
        let indices = monitor.withLock { exchange(&posted, with: []) }
        var parameters = StatementParameters()
        parameters.add(listening.channel)
        parameters.add(indices.map { Self.name(of: ranges[$0]) }.joined(separator: Self.separator))
        try listening.connection.send(
            text: "SELECT pg_notify($1::text, $2::text)", named: "announce changes", parameters)
        _ = try listening.connection.answers(until: .now + Self.requestSeconds)
    }

    private func receive(on connection: PostgresConnection) {
        let own = connection.session?.processID
        let names = connection.takeNotifications().filter { $0.processID != own }
            .flatMap { $0.payload.split(separator: Self.separator) }
        guard !names.isEmpty else { return }
        let changed = Set(names.map(String.init))
        watches.note { changed.contains(Self.name(of: $0)) }
    }

    private static let separator = ","

    /// The beginning of a range, which other versions know by the same bytes.
    private static func name(of range: KeyRange) -> String {
        range.lower.map { byte in
            let digits = String(byte, radix: 16)
            return digits.utf8.count == 1 ? "0" + digits : digits
        }.joined()
    }
}

/// What a thread waits for that also waits for a socket: a pipe that another thread writes to.
final class WakeSignal: @unchecked Sendable {  // because the descriptors never change, and the system orders their use
    private let input: Int32
    private let output: Int32

    init?() {
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else { return nil }
        (input, output) = (ends[0], ends[1])
        for end in ends {
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        }
    }

    deinit {
        close(input)
        close(output)
    }

    /// Ends the wait that runs, or the next one. A full pipe does so already.
    func raise() {
        var byte: UInt8 = 0
        _ = unsafe write(output, &byte, 1)
    }

    /// Waits until it is raised, something arrives on the connection, or the time is over.
    func wait(with connection: PostgresConnection?, until end: MonotonicTime) {
        SocketWait.waitToRead([input] + (connection.map { [$0.socket] } ?? []), until: end)
        var bytes = [UInt8](repeating: 0, count: 64)
        while unsafe read(input, &bytes, bytes.count) > 0 {}
    }
}
