import Foundation
import Glibc
import Testing

@testable import HCITransport

/// What a kernel answers, in turn, and what was asked of it.
private final class FakeKernel {
    var binds: [Int32]
    var isUp: Int32
    var hasLinks: Int32
    var down: Int32
    var bluetoothd: Bool
    private(set) var asked: [String] = []

    init(binds: [Int32], isUp: Int32 = 1, hasLinks: Int32 = 0, down: Int32 = 0, bluetoothd: Bool = false) {
        self.binds = binds
        self.isUp = isUp
        self.hasLinks = hasLinks
        self.down = down
        self.bluetoothd = bluetoothd
    }

    var kernel: AdapterKernel {
        AdapterKernel(
            bindUserChannel: { [self] in
                asked.append("bind")
                return binds.isEmpty ? 0 : binds.removeFirst()
            },
            isUp: { [self] in isUp },
            hasLinks: { [self] in hasLinks },
            bringDown: { [self] in
                asked.append("down")
                return down
            },
            isBluetoothdRunning: { [self] in bluetoothd })
    }
}

/// The answers are those of net/bluetooth/hci_sock.c.
@Suite("The HCI user channel")
struct UserChannelTests {
    private func take(_ fake: FakeKernel, takes: Bool = false) -> TransportError? {
        do throws(TransportError) {
            try UserChannel(number: 3, name: "hci:3", takes: takes, kernel: fake.kernel).take()
            return nil
        } catch {
            return error
        }
    }

    @Test("an adapter that is down is taken as it is")
    func down() {
        let fake = FakeKernel(binds: [0])
        #expect(take(fake) == nil)
        #expect(fake.asked == ["bind"])
    }

    @Test("an adapter that is up and that nobody uses is brought down first")
    func free() {
        let fake = FakeKernel(binds: [-EBUSY, 0])
        #expect(take(fake) == nil)
        #expect(fake.asked == ["bind", "down", "bind"])
    }

    @Test("an adapter that is said to be ours is taken from bluetoothd, and from whoever has links over it")
    func taken() {
        let fake = FakeKernel(binds: [-EBUSY, 0], hasLinks: 1, bluetoothd: true)
        #expect(take(fake, takes: true) == nil)
        #expect(fake.asked == ["bind", "down", "bind"])
    }

    @Test("one that is ours and comes up again at once is tried again, and another user channel's is left to that")
    func contended() throws {
        let again = try #require(take(FakeKernel(binds: [-EBUSY, -EBUSY], bluetoothd: true), takes: true))
        #expect(again.isMendedByWaiting)
        let held = try #require(take(FakeKernel(binds: [-EUSERS]), takes: true))
        #expect(held.kind == .busy)
    }

    struct Refusal: Sendable {
        var name: String
        var binds: [Int32]
        var isUp: Int32 = 1
        var hasLinks: Int32 = 0
        var down: Int32 = 0
        var bluetoothd = false
        var kind: TransportError.Kind
        var says: String
        var isWaitedFor = false
    }

    static let refusals: [Refusal] = [
        .init(
            name: "bluetoothd has it up", binds: [-EBUSY], bluetoothd: true, kind: .busy,
            says: "systemctl stop bluetooth"),
        .init(
            name: "somebody has links without bluetoothd", binds: [-EBUSY], hasLinks: 1, kind: .busy,
            says: "hciconfig hci3 down"),
        .init(name: "another user channel", binds: [-EUSERS], kind: .busy, says: "another program holds"),
        .init(
            name: "another user channel was quicker", binds: [-EBUSY], down: -EBUSY, kind: .busy,
            says: "stop that first"),
        .init(name: "up again at once", binds: [-EBUSY, -EBUSY], kind: .busy, says: "brings the adapter up again"),
        .init(
            name: "just plugged in", binds: [-EBUSY], isUp: 0, kind: .notReady, says: "setting the adapter up",
            isWaitedFor: true),
        .init(name: "no adapter", binds: [-ENODEV], kind: .notFound, says: "/sys/class/bluetooth", isWaitedFor: true),
        .init(
            name: "unplugged meanwhile", binds: [-EBUSY], isUp: -ENODEV, kind: .notFound, says: "/sys/class/bluetooth",
            isWaitedFor: true),
        .init(name: "rfkill", binds: [-ERFKILL], kind: .notReady, says: "rfkill unblock bluetooth", isWaitedFor: true),
        .init(name: "no capability", binds: [-EPERM], kind: .notPermitted, says: "CAP_NET_ADMIN"),
        .init(
            name: "no capability to bring it down", binds: [-EBUSY], down: -EPERM, kind: .notPermitted,
            says: "CAP_NET_ADMIN"),
        .init(name: "an old kernel", binds: [-EINVAL], kind: .unsupported, says: "Linux 3.14"),
        .init(
            name: "firmware that does not answer", binds: [-ETIMEDOUT], kind: .timedOut, says: "unplug it",
            isWaitedFor: true),
        .init(name: "anything else", binds: [-ENOMEM], kind: .system(ENOMEM), says: "no user channel"),
    ]

    @Test("what the kernel refuses is said, with what to do", arguments: refusals)
    func refused(_ refusal: Refusal) throws {
        let fake = FakeKernel(
            binds: refusal.binds, isUp: refusal.isUp, hasLinks: refusal.hasLinks, down: refusal.down,
            bluetoothd: refusal.bluetoothd)
        let error = try #require(take(fake))
        #expect(error.kind == refusal.kind)
        #expect(error.description.hasPrefix("hci:3: "))
        #expect(error.description.contains(refusal.says), "\(error)")
        #expect(error.isMendedByWaiting == refusal.isWaitedFor)
        // Whoever uses it keeps it.
        if refusal.bluetoothd || refusal.hasLinks > 0 { #expect(!fake.asked.contains("down")) }
        #expect(fake.binds.isEmpty)
    }

    @Test("bluetoothd is found among the processes, or by its service where those are hidden")
    func bluetoothd() throws {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: root) }
        func put(_ text: String, at path: String) throws {
            let file = root.appendingPathComponent(path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
        }
        let running = RunningPrograms(
            processes: root.appendingPathComponent("proc").path,
            bluetoothService: root.appendingPathComponent("events").path)
        #expect(!running.hasBluetoothd)
        try put("bash\n", at: "proc/12/comm")
        try put("bluetoothd\n", at: "proc/self/comm")
        try put("populated 0\nfrozen 0\n", at: "events")
        #expect(!running.hasBluetoothd)
        try put("populated 1\nfrozen 0\n", at: "events")
        #expect(running.hasBluetoothd)
        try put("populated 0\nfrozen 0\n", at: "events")
        try put("bluetoothd\n", at: "proc/13/comm")
        #expect(running.hasBluetoothd)
    }
}
