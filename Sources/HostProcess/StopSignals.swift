import CFunctionsSystem
package import UnixSignals

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The signals that begin a graceful shutdown.
package enum StopSignals {
    /// SIGTERM, SIGINT, and SIGHUP, which is sent when a terminal is closed. A process that was started to ignore SIGHUP,
    /// as by `nohup`, still does: a handler would undo that. First used before any of them is handled.
    package static let all: [UnixSignal] =
        functions_ignores_signal(SIGHUP) != 0 ? [.sigterm, .sigint] : [.sigterm, .sigint, .sighup]
}
