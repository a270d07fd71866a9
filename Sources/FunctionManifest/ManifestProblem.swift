import DocumentModel

/// Why a manifest can't be served: which function or param, what is wrong, and what would be valid.
package struct ManifestProblem: Error, Equatable, CustomStringConvertible {
    private var subject: String
    package var reason: String

    package init(function: String, reason: String) {
        subject = "function \"\(function)\""
        self.reason = reason
    }

    package init(param: String, reason: String) {
        subject = "param \"\(param)\""
        self.reason = reason
    }

    package var description: String { "\(subject): \(reason)" }
}

extension Manifest {
    /// All problems of the manifest, by function; empty if it can be served.
    ///
    /// The bundle checks itself at startup. The host checks every manifest again, because it doesn't trust bundles.
    package var problems: [ManifestProblem] {
        var names: Set<String> = []
        var moments: Set<TriggerManifest.BlockingTrigger.Moment> = []
        return functions.flatMap { function in
            var reasons = function.problems
            if !names.insert(function.name).inserted {
                reasons.insert("two functions have this name; rename one", at: 0)
            }
            if case .blocking(let trigger) = function.trigger, !moments.insert(trigger.moment).inserted {
                reasons.append("another function runs at \(trigger.moment.rawValue) too; a project has one")
            }
            return reasons.map { ManifestProblem(function: function.name, reason: $0) }
        } + paramProblems
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
        require(!regions.isEmpty, "it has no region; omit the option for us-central1")
        for region in regions {
            require(
                Self.isValidRegion(region),
                "\"\(region)\" isn't a valid region; it has lower-case letters, digits and \"-\", such as europe-west1")
        }
        require(
            Self.memorySizes.contains(memoryMiB),
            "memory is \(memoryMiB) MiB; it must be 128, 256 or 512 MiB, or 1, 2, 4, 8, 16 or 32 GiB")
        require(
            (1...trigger.maxTimeoutSeconds).contains(timeoutSeconds),
            "the timeout is \(timeoutSeconds) s; for \(trigger.kindName) it must be 1 to \(trigger.maxTimeoutSeconds) s"
        )
        require(cpu > 0 && cpu <= 8, "cpu is \(cpu); it must be more than 0 and at most 8")
        require((1...1000).contains(concurrency), "concurrency is \(concurrency); it must be 1 to 1000")
        require(
            cpu >= 1 || concurrency == 1, "concurrency is \(concurrency) with less than one cpu; it must be 1")
        require((0...1000).contains(minInstances), "minInstances is \(minInstances); it must be 0 to 1000")
        require((1...1000).contains(maxInstances), "maxInstances is \(maxInstances); it must be 1 to 1000")
        require(
            minInstances <= maxInstances, "minInstances is \(minInstances), more than maxInstances, \(maxInstances)")
        problems += rateLimitProblems
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
        case .reference: "a trigger of the Realtime Database"
        case .schedule: "a scheduled job"
        case .task: "a task queue"
        case .event: "an event function"
        case .blocking: "a blocking function"
        }
    }

    package var maxTimeoutSeconds: Int {
        switch self {
        case .callable, .http: 3600
        case .document, .reference, .event: 540
        case .schedule, .task: 1800
        case .blocking: 7
        }
    }

    var problems: [String] {
        switch self {
        case .callable(let trigger):
            if let seconds = trigger.heartbeatSeconds, !(1...3600).contains(seconds) {
                return ["heartbeat is \(seconds) s; it must be 1 to 3600 s, or nil for none"]
            }
            return []
        case .http, .blocking:
            return []
        case .document(let trigger):
            var problems = trigger.retry?.problems ?? []
            do { _ = try DocumentPattern(trigger.document) } catch { problems.append(error.description) }
            return problems
        case .reference(let trigger):
            var problems = trigger.retry?.problems ?? []
            do { _ = try ReferencePattern(trigger.reference) } catch { problems.append(error.description) }
            do { _ = try InstancePattern(trigger.instance) } catch { problems.append(error.description) }
            return problems
        case .schedule(let trigger):
            var problems: [String] = []
            do { _ = try Schedule(trigger.schedule) } catch {
                problems.append("the schedule \"\(trigger.schedule)\" is invalid: \(error)")
            }
            if !(0...5).contains(trigger.retryCount) {
                problems.append("retry count is \(trigger.retryCount); it must be 0 to 5")
            }
            if trigger.minBackoffSeconds > trigger.maxBackoffSeconds || trigger.minBackoffSeconds < 0 {
                problems.append("the backoff goes from \(trigger.minBackoffSeconds) to \(trigger.maxBackoffSeconds) s")
            }
            if trigger.maxRetrySeconds < 0 { problems.append("maxRetrySeconds is \(trigger.maxRetrySeconds)") }
            if !(0...16).contains(trigger.maxDoublings) {
                problems.append("maxDoublings is \(trigger.maxDoublings); it must be 0 to 16")
            }
            if case .all(let max) = trigger.missedRuns, !(1...1000).contains(max) {
                problems.append("the maximum of missed runs is \(max); it must be 1 to 1000")
            }
            return problems
        case .task(let trigger):
            var problems: [String] = []
            if trigger.maxAttempts != -1, !(1...10_000).contains(trigger.maxAttempts) {
                problems.append("maxAttempts is \(trigger.maxAttempts); it must be 1 to 10000, or -1 for no limit")
            }
            if trigger.maxRetrySeconds < 0 { problems.append("maxRetrySeconds is \(trigger.maxRetrySeconds)") }
            problems += backoffProblems(trigger.minBackoffSeconds, trigger.maxBackoffSeconds)
            if !(0...64).contains(trigger.maxDoublings) {
                problems.append("maxDoublings is \(trigger.maxDoublings); it must be 0 to 64")
            }
            if !(1...5000).contains(trigger.maxConcurrentDispatches) {
                problems.append("maxConcurrentDispatches is \(trigger.maxConcurrentDispatches); it must be 1 to 5000")
            }
            if !(trigger.maxDispatchesPerSecond > 0 && trigger.maxDispatchesPerSecond <= 500) {
                problems.append(
                    "maxDispatchesPerSecond is \(trigger.maxDispatchesPerSecond); it must be more than 0 and at most 500"
                )
            }
            return problems
        case .event(let trigger):
            var problems = trigger.retry?.problems ?? []
            if trigger.eventType.allSatisfy(\.isWhitespace) { problems.append("the event type is empty") }
            for name in trigger.filters.keys.sorted() {
                if !CloudEvent.isAttributeName(name) {
                    problems.append(
                        "\"\(name)\" isn't a valid event attribute; names consist of lower-case letters and digits")
                } else if ["type", "id", "time", "data", "specversion"].contains(name) {
                    problems.append("events can't be filtered by \(name); use source, subject or extensions")
                }
            }
            if trigger.eventType == PubSubMessage.eventType, let topic = trigger.filters[PubSubMessage.topicAttribute],
                !PubSubMessage.isTopicName(topic)
            {
                problems.append(
                    "\"\(topic)\" isn't a valid topic name; it starts with a letter and has 3 to 255 letters, digits and -._~+%"
                )
            }
            return problems
        }
    }
}

/// Refuses delays over a week, which are a mistake, and values that aren't numbers.
private func backoffProblems(_ min: Double, _ max: Double) -> [String] {
    guard min >= 0, min <= max, max <= 604_800 else {
        return ["the backoff goes from \(min) to \(max) s; it must increase, within 0 s to 7 days"]
    }
    return []
}

extension EventRetryManifest {
    var problems: [String] {
        var problems = backoffProblems(minBackoffSeconds, maxBackoffSeconds)
        if !(1...604_800).contains(maxAgeSeconds) {
            problems.append("the maximum age for retries is \(maxAgeSeconds) s; it must be 1 s to 7 days")
        }
        if let maxAttempts, maxAttempts < 1 { problems.append("maxAttempts is \(maxAttempts); it must be at least 1") }
        return problems
    }
}
