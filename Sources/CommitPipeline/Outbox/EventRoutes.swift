package import DocumentModel

/// The functions that events and tasks are delivered to.
///
/// One value holds all of them, so that they are switched at once.
package struct EventRoutes: Sendable {
    package struct EventTrigger: Hashable, Sendable {
        package var function: String
        package var type: String
        /// Attributes that an event must have, with these values.
        package var filters: [String: String]

        package init(function: String, type: String, filters: [String: String] = [:]) {
            self.function = function
            self.type = type
            self.filters = filters
        }
    }

    /// The number of functions that a chain of events may go through before it is stopped as a loop.
    package var maxDepth: Int
    private let events: [String: [EventTrigger]]
    private let queues: Set<String>
    /// By the id of the kind of data whose changes they are about; only that kind reads them.
    private var triggers: [UInt8: any Sendable] = [:]

    package init(
        events: [EventTrigger] = [], queues: [String] = [], maxDepth: Int = 16
    ) {
        self.events = Dictionary(grouping: events, by: \.type)
        self.queues = Set(queues)
        self.maxDepth = maxDepth
    }

    /// The triggers of a kind of data; nil if it has none.
    package func triggers<Triggers: Sendable>(of kind: any DataKind.Type) -> Triggers? {
        triggers[kind.id] as? Triggers
    }

    package mutating func setTriggers(_ triggers: some Sendable, of kind: any DataKind.Type) {
        self.triggers[kind.id] = triggers
    }

    /// The functions that an event is delivered to, each once however many of its triggers match.
    package func receivers(of event: CloudEvent) -> [String] {
        let triggers = (events[event.type] ?? []).filter { trigger in
            trigger.filters.allSatisfy { name, value in
                event[attribute: name].map { TextBytes.equal($0, value) } ?? false
            }
        }
        var functions: Set<String> = []
        return triggers.map(\.function).filter { functions.insert($0).inserted }
    }

    /// - Throws: `notFound` if no function takes the queue's tasks.
    func checkHasQueue(_ name: String) throws(DocumentError) {
        guard !queues.contains(name) else { return }
        let known = queues.sorted().joined(separator: ", ")
        throw DocumentError(
            .notFound,
            "there is no task queue \(name); " + (known.isEmpty ? "no function takes tasks" : "there are \(known)"))
    }
}
