import CLinux
import DaemonControl
import Foundation
import TestSupport
import Testing

@testable import Drills

@Suite("Asking a daemon that may die") struct DaemonExchangeTests {
    @Test("One that is not there, or dies before its answer is out, has no answer; the drill goes on")
    func dying() throws {
        let directory = ScratchDirectory()
        let socket = directory.path + "/lock.sock"
        let waiter = try Waiter()
        func ask() throws -> JSONObject? {
            try DaemonExchange.result(
                of: PeripheralRequest.status, from: socket, waiter, until: Clock.now + Clock.milliseconds(60_000))
        }
        #expect(try ask() == nil)

        let listener = try makeSocket()
        defer { close(listener) }
        var address = sockaddr_un()
        try #require(latch_unix_address(&address, socket) == 0)
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(bound == 0 && listen(listener, 1) == 0)
        Thread.detachNewThread {
            if let daemon = try? acceptConnection(listener) { close(daemon) }
        }
        #expect(try ask() == nil)
    }
}
