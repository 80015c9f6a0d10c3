import Glibc

/// What a controller is called when somebody sets its place: by its ordinal, which dies with it, or by an address, which
/// still holds when its host comes back.
enum RadioName: Hashable, Sendable {
    case ordinal(ControllerID)
    case address(UInt64)

    /// Addresses have 48 bits, so ordinals have the rest.
    fileprivate var key: UInt64 {
        switch self {
        case .ordinal(let controller): 1 << 63 | UInt64(controller.ordinal)
        case .address(let value): value
        }
    }
}

/// What lies between each two controllers.
struct Terrain: Sendable {
    /// The most settings kept; the control socket is told when they are used up.
    static let maximumSettings = 4096
    static let defaultMetres = 1.0
    /// The weakest signal that is heard.
    static let sensitivityDBm = -95.0

    private struct Pair: Hashable, Sendable {
        let low: RadioName
        let high: RadioName

        init(_ a: RadioName, _ b: RadioName) {
            low = a.key < b.key ? a : b
            high = a.key < b.key ? b : a
        }
    }

    private struct Setting: Sendable {
        var metres: (value: Double, order: UInt64)?
        var lossFraction: (value: Double, order: UInt64)?
        var isCut: (value: Bool, order: UInt64)?
    }

    private var settings: [Pair: Setting] = [:]
    private var order: UInt64 = 0

    var isEmpty: Bool { settings.isEmpty }
    var isFull: Bool { settings.count >= Self.maximumSettings }

    mutating func setDistance(_ a: RadioName, _ b: RadioName, metres: Double) {
        change(a, b) { $0.metres = (max(metres, 0), $1) }
    }

    mutating func setLoss(_ a: RadioName, _ b: RadioName, percent: Double) {
        change(a, b) { $0.lossFraction = (min(max(percent / 100, 0), 1), $1) }
    }

    mutating func setCut(_ a: RadioName, _ b: RadioName, _ isCut: Bool) { change(a, b) { $0.isCut = (isCut, $1) } }

    /// Forgets what was said of a controller that never comes back under this name.
    mutating func forget(_ name: RadioName) { settings = settings.filter { $0.key.low != name && $0.key.high != name } }

    private mutating func change(_ a: RadioName, _ b: RadioName, _ body: (inout Setting, UInt64) -> Void) {
        let pair = Pair(a, b)
        guard settings[pair] != nil || !isFull else { return }
        order += 1
        body(&settings[pair, default: Setting()], order)
    }

    /// The path between two controllers, each with all the names it goes by. Of several settings the latest counts.
    func path(_ a: [RadioName], _ b: [RadioName]) -> Path {
        guard !settings.isEmpty else { return Path(metres: Self.defaultMetres, lossFraction: 0, isCut: false) }
        var found = Setting()
        for one in a {
            for other in b {
                guard let setting = settings[Pair(one, other)] else { continue }
                if let new = setting.metres, new.order > found.metres?.order ?? 0 { found.metres = new }
                if let new = setting.lossFraction, new.order > found.lossFraction?.order ?? 0 {
                    found.lossFraction = new
                }
                if let new = setting.isCut, new.order > found.isCut?.order ?? 0 { found.isCut = new }
            }
        }
        return Path(
            metres: found.metres?.value ?? Self.defaultMetres, lossFraction: found.lossFraction?.value ?? 0,
            isCut: found.isCut?.value ?? false)
    }
}

/// What a signal meets on its way.
struct Path: Hashable, Sendable {
    let lossFraction: Double
    let isReachable: Bool
    let rssi: Int8

    init(metres: Double, lossFraction: Double, isCut: Bool) {
        let dBm = Self.receivedDBm(metres: metres)
        self.lossFraction = lossFraction
        self.isReachable = !isCut && lossFraction < 1 && dBm >= Terrain.sensitivityDBm
        self.rssi = Int8(min(max(dBm.rounded(), -127), 20))
    }

    /// Log-distance path loss with the exponent of a cluttered room, from -50 dBm at 1 m.
    static func receivedDBm(metres: Double) -> Double {
        let exponent = 2.5
        return -50 - 10 * exponent * log10(max(metres, 0.1))
    }
}
