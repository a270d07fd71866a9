/// What reading again for one listener takes of the thread that all share.
struct RefillTime {
    private static let span: Duration = .seconds(60)

    private var start: Duration = .zero
    private var spent: Duration = .zero

    /// Whether it may read again: what it took within a minute is below a limit.
    mutating func isBelow(_ limit: Duration, at now: Duration) -> Bool {
        if now - start >= Self.span { (start, spent) = (now, .zero) }
        return spent < limit
    }

    mutating func spend(_ time: Duration) { spent += time }
}
