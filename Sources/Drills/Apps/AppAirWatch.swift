/// What the captures of the radio say of a program's adapter and of its peer's.
final class AppAirWatch {
    private let follower: CaptureFollower
    private var readers: [Int: CaptureReader] = [:]
    private var adapters: [Int: Int] = [:]
    private var links: [Int: Set<UInt16>] = [:]
    /// Which adapters' hosts have come up, by the number of their latest controller.
    private var broughtUp: [Int: Int] = [:]
    private(set) var packets: [(controller: Int, packet: CapturePacket)] = []

    init(directory: String) { follower = CaptureFollower(directory: directory) }

    var damage: [String] { follower.damage }

    /// What has happened on the adapter with this number since, and when.
    func poll(_ adapter: Int) -> [(at: UInt64, event: AppAir)] {
        var events: [(at: UInt64, event: AppAir)] = []
        for (controller, packet) in follower.poll() {
            packets.append((controller, packet))
            guard let event = readers[controller, default: CaptureReader()].read(packet) else { continue }
            switch event {
            case .publicAddress(let address):
                let known = 1...AppHouse.adapters
                adapters[controller] = known.first { RadioAdapter(number: $0).address == address }
            case .broughtUp: if let adapter = adapters[controller] { broughtUp[adapter] = controller }
            case .linkUp(let handle, _, _): links[controller, default: []].insert(handle)
            case .linkDown(let handle): links[controller]?.remove(handle)
            default: break
            }
            guard adapters[controller] == adapter, let told = AppAir(event) else { continue }
            events.append((packet.unixMicroseconds &* 1000 &- Clock.unixOffsetNanoseconds, told))
        }
        return events.sorted { $0.at < $1.at }
    }

    func isUp(_ adapter: Int) -> Bool { broughtUp[adapter] != nil }

    /// Whether the adapter's present controller has a link.
    func hasLink(_ adapter: Int) -> Bool {
        guard let latest = adapters.filter({ $0.value == adapter }).keys.max() else { return false }
        return links[latest]?.isEmpty == false
    }
}
