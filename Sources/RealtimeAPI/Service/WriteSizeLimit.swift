/// How large a write may be, told as the time that its commit may take.
package enum WriteSizeLimit: String, CaseIterable, Sendable {
    case tiny, small, medium, large, unlimited

    /// Nil for no bound.
    package var seconds: Int? {
        switch self {
        case .tiny: 1
        case .small: 10
        case .medium: 30
        case .large: 60
        case .unlimited: nil
        }
    }

    /// What it must be, for those who wrote something else.
    static let names = "tiny, small, medium, large or unlimited"
}
