// A lock with conditions to wait for. `Synchronization.Mutex` has no condition to wait on, and the thread sanitizer
// does not see through it; POSIX's it knows.
//
// Unsafe: the POSIX objects are allocated in `init` because they must not move, and destroyed in `deinit`, when no
// thread can hold or wait for them any more.

internal import Glibc

/// A mutual exclusion lock that notices a thread locking it twice.
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

    /// Whoever finds it locked lets others run a few times before being put to sleep. What these locks guard takes
    /// microseconds; putting a thread to sleep and waking it takes more, and where many callers wait, all of them would
    /// wait for each of those.
    func lock() {
        for _ in 0..<Self.yieldCount {
            if unsafe pthread_mutex_trylock(mutex) == 0 { return }
            sched_yield()
        }
        let status = unsafe pthread_mutex_lock(mutex)
        precondition(status == 0, "A store was written or closed inside one of its own transactions.")
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

/// A moment by the clock that conditions wait by, which nobody sets.
struct MonotonicTime {
    static let nanosecondsPerSecond: UInt64 = 1_000_000_000

    var nanoseconds: UInt64

    static var now: MonotonicTime {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return MonotonicTime(nanoseconds: UInt64(time.tv_sec) * nanosecondsPerSecond + UInt64(time.tv_nsec))
    }
}

/// Something to wait for while a monitor is locked.
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

    /// Unlocks `monitor`, waits, and locks it again. It may wake for no reason: wait in a loop.
    func wait(_ monitor: Monitor) {
        unsafe pthread_cond_wait(condition, monitor.mutex)
    }

    /// The same, but no longer than until then. Returns false when the time is over.
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
