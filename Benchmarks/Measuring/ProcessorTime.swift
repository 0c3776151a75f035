// Processor time: what a busy machine does not change much.

import Foundation

/// The processor time of the calling thread since this was made.
struct ProcessorTime {
    private let start = Self.seconds(CLOCK_THREAD_CPUTIME_ID)

    var seconds: Double { Self.seconds(CLOCK_THREAD_CPUTIME_ID) - start }

    /// Of the whole process, compaction included.
    static var ofProcess: Double { seconds(CLOCK_PROCESS_CPUTIME_ID) }

    private static func seconds(_ clock: clockid_t) -> Double {
        var time = timespec()
        _ = unsafe clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
