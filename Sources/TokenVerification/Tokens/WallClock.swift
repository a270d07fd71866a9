#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Tells the time of day, in whole seconds since 1970. Tests bring their own.
package typealias WallClock = @Sendable () -> Int64

/// The machine's time of day.
package let systemWallClock: WallClock = { Int64(Date().timeIntervalSince1970) }
