import Foundation

/// A measured number with the unit it is shown in.
enum Quantity: Sendable {
    /// All times are in seconds.
    case microseconds(Double)
    case milliseconds(Double)
    case perSecond(Double)
    case bytes(Int)
    case count(Int)
    /// A part of a whole.
    case share(Double)

    var number: Double {
        switch self {
        case .microseconds(let number), .milliseconds(let number), .perSecond(let number), .share(let number): number
        case .bytes(let count), .count(let count): Double(count)
        }
    }

    var text: String {
        switch self {
        case .microseconds(let seconds): String(format: "%.1f µs", seconds * 1e6)
        case .milliseconds(let seconds): String(format: "%.2f ms", seconds * 1e3)
        case .share(let part): String(format: "%.3f", part)
        case .count(let count): String(count)
        case .perSecond(let rate): String(format: "%.0f /s", rate)
        case .bytes(let count) where count < 1_000_000: String(format: "%.1f kB", Double(count) / 1e3)
        case .bytes(let count): String(format: "%.1f MB", Double(count) / 1e6)
        }
    }
}
