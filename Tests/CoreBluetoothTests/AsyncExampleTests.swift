import CoreBluetooth
import Testing

@testable import CoreBluetooth

@Suite("The page's example of awaited calls")
struct AsyncExampleTests {
    @Test("it hears values, on the next link too when one is lost, until its task is cancelled")
    func runs() async throws {
        let scene = try await AsyncScene()
        let (measurements, measured) = AsyncStream.makeStream(of: Data.self)
        let (door, visitor) = (scene.door, scene.visitor)
        let measuring = Task { try await measure(door, measurements) }
        let (heard, hears) = AsyncStream.makeStream(of: Data.self)
        let listening = Task { try await listen(visitor) { hears.yield($0) } }
        var values = heard.makeAsyncIterator()
        var subscriptions = door.subscriptions.makeAsyncIterator()
        for value: UInt8 in 1...2 {
            let subscription = try #require(await subscriptions.next())
            #expect(subscription.isSubscribed)
            measured.yield(Data([value]))
            #expect(await values.next() == Data([value]))
            if value == 1 {
                try await scene.doorHost.drop(subscription.central)
                #expect(await subscriptions.next()?.isSubscribed == false)
            }
        }
        listening.cancel()
        try await listening.value
        #expect(await subscriptions.next()?.isSubscribed == false)
        measured.finish()
        try await measuring.value
    }
}
