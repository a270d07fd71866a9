import HostConfiguration
import WorkerProtocol
import Workers

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

extension WorkerLaunch {
    /// A worker's environment variables. Of the host's own environment it contains only what programs need to run.
    static func environment(
        _ configuration: HostConfiguration, function: String?, release: String
    ) -> [String: String] {
        var environment = [
            "GCLOUD_PROJECT": configuration.project,
            "GOOGLE_CLOUD_PROJECT": configuration.project,
            "K_REVISION": release,
            "TZ": "UTC",
            WorkerEnvironment.logLevelVariable: configuration.logs.level.rawValue,
        ]
        if let function {
            environment["K_SERVICE"] = function
            environment["FUNCTION_TARGET"] = function
        }
        if configuration.mode == .development { environment["FUNCTIONS_EMULATOR"] = "true" }
        let inherited = [
            "PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "SSL_CERT_FILE", "SWIFT_BACKTRACE",
        ]
        for name in inherited {
            if let value = getenv(name) { environment[name] = String(cString: value) }
        }
        return environment
    }
}
