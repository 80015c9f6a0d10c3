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

        let listener = try makeListener(at: socket)
        defer { close(listener) }
        Thread.detachNewThread {
            if let daemon = try? acceptConnection(listener) { close(daemon) }
        }
        #expect(try ask() == nil)
    }
}
