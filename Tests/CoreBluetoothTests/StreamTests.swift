import BluetoothCore
import BluetoothHost
import CoreBluetooth
import Synchronization
import Testing

@testable import CoreBluetoothEssentials

/// An L2CAP channel's streams, as apps of Apple's systems use them: scheduled on a run loop, with a delegate.
@Suite("The streams of a channel")
struct StreamTests {
    /// A thread with a run loop, on which an app lives.
    private final class App: NSObject, StreamDelegate, @unchecked Sendable {
        let channel: CBL2CAPChannel
        let pipe: ChannelPipe
        private let heard = Mutex<[String]>([])
        private let news = DispatchSemaphore(value: 0)
        private let isOver = Mutex(false)
        /// So many octets at a time.
        private let readOctets: Int

        init(readOctets: Int = 100, before: [UInt8] = []) {
            self.readOctets = readOctets
            let handle = CBHost(NoLoop())
            pipe = ChannelPipe(
                HostChannelID(link: LinkID(rawValue: 1), number: 1), sduOctetsMaximum: 100, handle: handle,
                delivery: .inline, host: nil)
            let core = CentralCore(handle: handle, delivery: .inline, delegate: nil)
            let peer = CBPeripheral(PeerIdentifier(bits: 1), name: nil, core: core)
            channel = CBL2CAPChannel(peer: peer, psm: 0x80, pipe: pipe)
            super.init()
            if !before.isEmpty { pipe.received(before) }
        }

        func begin() {
            let thread = Thread { [self] in
                for stream in [channel.inputStream, channel.outputStream] as [Foundation.Stream] {
                    stream.delegate = self
                    stream.schedule(in: .current, forMode: .default)
                    stream.open()
                }
                while !isOver.withLock({ $0 }), RunLoop.current.run(mode: .default, before: .distantFuture) {}
            }
            thread.start()
        }

        func end() { isOver.withLock { $0 = true } }

        private func note(_ text: String) {
            heard.withLock { $0.append(text) }
            news.signal()
        }

        func stream(_ stream: Foundation.Stream, handle event: Foundation.Stream.Event) {
            let name = stream === channel.inputStream ? "in" : "out"
            switch event {
            case .openCompleted: note("\(name) open")
            case .hasBytesAvailable:
                var octets = [UInt8](repeating: 0, count: readOctets)
                let count = channel.inputStream.read(&octets, maxLength: octets.count)
                note("read \(octets.prefix(max(0, count)))")
            case .hasSpaceAvailable: note("\(name) space")
            case .endEncountered: note("\(name) end")
            case .errorOccurred: note("\(name) error \((stream.streamError as? CBError)?.code.rawValue ?? -1)")
            default: note("\(event)")
            }
        }

        /// Everything that was heard up to so many events.
        func hears(_ count: Int) -> [String] {
            for _ in 0..<count where news.wait(timeout: .now() + 60) == .timedOut { break }
            return heard.withLock { $0 }
        }
    }

    @Test("Opened, and octets as they come, also those that were there before")
    func reading() {
        let app = App(readOctets: 2, before: [1, 2, 3])
        app.begin()
        defer { app.end() }
        #expect(Set(app.hears(5)) == ["in open", "out open", "out space", "read [1, 2]", "read [3]"])
        app.pipe.received([4])
        #expect(app.hears(1).last == "read [4]")
    }

    @Test("The peer's end comes behind what it has sent; the loss of the link is an error of both")
    func ends() {
        let app = App(readOctets: 2)
        app.begin()
        #expect(app.hears(3).count == 3)
        app.pipe.received([1, 2, 3])
        #expect(app.hears(2).suffix(2) == ["read [1, 2]", "read [3]"])
        app.pipe.ended(.peer)
        app.channel.delegate?.channelDidClose(app.channel, error: nil)
        #expect(Set(app.hears(2).suffix(2)) == ["in end", "out end"])
        #expect(app.channel.inputStream.streamStatus == .atEnd)
        app.end()

        let lost = App()
        lost.begin()
        defer { lost.end() }
        #expect(lost.hears(3).count == 3)
        lost.pipe.state.withLock { $0.isOpen = false }
        lost.channel.delegate?.channelDidClose(lost.channel, error: CBError(.connectionTimeout))
        #expect(Set(lost.hears(2).suffix(2)) == ["in error 6", "out error 6"])
        #expect(lost.channel.outputStream.streamStatus == .error)
    }

