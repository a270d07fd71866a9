/// The time that one listener's refills have taken on the listeners' thread.
struct RefillTime {
    private static let span: Duration = .seconds(60)

    private var start: Duration = .zero
    private var spent: Duration = .zero

    /// Whether the listener may read again: its refills within the current minute took less than the limit.
    mutating func isBelow(_ limit: Duration, at now: Duration) -> Bool {
        if now - start >= Self.span { (start, spent) = (now, .zero) }
        return spent < limit
    }

    mutating func spend(_ time: Duration) { spent += time }
}
