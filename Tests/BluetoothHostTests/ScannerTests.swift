import BluetoothCore
import BluetoothHost
import HCI
import Testing

@Suite struct ScannerTests {
    @Test("Parameters once, and a change of them only between disable and enable")
    func changes() {
        var scanner = Scanner()
        scanner.wanted = .init(reportsDuplicates: false)
        #expect(scanner.next() == .setParameters(isActive: true))
        scanner.completed(.success)
        #expect(scanner.next() == .enable(filterDuplicates: true))
        scanner.completed(.success)
        #expect(scanner.isEnabled)
        scanner.wanted = .init(reportsDuplicates: true)
        #expect(scanner.next() == .disable)
        scanner.completed(.success)
        #expect(scanner.next() == .enable(filterDuplicates: false))
        scanner.completed(.success)
        scanner.wanted = nil
        #expect(scanner.next() == .disable)
        scanner.completed(.success)
        #expect(scanner.next() == nil)
    }

    @Test("What was asked for is what runs, though the wish changed before the controller answered")
    func race() {
        var scanner = Scanner()
        scanner.wanted = .init(reportsDuplicates: false)
        _ = scanner.next()
        scanner.completed(.success)
        _ = scanner.next()
        scanner.wanted = .init(reportsDuplicates: true)
        scanner.completed(.success)
        #expect(scanner.next() == .disable)
    }

    func drain(_ scanner: inout Scanner) -> [Scanner.Action] {
        var actions: [Scanner.Action] = []
        while let action = scanner.next() {
            actions.append(action)
            scanner.completed(.success)
        }
        return actions
    }

    @Test("A passive scan that becomes an active one is told so, between disable and enable")
    func activity() {
        var scanner = Scanner()
        scanner.wanted = .init(reportsDuplicates: true, isActive: false)
        #expect(drain(&scanner) == [.setParameters(isActive: false), .enable(filterDuplicates: false)])
        scanner.wanted = .init(reportsDuplicates: true, isActive: true)
        #expect(drain(&scanner) == [.disable, .setParameters(isActive: true), .enable(filterDuplicates: false)])
    }

    @Test("Whoever begins to scan hears those too whom the controller has reported before: the scan starts anew")
    func generations() {
        var scanner = Scanner()
        scanner.wanted = .init(reportsDuplicates: false, generation: 1)
        _ = drain(&scanner)
        scanner.wanted = .init(reportsDuplicates: false, generation: 2)
        #expect(drain(&scanner) == [.disable, .enable(filterDuplicates: true)])
    }

    @Test("Held, it rests, and runs again as it was wanted")
    func held() {
        var scanner = Scanner()
        scanner.wanted = .init(reportsDuplicates: false)
        _ = drain(&scanner)
        scanner.isHeld = true
        #expect(drain(&scanner) == [.disable])
        #expect(scanner.isAtRest)
        scanner.isHeld = false
        #expect(drain(&scanner) == [.enable(filterDuplicates: true)])
    }
}
