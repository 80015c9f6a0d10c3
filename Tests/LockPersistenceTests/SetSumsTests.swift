import Testing

@testable import LockPersistence

@Suite("The sums of a set")
struct SetSumsTests {
    @Test("The parts' ranges follow one another and hold every number")
    func ranges() {
        var next = Int64.min
        for part in 0..<SetSums.credentialPartsCount {
            let ids = SetSums.credentials(of: part)
            #expect(ids.lowerBound == next)
            for id in [ids.lowerBound, ids.upperBound] { #expect(SetSums.part(of: id) == part) }
            next = ids.upperBound &+ 1
        }
        #expect(next == .min)
        #expect(SetSums.part(of: -1) == 0)
        #expect(SetSums.part(of: 0) == 0)
    }

    @Test("Octets and back; one more or fewer are none")
    func octets() {
        var sums = SetSums()
        for part in 0..<SetSums.partsCount { sums[part] = UInt128.max - UInt128(part) }
        #expect(SetSums(octets: sums.octets) == sums)
        #expect(SetSums(octets: sums.octets + [0]) == nil)
        #expect(SetSums(octets: sums.octets.dropLast()) == nil)
        #expect((sums &+ sums)[1] == UInt128.max - 3)
    }
}