    @Test("What had arrived when the link was lost is read, and the error comes behind it")
    func lostBehindOctets() {
        let app = App(readOctets: 2)
        #expect(app.channel.inputStream.streamStatus == .notOpen)
        app.pipe.received([1, 2, 3])
        app.pipe.ended(.timedOut)
        app.begin()
        defer { app.end() }
        let heard = app.hears(5)
        #expect(heard.filter { $0 != "out error 6" } == ["in open", "read [1, 2]", "read [3]", "in error 6"])
        #expect(heard.contains("out error 6"))
        #expect(app.channel.inputStream.streamStatus == .error && app.channel.outputStream.streamStatus == .error)
        var octet: UInt8 = 0
        #expect(app.channel.inputStream.read(&octet, maxLength: 1) == -1)
    }

    @Test("A thread that waits for octets hears of a lost link as of an error, and of the peer's end as of an end")
    func waitingForTheEnd() {
        for (end, read, status) in [
            (ChannelEnd.timedOut, -1, Stream.Status.error), (.peer, 0, .atEnd),
        ] {
            let app = App()
            let input: InputStream = app.channel.inputStream
            input.open()
            let pipe = app.pipe
            Thread.detachNewThread { pipe.ended(end) }
            var octet: UInt8 = 0
            #expect(input.read(&octet, maxLength: 1) == read)
            #expect(input.streamStatus == status)
            #expect((input.streamError as? CBError)?.code == (read < 0 ? .connectionTimeout : nil))
        }
    }

    @Test("What the app writes is taken as far as there is room, and it hears of room")
    func writing() {
        let app = App()
        let output: OutputStream = app.channel.outputStream
        #expect(output.write([1], maxLength: 1) == -1, "it is not open")
        app.begin()
        defer { app.end() }
        #expect(app.hears(3).count == 3)
        #expect(output.hasSpaceAvailable)
        let most = ChannelPipe.outgoingOctetsMaximum
        #expect(output.write([UInt8](repeating: 7, count: most + 9), maxLength: most + 9) == most)
        #expect(!output.hasSpaceAvailable)
        #expect(app.pipe.state.withLock { $0.roomIsAwaited })
        app.pipe.state.withLock { $0.outgoing = [] }
        app.channel.delegate?.channelHasSpaceAvailable(app.channel)
        #expect(app.hears(1).last == "out space")
        #expect(output.hasSpaceAvailable)
    }

    @Test("Both closed, the channel is; a closed stream says nothing and takes nothing")
    func closing() {
        let app = App()
        app.begin()
        defer { app.end() }
        #expect(app.hears(3).count == 3)
        app.channel.inputStream.close()
        #expect(!app.pipe.state.withLock { $0.isClosing })
        app.channel.outputStream.close()
        #expect(app.pipe.state.withLock { $0.isClosing })
        var octet: UInt8 = 0
        #expect(app.channel.inputStream.read(&octet, maxLength: 1) == -1)
        #expect(app.channel.outputStream.write([1], maxLength: 1) == -1)
        #expect(app.channel.inputStream.streamStatus == .closed)
    }

    @Test("A thread that reads where nothing is yet goes on when something comes, and at the end")
    func waiting() {
        let app = App()
        let input: InputStream = app.channel.inputStream
        input.open()
        let pipe = app.pipe
        Thread.detachNewThread { pipe.received([9]) }
        var octet: UInt8 = 0
        #expect(input.read(&octet, maxLength: 1) == 1 && octet == 9)
        Thread.detachNewThread { pipe.ended(.peer) }
        #expect(input.read(&octet, maxLength: 1) == 0)
    }

    @Test("What one run loop was to tell, another one tells, if the stream has gone there meanwhile")
    func moving() {
        let app = App()
        let there = DispatchSemaphore(value: 0)
        // Nobody runs this thread's loop.
        Thread.detachNewThread {
            app.channel.inputStream.schedule(in: .current, forMode: .default)
            app.channel.inputStream.open()
            there.signal()
        }
        there.wait()
        app.begin()
        defer { app.end() }
        #expect(Set(app.hears(3)) == ["in open", "out open", "out space"])
    }
}
