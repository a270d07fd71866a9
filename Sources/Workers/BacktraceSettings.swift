import Foundation

/// How a worker's process prints its backtrace when it crashes: the value of `SWIFT_BACKTRACE`.
enum BacktraceSettings {
    static let variable = "SWIFT_BACKTRACE"

    /// What is printed unless the operator or the author says otherwise: the frames of the thread that crashed.
    private static let usual = [
        ("enable", "yes"), ("threads", "crashed"), ("limit", "32"), ("symbolicate", "fast"),
    ]
    /// Registers and memory may hold secrets and data of requests, and are also part of the format in JSON.
    /// Standard error is a pipe, and ``CrashReport`` reads plain text.
    private static let fixed = [
        ("interactive", "no"), ("color", "no"), ("format", "text"), ("registers", "none"), ("images", "none"),
    ]

    /// The program that prints backtraces, which a worker with Swift's libraries in it doesn't find by itself: beside the host's
    /// own, or in a toolchain. Nil if there is none, or the worker's runtime finds it.
    static let program: String? = {
        #if os(Linux)
            let own = Bundle.main.executablePath.map { ($0 as NSString).deletingLastPathComponent }
            let paths = ProcessInfo.processInfo.environment["PATH"]?.split(separator: ":") ?? []
            let toolchains = paths.compactMap { path -> String? in
                guard let swift = realpath("\(path)/swift", nil) else { return nil }
                defer { free(swift) }
                return ((String(cString: swift) as NSString).deletingLastPathComponent as NSString)
                    .deletingLastPathComponent
            }
            let directories = [own].compactMap(\.self) + (toolchains + ["/usr"]).map { $0 + "/libexec/swift/linux" }
            let files = directories.flatMap { [$0 + "/swift-backtrace-static", $0 + "/swift-backtrace"] }
            return files.first { !$0.contains(",") && FileManager.default.isExecutableFile(atPath: $0) }
        #else
            return nil
        #endif
    }()

    /// The settings of a process.
    ///
    /// - Parameter given: settings as in the variable, such as `threads=all,limit=64`. They are kept, except for those
    ///   that must not differ.
    static func merged(with given: String?, program: String? = program) -> String {
        var settings: [(name: String, value: String)] = []
        for setting in (given ?? "").split(separator: ",") {
            let parts = setting.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let name = parts.first?.lowercased(), !name.isEmpty, name != "memory",
                !fixed.contains(where: { $0.0 == name })
            else { continue }
            settings.append((name, String(parts[1])))
        }
        // Without the program, the runtime would say so at each start.
        let found = program.map { ("swift-backtrace", $0) } ?? ("warnings", "suppressed")
        settings += (usual + [found]).filter { usual in !settings.contains { $0.name == usual.0 } }.map { ($0.0, $0.1) }
        settings += fixed.map { ($0.0, $0.1) }
        return settings.map { "\($0.name)=\($0.value)" }.joined(separator: ",")
    }
}
