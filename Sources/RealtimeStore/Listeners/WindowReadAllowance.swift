/// What the windows of all queries may look at while all listeners wait. One may take more, and what is beyond is read by the
/// readers, each caller in its turn.
struct WindowReadAllowance {
    private var bytes = Self.most
    private var refilled: Duration = .zero

    private static let most = 2 * 1024 * 1024
    private static let perSecond = 16 * 1024 * 1024
    /// What looking at a window takes at least, as bytes read.
    private static let least = 128

    var isUsedUp: Bool { bytes <= 0 }

    /// Allows more, with the time that has passed.
    mutating func refill(at now: Duration) {
        let passed = (now - refilled) / .seconds(1)
        refilled = now
        bytes = min(Self.most, bytes + Int(max(0, min(passed, 1)) * Double(Self.perSecond)))
    }

    mutating func take(_ read: Int) { bytes -= read + Self.least }
}
