import ATT
import BluetoothCore
import BluetoothHost
import Dispatch
import FoundationEssentials
import GATT
import HCI
import Synchronization
import Testing

@testable import CoreBluetoothEssentials

@Suite("Bounds")
struct BoundsTests {
    @Test("Writes without response: one past the bound is dropped, and room is told once, at half")
    func commands() {
        var budget = CommandBudget()
        for _ in 0..<CommandBudget.maximumWaiting {
            let isTaken = budget.take()
            #expect(isTaken)
        }
        #expect(!budget.hasRoom)
        do {
            let answer = budget.take()
            #expect(!answer)
        }
        var told = 0
        for _ in 0..<CommandBudget.maximumWaiting { told += budget.giveBack() ? 1 : 0 }
        #expect(told == 1)
        #expect(budget.hasRoom)
    }

    @Test("Updates: one past the bound is refused, and room is told once, when half have gone")
    func updates() {
        var budget = UpdateBudget()
        func take() -> Bool { budget.take() }
        func isReady(stalled: Int = 0) -> Bool { budget.takeReadiness(stalled: stalled) }
        for _ in 0..<UpdateBudget.maximumWaiting { #expect(take()) }
        #expect(!isReady(), "nobody was refused")
        #expect(!take())
        #expect(!isReady())
        budget.giveBack(UpdateBudget.maximumWaiting / 2 - 1)
        #expect(!isReady())
        budget.giveBack()
        #expect(isReady())
        #expect(!isReady(), "told once")
    }

    @Test("Updates: with none on its way but for centrals that have no room, there is room as soon as one has gone")
    func stalledUpdates() {
        var budget = UpdateBudget()
        for _ in 0...UpdateBudget.maximumWaiting { _ = budget.take() }
        func isReady(stalled: Int) -> Bool { budget.takeReadiness(stalled: stalled) }
        #expect(!isReady(stalled: UpdateBudget.maximumWaiting))
        budget.giveBack()
        #expect(!isReady(stalled: UpdateBudget.maximumWaiting - 2), "one is on its way")
        #expect(isReady(stalled: UpdateBudget.maximumWaiting - 1))
    }

    @Test(
        "Callbacks that peers cause: one past the bound is dropped while the app's queue stands still, and then there is room"
    )
    func callbacks() {
        let queue = DispatchQueue(label: "app")
        let delivery = CallbackDelivery.queue(queue)
        let backlog = Backlog()
        let heard = Atomic(0)
        func deliver() -> Bool {
            delivery.deliver(nil, within: backlog) { heard.wrappingAdd(1, ordering: .relaxed) }
        }
        queue.suspend()
        for _ in 0..<Backlog.callbacksMaximum { #expect(deliver()) }
        #expect(backlog.isFull)
        #expect(!deliver())
        queue.resume()
        queue.sync {}
        #expect(heard.load(ordering: .relaxed) == Backlog.callbacksMaximum)
        #expect(!backlog.isFull)
        #expect(deliver())
        queue.sync {}
        #expect(heard.load(ordering: .relaxed) == Backlog.callbacksMaximum + 1)
    }

    @Test("Callbacks of all peers: what one may not have any more is another's, up to the bound for all")
    func callbacksOfAll() {
        let whole = Backlog(maximum: Backlog.callbacksOfAllMaximum)
        let flood = Backlog(within: whole)
        for _ in 0..<Backlog.callbacksMaximum { #expect(flood.take()) }
        #expect(!flood.take() && flood.isFull)
        let other = Backlog(within: whole)
        #expect(!other.isFull && other.take())
        other.giveBack()
        var peers = [other]
        for taken in Backlog.callbacksMaximum..<Backlog.callbacksOfAllMaximum {
            if taken % Backlog.callbacksMaximum == 0 { peers.append(Backlog(within: whole)) }
            #expect(peers.last?.take() == true)
        }
        let late = Backlog(within: whole)
        #expect(late.isFull && !late.take() && whole.isFull)
        flood.giveBack()
        #expect(late.take() && !late.take())
        late.giveBack()
        #expect(flood.take() && !flood.take())
    }

    private final class Thing: Sendable {}

    @Test("One object for a name while anybody holds it, and no growth with names that nobody holds")
    func registry() {
        var registry = Registry<Thing>()
        let name = PeerIdentifier(bits: 1)
        let held = registry.object(name) { Thing() }
        for bits in 2...UInt128(2_000) { _ = registry.object(PeerIdentifier(bits: bits)) { Thing() } }
        let again = registry.object(name) { Thing() }
        #expect(again === held)
        #expect(registry.count <= 130)
        #expect(registry[PeerIdentifier(bits: 2)] == nil)
    }

    @Test("A request is answered once; a command never")
    func answers() {
        let id = ServerRequestID(link: LinkID(rawValue: 1), number: 1)
        let answer = CBATTRequest.Answer(id)
        var misused = 0
        #expect(answer.take { misused += 1 } == id)
        #expect(answer.take { misused += 1 } == nil)
        #expect(misused == 1)
        let silent = CBATTRequest.Answer(nil)
        #expect(silent.take { misused += 1 } == nil)
        #expect(silent.take { misused += 1 } == nil)
        #expect(misused == 1)
    }
}

@Suite("Errors")
struct ErrorMappingTests {
    @Test("Why a link ended, in Apple's codes")
    func disconnections() {
        #expect(CBError(disconnection: .connectionTimeout).code == .connectionTimeout)
        #expect(CBError(disconnection: .remoteUserTerminatedConnection).code == .peripheralDisconnected)
        #expect(CBError(disconnection: .pinOrKeyMissing).code == .peerRemovedPairingInformation)
        #expect(CBError(disconnection: HCIErrorCode(rawValue: 0xEE)).code == .unknown)
        #expect(CBError(connectionFailure: .connectionLimitExceeded).code == .connectionLimitReached)
    }

    @Test("A switch over another error is not answered by Apple's match of the same name")
    func switches() {
        func isTimeout(_ code: HCIErrorCode) -> Bool {
            switch code {
            case .connectionTimeout: true
            default: false
            }
        }
        #expect(isTimeout(.connectionTimeout))
    }

    @Test("What a peer answered is a CBATTError, with the peer's code even when Apple has no name for it")
    func attErrors() {
        let refused = appleError(.gatt(.refused(.insufficientEncryption, handle: .first)))
        #expect(refused as? CBATTError == CBATTError(.insufficientEncryption))
        let own = appleError(.gatt(.refused(ATTErrorCode(rawValue: 0x80), handle: .first)))
        #expect((own as? CBATTError)?.code.rawValue == 0x80)
        #expect(ATTErrorCode(CBATTError.Code.success) == nil)
        #expect(ATTErrorCode(CBATTError.Code(number: 0x81)) == ATTErrorCode(rawValue: 0x81))
        #expect(ATTErrorCode(CBATTError.Code(number: 0x181)) == .unlikelyError)
    }

    @Test("Each number is one code of CBATTError, named or not, and a switch names Apple's")
    func attCodes() {
        let codes = (0...0x180).map { CBATTError.Code(number: $0) }
        #expect(codes.map(\.rawValue) == Array(0...0x180))
        #expect(Set(codes).count == codes.count)
        let unnamed = codes.filter { if case .other = $0 { true } else { false } }
        #expect(unnamed == Array(codes[0x12...]), "Apple's names end at 0x11")
        #expect(CBATTError.Code.other(0x03) == .writeNotPermitted)
        #expect(CBATTError.Code.other(0x03).hashValue == CBATTError.Code.writeNotPermitted.hashValue)
    }

    @Test("Errors have Apple's domains and codes, and match in a catch")
    func bridging() {
        let error: any Error = CBError(.connectionTimeout)
        #expect(error._domain == "CBErrorDomain" && error._code == 6)
        #expect((CBATTError(.invalidOffset) as any Error)._domain == "CBATTErrorDomain")
        do {
            throw error
        } catch CBError.connectionTimeout {
        } catch {
            Issue.record("not caught by its code")
        }
        #expect(!(CBError.connectionFailed ~= error))
        #expect(CBError(.unknown).errorDescription == "Unknown error.")
    }
}
