// Hosts and verbs with a wrong wall clock: a library replaces the system's and changes the time.

import Foundation
import Testing

@Suite("wrong clocks")
struct ClockTests {
    let directory: TestDirectory

    init() throws { directory = try TestDirectory() }

    /// Moves the wall clock that a process sees by SHIFT seconds. What the kernel waits for is not moved: a wait until
    /// a date is that much longer, as if the clock were set back while it lasts.
    private static let library = """
        #define _GNU_SOURCE
        #include <stdlib.h>
        #include <sys/syscall.h>
        #include <sys/time.h>
        #include <time.h>
        #include <unistd.h>
        static long shift(void) { const char *text = getenv("SHIFT"); return text ? atol(text) : 0; }
        int clock_gettime(clockid_t clock, struct timespec *time) {
            long result = syscall(SYS_clock_gettime, clock, time);
            if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += shift();
            return (int)result;
        }
        int gettimeofday(struct timeval *restrict time, void *restrict zone) {
            struct timespec now;
            if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
            time->tv_sec = now.tv_sec;
            time->tv_usec = now.tv_nsec / 1000;
            return 0;
        }
        time_t time(time_t *result) {
            struct timespec now;
            clock_gettime(CLOCK_REALTIME, &now);
            if (result) *result = now.tv_sec;
            return now.tv_sec;
        }
        """

    /// Runs a script in which `at SHIFT command…` runs a command with a shifted clock; $CHILD is the child program.
    private func shell(_ script: String) async throws -> ToolRun {
        try Data(Self.library.utf8).write(to: URL(fileURLWithPath: "\(directory.path)/clock.c"))
        return try await ToolRun.shell(
            """
            CHILD=$(dirname "$TOOL")/stratus-test-program
            clang -shared -fPIC -O1 -o clock.so clock.c || exit 99
            at() { SHIFT=$1 LD_PRELOAD=$PWD/clock.so "${@:2}"; }
            \(script)
            """, in: directory)
    }

    @Test("upkeep runs on time if the wall clock is set back by an hour")
    func setBack() async throws {
        let run = try await shell(#"at 3600 "$CHILD" clock store"#)
        #expect(run.lines == ["upkeep"], "\(run.output) \(run.errors)")
    }

    /// To the year 2500.
    private static let farSeconds = 15_000_000_000

    @Test("a host works with a clock in the year 2500")
    func farHost() async throws {
        let run = try await shell("at \(Self.farSeconds) \"$CHILD\" clock store")
        #expect(run.status == 0, "\(run.output) \(run.errors)")
        #expect(run.lines == ["upkeep"], "\(run.output) \(run.errors)")
    }

    @Test("verbs work with a clock in the year 2500, and print its dates")
    func farVerbs() async throws {
        try await directory.makeTree()
        let far = Self.farSeconds
        let run = try await shell(
            """
            year=$(at \(far) date +%Y)
            for line in "import-tree tree" "accounts create bob --email bob@example.com" "share create /tree/a --share s" \\
                "invite /tree/a bob@example.com" "put x --type Note --set file:asset=tree/a/one" "get x" "ls /" "tree /" \\
                "query File" "changes" "stats --count" "who /tree/a" "audit" "report --output report.html" "rebuild" \\
                "backup copy" "export all" "compact" "verify" "demo tree"; do
                at \(far) "$TOOL" $line --store store > out 2>&1 || { echo "failed: $line"; cat out; }
            done
            at \(far) "$TOOL" import all --store other > /dev/null || echo "failed: import"
            at \(far) "$TOOL" bench --records 50 > /dev/null || echo "failed: bench"
            at \(far) "$TOOL" get x --store store | grep -c "$year"
            "$TOOL" ls / --store store > /dev/null; echo $?
            """)
        #expect(run.lines.count == 2, "\(run.output) \(run.errors)")
        #expect(run.lines.first != "0", "\(run.output) \(run.errors)")
        #expect(run.lines.last == "0", "\(run.output) \(run.errors)")
    }
}
