import BluetoothCore
import BluetoothCrypto
import Testing

@testable import SecurityManager

/// What a peer can make the resolver remember.
@Suite struct AddressResolverBoundTests {
    private func remembered(_ resolver: AddressResolver) -> [String: Int] {
        Dictionary(
            uniqueKeysWithValues: Mirror(reflecting: resolver).children.compactMap { child in
                guard let label = child.label, ["cache", "cached"].contains(label) else { return nil }
                return (label, Mirror(reflecting: child.value).children.count)
            })
    }

    @Test("Attack: a bonded peer that changes its address without end; one past the bound the oldest is forgotten")
    func rotation() throws {
        let identity = try Fixture.identity(AddressResolutionTests.identity(1))
        var resolver = AddressResolver()
        resolver.insert(AddressResolutionTests.irk(1), of: identity, bond: BondID(1))
        let bound = AddressResolver.cachedAddressesMaximum
        for random in 0..<UInt32(bound) {
            let address = AddressResolutionTests.rpa(AddressResolutionTests.irk(1), random)
            #expect(resolver.resolve(address) == .bonded(identity))
        }
        #expect(remembered(resolver) == ["cache": bound, "cached": bound])
        for random in UInt32(bound)..<UInt32(2 * bound + 1) {
            let address = AddressResolutionTests.rpa(AddressResolutionTests.irk(1), random)
            #expect(resolver.resolve(address) == .bonded(identity))
            #expect(remembered(resolver) == ["cache": bound, "cached": bound])
        }
        let first = AddressResolutionTests.rpa(AddressResolutionTests.irk(1), 0)
        #expect(resolver.resolve(first) == .bonded(identity), "forgotten is not unknown")
    }

    @Test("Attack: addresses that nobody's key makes are not remembered at all")
    func strangers() throws {
        var resolver = AddressResolver()
        resolver.insert(
            AddressResolutionTests.irk(1), of: try Fixture.identity(AddressResolutionTests.identity(1)), bond: BondID(1)
        )
        for random in 0..<UInt32(1_000) {
            #expect(resolver.resolve(AddressResolutionTests.rpa(Fixture.strangerIRK, random)) == .unknown)
        }
        #expect(remembered(resolver) == ["cache": 0, "cached": 0])
    }
}
