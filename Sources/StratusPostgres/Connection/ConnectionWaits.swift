// How a connection waits: for its socket, with a deadline, and how it gives up.
//
// Unsafe: the thread that cancels owns the object that libpq has made for it, and frees it. It knows nothing of the
// connection.

internal import Glibc
internal import StratusStore

/// How long a flush may take.
enum FlushLimit {
    /// At the time the statement is cancelled, and soon afterwards the connection is given up.
    case until(MonotonicTime)
    /// At the time the connection is given up, and nothing is cancelled: for commits. Calls the function once after ten
    /// seconds.
    case patient(MonotonicTime, noticing: (() -> Void)? = nil)
}

/// The times at which a flush does something else than wait.
struct FlushDeadlines {
    enum Step {
        case notice(() -> Void)
        case cancel
        case giveUp
    }

    private static let cancelSeconds = 2.0
    private static let noticeSeconds = 10.0

    private(set) var next: MonotonicTime
    /// When a patient flush ends.
    private let end: MonotonicTime
    private var notice: (() -> Void)?
    /// Whether nothing is cancelled, or was already.
    private var isCancelled: Bool

    init(_ limit: FlushLimit) {
        switch limit {
        case .until(let end):
            self.end = end
            next = end
            isCancelled = false
        case .patient(let end, let notice):
            self.end = end
            self.notice = notice
            next = notice == nil ? end : min(end, MonotonicTime.now + Self.noticeSeconds)
            isCancelled = true
        }
    }

    /// What to do now that `next` has passed.
    mutating func pass() -> Step {
        if let notice, end > .now {
            self.notice = nil
            next = end
            return .notice(notice)
        }
        guard !isCancelled else { return .giveUp }
        isCancelled = true
        next = MonotonicTime.now + Self.cancelSeconds
        return .cancel
    }
}

/// Waits for sockets.
enum SocketWait {
    /// Waits until one of these can be read, or the time is over.
    static func waitToRead(_ descriptors: [Int32], until end: MonotonicTime) {
        var requests = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        let milliseconds = Int32(max(0, min(end.secondsLeft * 1_000, 3_600_000)).rounded(.up))
        // An error shows when the descriptor is used.
        _ = unsafe poll(&requests, nfds_t(requests.count), milliseconds)
    }

    /// Returns false when the time is over.
    static func wait(_ socket: Int32, writing: Bool, reading: Bool, until end: MonotonicTime?) -> Bool {
        let events = (writing ? POLLOUT : 0) | (reading ? POLLIN : 0)
        while true {
            var request = pollfd(fd: socket, events: Int16(events), revents: 0)
            let milliseconds = end.map { Int32(max(0, min($0.secondsLeft * 1_000, 3_600_000)).rounded(.up)) } ?? -1
            let count = unsafe poll(&request, 1, milliseconds)
            if count > 0 { return true }
            // An error of `poll` itself shows when the socket is used. A signal only interrupts.
            if count < 0, errno != EINTR { return true }
            if let end, end.secondsLeft <= 0 { return false }
        }
    }
}

/// Asks the server to end the statement that a connection waits for, on a thread of its own: it opens a connection, and
/// nothing limits how long that takes.
enum RequestCancel {
    @safe private final class Request: @unchecked Sendable {  // because only the thread that cancels uses it
        let handle: Handle
        let symbols: LibpqSymbols

        init(_ handle: Handle, _ symbols: LibpqSymbols) {
            unsafe self.handle = unsafe handle
            self.symbols = symbols
        }

        deinit { unsafe symbols.freeCancel(handle) }
    }

    @unsafe static func send(_ handle: Handle?, _ symbols: LibpqSymbols) {
        guard let handle = unsafe handle else { return }
        let request = unsafe Request(handle, symbols)
        _ = BackgroundThread.start {
            var message = [CChar](repeating: 0, count: 256)
            unsafe _ = request.symbols.cancel(request.handle, &message, Int32(message.count))
        }
    }
}
