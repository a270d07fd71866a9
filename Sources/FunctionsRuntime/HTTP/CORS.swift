package import FunctionManifest

/// Which web origins may call a function from a browser.
public struct CORS: Sendable, Hashable {
    package let policy: CORSPolicy

    /// No cross-origin access.
    public static let off = CORS(policy: .off)

    /// Every origin.
    public static let any = CORS(policy: .any)

    /// These origins, each as a browser sends it: `https://shop.example`. An empty list is the same as ``off``.
    public static func origins(_ origins: String...) -> CORS {
        CORS(policy: origins.isEmpty ? .off : .origins(origins))
    }

    public static func == (a: CORS, b: CORS) -> Bool { a.policy == b.policy }

    public func hash(into hasher: inout Hasher) {
        if case .origins(let origins) = policy { hasher.combine(origins) }
    }
}
