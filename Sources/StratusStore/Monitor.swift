// A lock with condition variables, for stores. `Synchronization.Mutex` has none, and the thread sanitizer does not
// understand it. It understands POSIX's.
//
// Unsafe: the POSIX objects are allocated in `init` because they must not move, and destroyed in `deinit`, when no
// thread holds or waits for them.

internal import Glibc

/// A mutex that detects a thread locking it twice.
@safe public final class Monitor: @unchecked Sendable {  // because POSIX guards the object behind the pointer
    fileprivate let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private static let yieldCount = 100

    package init() {
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
    @usableFromInline package func lock() {
        for _ in 0..<Self.yieldCount {
            if unsafe pthread_mutex_trylock(mutex) == 0 { return }
            sched_yield()
        }
        let status = unsafe pthread_mutex_lock(mutex)
        precondition(status == 0, "A store must not be written or closed inside one of its own transactions.")
    }

    @usableFromInline package func unlock() {
        let status = unsafe pthread_mutex_unlock(mutex)
        precondition(status == 0, "A lock was released by a thread that does not hold it.")
    }

    /// Runs `body` with the monitor locked.
    @inlinable public func withLock<Result>(_ body: () throws -> Result) rethrows -> Result {
        lock()
        defer { unlock() }
        return try body()
    }
}

/// Names a thread while it runs.
package struct ThreadIdentity: Hashable, Sendable {
    private let number: pthread_t

    package static var current: ThreadIdentity { ThreadIdentity(number: pthread_self()) }
}

/// A time on the monotonic clock, which conditions use.
package struct MonotonicTime: Comparable, Sendable {
    package static let nanosecondsPerSecond: UInt64 = 1_000_000_000

    package var nanoseconds: UInt64

    package init(nanoseconds: UInt64) {
        self.nanoseconds = nanoseconds
    }

    package static func < (left: MonotonicTime, right: MonotonicTime) -> Bool { left.nanoseconds < right.nanoseconds }

    /// The seconds from now to this time, negative if it is over.
    package var secondsLeft: Double {
        let now = MonotonicTime.now.nanoseconds
        let difference = nanoseconds > now ? Double(nanoseconds - now) : -Double(now - nanoseconds)
        return difference / Double(Self.nanosecondsPerSecond)
    }

    package static var now: MonotonicTime {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return MonotonicTime(nanoseconds: UInt64(time.tv_sec) * nanosecondsPerSecond + UInt64(time.tv_nsec))
    }

    /// Blocks the thread for so many seconds.
    package static func pause(seconds: Double) {
        let monitor = Monitor()
        let condition = Condition()
        let end = now + seconds
        monitor.withLock { while condition.wait(monitor, until: end) {} }
    }

    /// The time so many seconds later, in a century at most.
    package static func + (time: MonotonicTime, seconds: Double) -> MonotonicTime {
        let bounded = max(0, min(seconds, 3_000_000_000))
        return MonotonicTime(nanoseconds: time.nanoseconds + UInt64(bounded * Double(nanosecondsPerSecond)))
    }
}

/// A condition variable of a monitor.
@safe package final class Condition: @unchecked Sendable {  // because POSIX guards the object behind the pointer
    private let condition: UnsafeMutablePointer<pthread_cond_t>

    package init() {
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
    package func wait(_ monitor: Monitor) {
        unsafe pthread_cond_wait(condition, monitor.mutex)
    }

    /// The same, until a time at most. Returns false when the time is over.
    package func wait(_ monitor: Monitor, until end: MonotonicTime) -> Bool {
        var end = timespec(
            tv_sec: Int(end.nanoseconds / MonotonicTime.nanosecondsPerSecond),
            tv_nsec: Int(end.nanoseconds % MonotonicTime.nanosecondsPerSecond))
        return unsafe pthread_cond_timedwait(condition, monitor.mutex, &end) != ETIMEDOUT
    }

    package func signal() {
        unsafe pthread_cond_signal(condition)
    }

    package func broadcast() {
        unsafe pthread_cond_broadcast(condition)
    }
}
