import TextFormats

/// The resource that a URL path on the events port names.
struct EventRESTPath: Hashable, Sendable {
    enum Target: Hashable, Sendable {
        /// `/[v2/]projects/P/locations/L/queues/Q/tasks`
        case tasks(TaskQueuePath)
        /// `/[v2/]projects/P/locations/L/queues/Q/tasks/ID`
        case task(TaskQueuePath, id: String)
        /// `/projects/P/events`
        case events
        /// `/[v1/]projects/P/locations/L/channels/C:publishEvents`
        case channel
        /// `/v1/projects/P/topics/T:publish`
        case topic(String)
    }

    var project: String
    var target: Target
    /// Whether the path begins with a version: Google Cloud's paths do, the emulators' don't.
    var hasVersion: Bool

    /// - Returns: nil if the path names no such resource.
    init?(_ path: String) {
        var parts: [String] = []
        for part in path.split(separator: "/", omittingEmptySubsequences: false).dropFirst() {
            // A decoded slash would split one name in two.
            guard let text = PercentEncoding.decoded(part), !text.isEmpty, !text.utf8.contains(UInt8(ascii: "/")) else {
                return nil
            }
            parts.append(text)
        }
        let version = parts.first == "v1" || parts.first == "v2" ? parts.removeFirst() : nil
        guard parts.count >= 3, parts[0] == "projects" else { return nil }
        project = parts[1]
        hasVersion = version != nil
        let names = Array(parts[2...])
        func verb(_ verb: String) -> String? {
            guard let last = names.last, last.hasSuffix(verb), last.utf8.count > verb.utf8.count else { return nil }
            return String(last.dropLast(verb.count))
        }
        switch names.count {
        case 1 where version == nil && names[0] == "events":
            target = .events
        case 2 where version == "v1" && names[0] == "topics":
            guard let topic = verb(":publish") else { return nil }
            target = .topic(topic)
        case 4 where version != "v2" && names[0] == "locations" && names[2] == "channels":
            guard verb(":publishEvents") != nil else { return nil }
            target = .channel
        case 5 where version != "v1", 6 where version != "v1":
            guard names[0] == "locations", names[2] == "queues", names[4] == "tasks" else { return nil }
            let queue = TaskQueuePath(project: project, location: names[1], queue: names[3])
            target = names.count == 5 ? .tasks(queue) : .task(queue, id: names[5])
        default: return nil
        }
    }
}

/// The resource name of a task queue. The queue has its function's name and is in the function's region.
struct TaskQueuePath: Hashable, Sendable, CustomStringConvertible {
    var project: String
    var location: String
    var queue: String

    var description: String { "projects/\(project)/locations/\(location)/queues/\(queue)" }

    func name(of task: String) -> String { "\(self)/tasks/\(task)" }
}
