/// What makes a manifest impossible to serve: which function, what, and what would be right.
package struct ManifestProblem: Error, Equatable, CustomStringConvertible {
    package var function: String
    package var reason: String

    package init(function: String, reason: String) {
        self.function = function
        self.reason = reason
    }

    package var description: String { "function \"\(function)\": \(reason)" }
}

extension Manifest {
    /// Everything that is wrong with the manifest, function by function; empty where it can be served.
    ///
    /// The bundle checks itself when it starts, and the host checks what it is told: it trusts no bundle.
    package var problems: [ManifestProblem] {
        var names: Set<String> = []
        return functions.flatMap { function in
            var reasons = function.problems
            if !names.insert(function.name).inserted {
                reasons.insert("there are two of this name; rename one", at: 0)
            }
            return reasons.map { ManifestProblem(function: function.name, reason: $0) }
        }
    }
}

extension FunctionManifest {
    package static let memorySizes = [128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768]

    package var problems: [String] {
        var problems: [String] = []
        func require(_ holds: Bool, _ reason: @autoclosure () -> String) {
            if !holds { problems.append(reason()) }
        }
        require(
            Self.isValidName(name),
            "the name must start with a letter and have at most 63 letters, digits, \"_\" or \"-\"")
        require(!regions.isEmpty, "it has no region; leave the option out for us-central1")
        for region in regions {
            require(
                Self.isValidRegion(region),
                "\"\(region)\" is no region; it has lower-case letters, digits and \"-\", such as europe-west1")
        }
        require(
            Self.memorySizes.contains(memoryMiB),
            "memory is \(memoryMiB) MiB; possible are 128, 256 and 512 MiB, 1, 2, 4, 8, 16 and 32 GiB")
        require(
            (1...trigger.maxTimeoutSeconds).contains(timeoutSeconds),
            "the timeout is \(timeoutSeconds) s; for \(trigger.kindName) it is 1 to \(trigger.maxTimeoutSeconds) s")
        require(cpu > 0 && cpu <= 8, "cpu is \(cpu); it is more than 0 and at most 8")
        require((1...1000).contains(concurrency), "concurrency is \(concurrency); it is 1 to 1000")
        require(
            cpu >= 1 || concurrency == 1, "concurrency is \(concurrency) with less than one cpu; it must be 1 there")
        require((0...1000).contains(minInstances), "minInstances is \(minInstances); it is 0 to 1000")
        require((1...1000).contains(maxInstances), "maxInstances is \(maxInstances); it is 1 to 1000")
        require(
            minInstances <= maxInstances, "minInstances is \(minInstances), more than maxInstances, \(maxInstances)")
        problems += trigger.problems
        return problems
    }

    package static func isValidName(_ name: String) -> Bool {
        guard let first = name.utf8.first, isLetter(first), name.utf8.count <= 63 else { return false }
        return name.utf8.allSatisfy {
            isLetter($0) || isDigit($0) || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-")
        }
    }

    private static func isValidRegion(_ region: String) -> Bool {
        !region.isEmpty && region.utf8.count <= 63
            && region.utf8.allSatisfy { (97...122).contains($0) || isDigit($0) || $0 == UInt8(ascii: "-") }
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (65...90).contains(byte) || (97...122).contains(byte) }
    private static func isDigit(_ byte: UInt8) -> Bool { (48...57).contains(byte) }
}

extension TriggerManifest {
    package var kindName: String {
        switch self {
        case .callable: "a callable"
        case .http: "an HTTP function"
        case .document: "a document trigger"
        case .schedule: "a scheduled job"
        }
    }

    var maxTimeoutSeconds: Int {
        switch self {
        case .callable, .http: 3600
        case .document: 540
        case .schedule: 1800
        }
    }

    var problems: [String] {
        switch self {
        case .callable(let trigger):
            if let seconds = trigger.heartbeatSeconds, !(1...3600).contains(seconds) {
                return ["heartbeat is \(seconds) s; it is 1 to 3600 s, or nil for none"]
            }
            return []
        case .http:
            return []
        case .document(let trigger):
            return DocumentPattern.problem(trigger.document).map { [$0] } ?? []
        case .schedule(let trigger):
            var problems: [String] = []
            if trigger.schedule.allSatisfy(\.isWhitespace) { problems.append("the schedule is empty") }
            if !(0...5).contains(trigger.retryCount) {
                problems.append("retry count is \(trigger.retryCount); it is 0 to 5")
            }
            if trigger.minBackoffSeconds > trigger.maxBackoffSeconds || trigger.minBackoffSeconds < 0 {
                problems.append("the backoff goes from \(trigger.minBackoffSeconds) to \(trigger.maxBackoffSeconds) s")
            }
            return problems
        }
    }
}

/// What a document trigger's pattern may look like.
enum DocumentPattern {
    /// Why this is no pattern; nil where it is one.
    static func problem(_ pattern: String) -> String? {
        let segments = pattern.split(separator: "/", omittingEmptySubsequences: false)
        guard !pattern.isEmpty, !segments.contains(where: \.isEmpty) else {
            return "the pattern \"\(pattern)\" has an empty segment; write users/{userID}"
        }
        var names: Set<Substring> = []
        var manyCount = 0
        for segment in segments {
            if segment == "**" || segment.hasSuffix("=**}") { manyCount += 1 }
            guard segment.contains("{") || segment.contains("}") else { continue }
            let inner = segment.dropFirst().dropLast()
            let name = inner.hasSuffix("=**") ? inner.dropLast(3) : inner.hasSuffix("=*") ? inner.dropLast(2) : inner
            guard segment.hasPrefix("{"), segment.hasSuffix("}"), !name.isEmpty,
                name.utf8.allSatisfy({
                    (48...57).contains($0) || (65...90).contains($0) || (97...122).contains($0) || $0 == 95
                })
            else { return "the segment \"\(segment)\" of \"\(pattern)\" is no wildcard; write {name} or {name=**}" }
            guard names.insert(name).inserted else { return "the pattern \"\(pattern)\" captures {\(name)} twice" }
        }
        guard manyCount <= 1 else { return "the pattern \"\(pattern)\" has more than one ** wildcard" }
        guard manyCount == 1 || segments.count % 2 == 0 else {
            return "the pattern \"\(pattern)\" names a collection; a document's has an even number of segments"
        }
        return nil
    }
}
