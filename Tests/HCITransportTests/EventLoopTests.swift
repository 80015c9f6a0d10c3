import BluetoothCore
import CLinux
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import HCITransport

/// What is written to one end makes the other ready.
private struct Line: ~Copyable {
    let reading: OwnedDescriptor
    let writing: OwnedDescriptor

    init() throws {
        let ends = try makeSocketPair()
        reading = OwnedDescriptor(ends.0)
        writing = OwnedDescriptor(ends.1)
    }
}

@Suite("The loop")
struct EventLoopTests {
    @Test("an iteration hands out all that is ready, then ends once: descriptors, deadline, posted work")
    func order() throws {
        let loop = try EventLoop(signals: [])
        let first = try Line()
        let second = try Line()
        var log: [String] = []
        let one = try loop.register(first.reading.rawValue, .readable) { _ in log.append("first") }
        let two = try loop.register(second.reading.rawValue, .readable) { _ in log.append("second") }
        let posted = Mutex<[String]>([])
        try second.writing.put([1])
        try first.writing.put([1])
        loop.mailbox.post { posted.withLock { $0.append("posted") } }
        loop.onDeadline = { log.append("deadline") }
        loop.deadline = Instant(nanoseconds: 1)
        var iterations = 0
        try loop.run {
            iterations += 1
            log += posted.withLock { $0 } + ["end"]
            return .stop
        }
        #expect(log == ["second", "first", "deadline", "posted", "end"])
        #expect(iterations == 1)
        #expect(loop.deadline == nil)
        loop.unregister(one)
        loop.unregister(two)
    }

    @Test("what unregisters in an iteration gets nothing more of it")
    func unregisterWhileReady() throws {
        let loop = try EventLoop(signals: [])
        let first = try Line()
        let second = try Line()
        var calls = 0
        var registrations: [EventLoop.Registration] = []
        for raw in [first.reading.rawValue, second.reading.rawValue] {
            registrations.append(
                try loop.register(raw, .readable) { _ in
                    calls += 1
                    for registration in registrations { loop.unregister(registration) }
                })
        }
        try first.writing.put([1])
        try second.writing.put([1])
        try loop.run { .stop }
        #expect(calls == 1)
    }

    @Test("an end that has more to do is followed by an iteration that does not wait")
    func atOnce() throws {
        let loop = try EventLoop(signals: [])
        loop.mailbox.post {}
        var ends = 0
        try loop.run {
            ends += 1
            return ends < 3 ? .atOnce : .stop
        }
        #expect(ends == 3)
    }

    @Test("work posted by posted work runs in the next iteration")
    func postedByPosted() throws {
        let loop = try EventLoop(signals: [])
        let mailbox = loop.mailbox
        let log = Mutex<[String]>([])
        mailbox.post {
            log.withLock { $0.append("outer") }
            mailbox.post { log.withLock { $0.append("inner") } }
        }
        var ends = 0
        try loop.run {
            ends += 1
            log.withLock { $0.append("end") }
            return ends == 2 ? .stop : .wait
        }
        #expect(log.withLock { $0 } == ["outer", "end", "inner", "end"])
    }

    /// What a pthread is handed.
    private final class Job: Sendable {
        let work: @Sendable () -> Void
        init(_ work: @escaping @Sendable () -> Void) { self.work = work }
    }

    @Test("other threads' work arrives whole, in each thread's order, on the loop's thread")
    func postFromThreads() throws {
        let loop = try EventLoop(signals: [])
        let mailbox = loop.mailbox
        let log = Mutex<[Int]>([])
        let strays = Mutex(0)
        var threads: [pthread_t] = []
        for thread in 0..<4 {
            let job = Job {
                if mailbox.isOnLoopThread { strays.withLock { $0 += 1 } }
                for step in 0..<250 {
                    mailbox.post {
                        if !mailbox.isOnLoopThread { strays.withLock { $0 += 1 } }
                        log.withLock { $0.append(thread * 1000 + step) }
                    }
                }
            }
            var handle = pthread_t()
            let created = pthread_create(
                &handle, nil,
                { argument in
                    if let argument { Unmanaged<Job>.fromOpaque(argument).takeRetainedValue().work() }
                    return nil
                }, Unmanaged.passRetained(job).toOpaque())
            try #require(created == 0)
            threads.append(handle)
        }
        try loop.run { log.withLock { $0.count } == 1000 ? .stop : .wait }
        for thread in threads { pthread_join(thread, nil) }
        for thread in 0..<4 {
            #expect(log.withLock { $0 }.filter { $0 / 1000 == thread } == (0..<250).map { thread * 1000 + $0 })
        }
        #expect(strays.withLock { $0 } == 0)
    }

    @Test("interest changes take hold, and a closed other end is reported unasked")
    func interest() throws {
        let loop = try EventLoop(signals: [])
        let ends = try makeSocketPair()
        let ours = OwnedDescriptor(ends.0)
        var theirs: OwnedDescriptor? = OwnedDescriptor(ends.1)
        var seen: [Readiness] = []
        let registration = try loop.register(ours.rawValue, .readable) { seen.append($0) }
        loop.setInterest([.readable, .writable], of: registration)
        try loop.run { .stop }
        #expect(seen == [.writable])
        loop.setInterest([], of: registration)
        theirs = nil
        _ = consume theirs
        try loop.run { .stop }
        #expect(seen.last?.isDisjoint(with: .hangup) == false)
        loop.unregister(registration)
    }

    @Test("a deadline that is moved or taken away does not fire")
    func deadlines() throws {
        let loop = try EventLoop(signals: [])
        var fired = 0
        loop.onDeadline = { fired += 1 }
        loop.deadline = Instant(nanoseconds: 1)
        loop.deadline = nil
        loop.mailbox.post {}
        try loop.run { .stop }
        #expect(fired == 0)
        loop.deadline = Instant(nanoseconds: 0)
        try loop.run { .stop }
        #expect(fired == 1)
    }

    @Test("a signal is work like any other")
    func signals() throws {
        let loop = try EventLoop(signals: [SIGUSR1])
        var seen: [Int32] = []
        loop.onSignal = { seen.append($0) }
        pthread_kill(pthread_self(), SIGUSR1)
        try loop.run { .stop }
        #expect(seen == [SIGUSR1])
    }

    @Test("boot time goes forward, and the boot has a name")
    func clock() throws {
        let before = SystemClock.now()
        #expect(SystemClock.now() >= before)
        let boot = try #require(SystemClock.bootIdentifier())
        #expect(boot != 0 && SystemClock.bootIdentifier() == boot)
        #expect(SystemClock.bootIdentifier(path: "/dev/null") == nil)
        #expect(SystemClock.bootIdentifier(path: "/none") == nil)
    }
}
