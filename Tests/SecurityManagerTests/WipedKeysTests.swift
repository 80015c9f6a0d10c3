import BluetoothCrypto
import Glibc
import Testing

@testable import SecurityManager

/// Where an octet pattern stands in this process's memory. What is compared is masked, so that the search itself keeps no copy.
private struct MemorySearch {
    private static let mask: UInt8 = 0xA5
    private static let chunkOctets = 1 << 20
    /// A sanitizer reserves terabytes beside what the process has.
    private static let rangeMaximumOctets: UInt = 1 << 30
    private let masked: [UInt8]

    init(masking octets: Span<UInt8>) {
        var masked: [UInt8] = []
        masked.reserveCapacity(octets.count)
        for index in octets.indices { masked.append(octets[index] ^ Self.mask) }
        self.masked = masked
    }

    /// In all private memory that can be written.
    func count() throws -> Int {
        let memory = open("/proc/self/mem", O_RDONLY)
        try #require(memory >= 0)
        defer { close(memory) }
        let chunk = UnsafeMutableRawPointer.allocate(byteCount: Self.chunkOctets, alignment: 16)
        defer {
            memset(chunk, 0, Self.chunkOctets)
            chunk.deallocate()
        }
        let own = UInt(bitPattern: chunk)..<UInt(bitPattern: chunk) + UInt(Self.chunkOctets)
        var found = 0
        for range in try Self.ranges() {
            var begin = range.lowerBound
            while begin < range.upperBound {
                let octets = min(Self.chunkOctets, Int(range.upperBound - begin))
                let read = pread(memory, chunk, octets, off_t(begin))
                guard read > masked.count else { break }
                found += places(in: UnsafeRawBufferPointer(start: chunk, count: read)) { place in
                    !own.contains(begin + UInt(place))
                }
                begin += read < octets ? UInt(read) : UInt(max(1, read - masked.count))
                if read < octets || begin + UInt(masked.count) >= range.upperBound { break }
            }
        }
        return found
    }

    private func places(in buffer: UnsafeRawBufferPointer, where counts: (Int) -> Bool) -> Int {
        guard let base = buffer.baseAddress else { return 0 }
        var (found, start) = (0, 0)
        let first = Int32(masked[0] ^ Self.mask)
        while start <= buffer.count - masked.count,
            let next = memchr(base + start, first, buffer.count - masked.count + 1 - start)
        {
            let place = next - UnsafeMutableRawPointer(mutating: base)
            start = place + 1
            guard counts(place), masked.indices.allSatisfy({ buffer[place + $0] ^ Self.mask == masked[$0] }) else {
                continue
            }
            found += 1
        }
        return found
    }

    private static func ranges() throws -> [Range<UInt>] {
        let maps = try #require(fopen("/proc/self/maps", "r"))
        defer { fclose(maps) }
        var found: [Range<UInt>] = []
        var line = [CChar](repeating: 0, count: 4_096)
        while fgets(&line, Int32(line.count), maps) != nil {
            let words = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
                .split(whereSeparator: \.isWhitespace)
            guard words.count > 1, words[1].hasPrefix("rw-p"), words.last != "[vvar]" else { continue }
            let ends = words[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
            guard ends.count == 2, ends[1] - ends[0] <= rangeMaximumOctets else { continue }
            found.append(ends[0]..<ends[1])
        }
        return found
    }
}

@Suite("Key octets that have gone")
struct WipedKeysTests {
    @Test("A pairing's signing key stands in memory once while it lives, and nowhere afterwards")
    func signingKey() throws {
        var octets = SystemRandom.bytes(PairingMaterial.randomOctets)
        let search = MemorySearch(masking: octets.span.extracting(320..<336))
        let keyPair = P256KeyPair.generate()
        var material = PairingMaterial(keyPair: keyPair, random: Secret(wiping: &octets))
        #expect(octets.allSatisfy { $0 == 0 })
        #expect(try material != nil && search.count() == 1)
        material = nil
        #expect(try search.count() == 0)
    }

    @Test("Parts, numbers and shortened keys are what they are of")
    func cut() {
        let key = Secret(0x0102_0304_0506_0708_090A_0B0C_0D0E_0F10 as UInt128)
        #expect(key == Secret(Array(1...16)))
        #expect(
            key.part(4..<7) == Secret([5, 6, 7]) && key.part(0..<16) == key && key.part(3..<3).count == 0
                && key.part(14..<99) == Secret([15, 16]))
        #expect(key.shortened(to: 16) == key && key.shortened(to: 20) == key)
        #expect(key.shortened(to: 7) == Secret([UInt8](repeating: 0, count: 9) + Array(10...16)))
    }
}
