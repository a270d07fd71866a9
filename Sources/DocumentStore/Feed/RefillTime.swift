/// Whose refills of windows count together.
enum Refiller: Hashable {
    case client(UInt64)
    case listener(UInt64)
}

/// The time that refills have taken on the listeners' thread within the current minute.
struct RefillTimes {
    private static let span: Duration = .seconds(60)

    private var start: Duration = .zero
    private var spent: [Refiller: Duration] = [:]

    /// What is left of a limit.
    mutating func left(of limit: Duration, for refiller: Refiller, at now: Duration) -> Duration {
        if now - start >= Self.span { (start, spent) = (now, [:]) }
        return limit - (spent[refiller] ?? .zero)
    }

    mutating func spend(_ time: Duration, for refiller: Refiller) { spent[refiller, default: .zero] += time }
}
