import Foundation
import TestSupport
import Testing

/// A library, to be loaded before all others, under which the wall clock is a year behind. Boot time is as it was.
enum WallClock {
    static let behindSeconds = 365 * 24 * 3_600

    private static let source = """
        #define _GNU_SOURCE
        #include <sys/syscall.h>
        #include <sys/time.h>
        #include <time.h>
        #include <unistd.h>
        int clock_gettime(clockid_t clock, struct timespec *now) {
            int result = syscall(SYS_clock_gettime, clock, now);
            if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec -= BEHIND;
            return result;
        }
        int gettimeofday(struct timeval *now, void *zone) {
            (void)zone;
            struct timespec exact;
            if (clock_gettime(CLOCK_REALTIME, &exact) != 0) return -1;
            now->tv_sec = exact.tv_sec;
            now->tv_usec = exact.tv_nsec / 1000;
            return 0;
        }
        time_t time(time_t *now) {
            struct timespec exact;
            clock_gettime(CLOCK_REALTIME, &exact);
            if (now) *now = exact.tv_sec;
            return exact.tv_sec;
        }
        """

    /// The library's path.
    static func library(in directory: String) async throws -> String {
        let (file, library) = (directory + "/clock.c", directory + "/clock.so")
        try source.write(toFile: file, atomically: true, encoding: .utf8)
        // Every Swift toolchain has it beside its compiler.
        let compiler = try ChildProcess(
            ["/usr/bin/env", "clang", "-shared", "-fPIC", "-O1", "-DBEHIND=\(behindSeconds)", "-o", library, file],
            environment: ProcessInfo.processInfo.environment)
        try #require(await compiler.end() == .exited(0))
        return library
    }
}
