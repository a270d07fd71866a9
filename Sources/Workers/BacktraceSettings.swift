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

    /// The settings of a process.
    ///
    /// - Parameter given: settings as in the variable, such as `threads=all,limit=64`. They are kept, except for those
    ///   that must not differ.
    static func merged(with given: String?) -> String {
        var settings: [(name: String, value: String)] = []
        for setting in (given ?? "").split(separator: ",") {
            let parts = setting.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let name = parts.first?.lowercased(), !name.isEmpty, name != "memory",
                !fixed.contains(where: { $0.0 == name })
            else { continue }
            settings.append((name, String(parts[1])))
        }
        settings += usual.filter { usual in !settings.contains { $0.name == usual.0 } }.map { ($0.0, $0.1) }
        settings += fixed.map { ($0.0, $0.1) }
        return settings.map { "\($0.name)=\($0.value)" }.joined(separator: ",")
    }
}
