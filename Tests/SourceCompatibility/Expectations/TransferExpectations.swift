import CoreBluetooth
import Testing

@Suite("Apps: what they send in pieces")
struct TransferExpectations {
    @Test("A terminal's chunks and lines")
    func terminal() {
        #expect(Array(Chunks(Data(0..<5), size: 2)) == [Data([0, 1]), Data([2, 3]), Data([4])])
        #expect(Array(Chunks(Data(), size: 2)).isEmpty)
        var lines = LineAssembler()
        #expect(lines.append(Data("he".utf8)).isEmpty)
        #expect(lines.append(Data("llo\r\nyou\nthe".utf8)) == ["hello", "you"])
        #expect(
            TerminalError.refused(underlying: CBError(.notConnected)).localizedDescription.hasSuffix("not connected."))
    }

    @Test("An update runs through its states, and what is sent is the image")
    func firmware() {
        let image = Data((0..<300).map { UInt8(truncatingIfNeeded: $0) })
        var machine = FirmwareUpdate.Machine(image: image, pageSize: 256)
        #expect(machine.begin() == [.command(Data([1, 0x2C, 1, 0, 0]))])
        #expect(machine.answered(Data([1, 0])) == [.command(Data([2, 0]))])
        var sent = Data()
        var actions = machine.answered(Data([2, 0]))
        while case .data(let page)? = actions.first {
            sent += page
            actions = machine.answered(Data([2, 0]))
        }
        #expect(sent == image && machine.state == .verifying)
        #expect(machine.answered(Data([3, 0])) == [.command(Data([4]))])
        machine.disconnected(CBError(.peripheralDisconnected))
        #expect(machine.state == .done && machine.progress == 1)
    }

    @Test("An update that the board refuses, and one whose link goes")
    func firmwareFails() {
        var refused = FirmwareUpdate.Machine(image: Data([1]))
        _ = refused.begin()
        #expect(refused.answered(Data([1, 9])) == [.command(Data([5])), .finish])
        #expect(refused.state == .failed("the board says 9") && refused.state.isOver)
        var lost = FirmwareUpdate.Machine(image: Data([1]))
        _ = lost.begin()
        lost.disconnected(CBError(.connectionTimeout))
        #expect(lost.state == .failed("The connection has timed out unexpectedly."))
    }

    @Test("Messages of a chat come whole out of pieces of any size, and once", arguments: [1, 7, 500])
    func chat(size: Int) throws {
        let room = ChatRoom(name: "Ada")
        var heard: [String] = []
        room.onMessage = { heard.append($0.text) }
        let date = Date(timeIntervalSince1970: 1_700_000_000)
        let messages = ["Hello", "Привет"].map { ChatMessage(sender: "Bo", text: $0, date: date) }
        let octets = try messages.map(ChatFraming.frame).reduce(Data(), +)
        var framing = ChatFraming()
        for chunk in Chunks(octets, size: size) { room.accept(framing.append(chunk)) }
        room.accept(messages[0])
        try room.say("Bye", at: date)
        #expect(heard == ["Hello", "Привет", "Bye"])
        #expect(room.messages.prefix(2) == messages[...])
    }

    @Test("A file's header and a channel's number are read as they were written")
    func file() throws {
        let header = FileHeader(name: "a.txt", length: 70_000)
        let (decoded, rest) = try #require(FileHeader.decode(header.encoded + Data([1, 2])))
        #expect(decoded == header && rest == Data([1, 2]))
        #expect(FileHeader.decode(header.encoded.dropLast()) == nil)
        #expect(FileClient.psm(in: FileServer.value(of: 0x80)) == 0x80)
        #expect(FileClient.psm(in: Data([1])) == nil && FileClient.psm(in: nil) == nil)
        #expect(FileServer().psm == nil)
    }

    @Test("Commands run one after the other, are tried again when the peer is busy, and end when all is cancelled")
    func commands() {
        let queue = CommandQueue()
        var performed: [CommandQueue.Operation] = []
        var ends: [String] = []
        queue.perform = {
            performed.append($0)
            return $0 != .wait("nobody")
        }
        let (read, write) = (
            CommandQueue.Operation.read(.batteryLevel), CommandQueue.Operation.write(.batteryLevel, Data())
        )
        queue.enqueue(read) { ends.append("\($0)") }
        queue.enqueue(write) { if case .failure(let error) = $0 { ends.append(error.localizedDescription) } }
        queue.enqueue(.wait("nobody")) { if case .failure(let error) = $0 { ends.append("\(error)") } }
        #expect(performed == [read] && queue.count == 3)
        queue.finish(read, with: .failure(CBATTError(.insufficientResources)))
        #expect(performed == [read, read], "a busy peer is asked again")
        queue.finish(read, with: .success(nil))
        #expect(queue.current == write)
        queue.finish(write, with: .failure(CBATTError(.writeNotPermitted)))
        #expect(ends.count == 3 && ends.last == "cancelled" && queue.count == 0)
        queue.enqueue(read)
        queue.cancelAll()
        #expect(queue.count == 0)
    }
}
