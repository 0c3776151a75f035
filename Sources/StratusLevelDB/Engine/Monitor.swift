// A lock with condition variables. `Synchronization.Mutex` has none, and the thread sanitizer does not understand it.
// It understands POSIX's.
//
// Unsafe: the POSIX objects are allocated in `init` because they must not move, and destroyed in `deinit`, when no
// thread holds or waits for them.

internal import Glibc

/// A mutex that detects a thread locking it twice.
@safe final class Monitor: @unchecked Sendable {  // because POSIX guards the object behind the pointer
    fileprivate let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private static let yieldCount = 100

    init() {
        unsafe mutex = .allocate(capacity: 1)
        var attributes = pthread_mutexattr_t()
        unsafe pthread_mutexattr_init(&attributes)
        unsafe pthread_mutexattr_settype(&attributes, Int32(PTHREAD_MUTEX_ERRORCHECK))
        unsafe pthread_mutex_init(mutex, &attributes)
        unsafe pthread_mutexattr_destroy(&attributes)
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    /// Locks the monitor. If it is locked, yields a few times before sleeping. These locks are held for microseconds;
    /// putting a thread to sleep and waking it takes longer, and every other waiting caller would wait for it too.
    func lock() {
        for _ in 0..<Self.yieldCount {
            if unsafe pthread_mutex_trylock(mutex) == 0 { return }
            sched_yield()
        }
        let status = unsafe pthread_mutex_lock(mutex)
        precondition(status == 0, "A store must not be written or closed inside one of its own transactions.")
    }

    func unlock() {
        let status = unsafe pthread_mutex_unlock(mutex)
        precondition(status == 0, "A lock was released by a thread that does not hold it.")
    }

    @inline(__always)
    func withLock<Result>(_ body: () throws -> Result) rethrows -> Result {
        lock()
        defer { unlock() }
        return try body()
    }
}

/// A time on the monotonic clock, which conditions use.
struct MonotonicTime {
    static let nanosecondsPerSecond: UInt64 = 1_000_000_000

    var nanoseconds: UInt64

    static var now: MonotonicTime {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return MonotonicTime(nanoseconds: UInt64(time.tv_sec) * nanosecondsPerSecond + UInt64(time.tv_nsec))
    }
}

/// A condition variable of a monitor.
@safe final class Condition: @unchecked Sendable {  // because POSIX guards the object behind the pointer
    private let condition: UnsafeMutablePointer<pthread_cond_t>

    init() {
        unsafe condition = .allocate(capacity: 1)
        var attributes = pthread_condattr_t()
        unsafe pthread_condattr_init(&attributes)
        unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        unsafe pthread_cond_init(condition, &attributes)
        unsafe pthread_condattr_destroy(&attributes)
    }

    deinit {
        unsafe pthread_cond_destroy(condition)
        unsafe condition.deallocate()
    }

    /// Unlocks `monitor`, waits, and locks it again. Wake-ups may be spurious: wait in a loop.
    func wait(_ monitor: Monitor) {
        unsafe pthread_cond_wait(condition, monitor.mutex)
    }

    /// The same, until a time at most. Returns false when the time is over.
    func wait(_ monitor: Monitor, until end: MonotonicTime) -> Bool {
        var end = timespec(
            tv_sec: Int(end.nanoseconds / MonotonicTime.nanosecondsPerSecond),
            tv_nsec: Int(end.nanoseconds % MonotonicTime.nanosecondsPerSecond))
        return unsafe pthread_cond_timedwait(condition, monitor.mutex, &end) != ETIMEDOUT
    }

    func signal() {
        unsafe pthread_cond_signal(condition)
    }

    func broadcast() {
        unsafe pthread_cond_broadcast(condition)
    }
}
