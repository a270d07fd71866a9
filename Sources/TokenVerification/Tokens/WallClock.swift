#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Returns the current time in whole seconds since 1970. Tests inject their own.
package typealias WallClock = @Sendable () -> Int64

/// The system clock.
package let systemWallClock: WallClock = { Int64(Date().timeIntervalSince1970) }
