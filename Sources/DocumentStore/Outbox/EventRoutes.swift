package import DocumentModel

/// Which functions are told of what: compiled from the functions that are served.
package struct EventRoutes: Sendable {
    package struct DocumentTrigger: Hashable, Sendable {
        package var function: String
        package var kind: DocumentEventType
        package var pattern: DocumentPattern
        /// Whether the changes of one document are told one at a time, in the order of their commits.
        package var isOrdered: Bool

        package init(function: String, kind: DocumentEventType, pattern: DocumentPattern, isOrdered: Bool = false) {
            self.function = function
            self.kind = kind
            self.pattern = pattern
            self.isOrdered = isOrdered
        }
    }

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

    /// How many functions one event may go through before it stops as a loop.
    package var maxDepth: Int
    private let documents: DocumentPatternTable<DocumentTrigger>
    private let events: [String: [EventTrigger]]
    private let queues: Set<String>

    package init(
        documents: [DocumentTrigger] = [], events: [EventTrigger] = [], queues: [String] = [], maxDepth: Int = 16
    ) {
        self.documents = DocumentPatternTable(documents.map { ($0.pattern, $0) })
        self.events = Dictionary(grouping: events, by: \.type)
        self.queues = Set(queues)
        self.maxDepth = maxDepth
    }

    /// The triggers of a change, one of each function; none is the common answer.
    func triggers(of change: DocumentChange) -> [DocumentTrigger] {
        Self.once(
            documents.elements(matching: change.path).filter {
                $0.kind.includes(from: change.before, to: change.after)
            }, \.function)
    }

    /// The functions that are for an event, each once.
    package func receivers(of event: CloudEvent) -> [String] {
        let triggers = (events[event.type] ?? []).filter { trigger in
            trigger.filters.allSatisfy { name, value in
                event[attribute: name].map { TextBytes.equal($0, value) } ?? false
            }
        }
        return Self.once(triggers, \.function).map(\.function)
    }

    /// A function is told of an event once, whatever number of its triggers the event fits.
    private static func once<Trigger>(_ triggers: [Trigger], _ function: (Trigger) -> String) -> [Trigger] {
        guard triggers.count > 1 else { return triggers }
        var functions: Set<String> = []
        return triggers.filter { functions.insert(function($0)).inserted }
    }

    /// - Throws: `notFound` where no function takes a queue's tasks.
    func checkHasQueue(_ name: String) throws(DocumentError) {
        guard !queues.contains(name) else { return }
        let known = queues.sorted().joined(separator: ", ")
        throw DocumentError(
            .notFound,
            "there is no task queue \(name); " + (known.isEmpty ? "no function takes tasks" : "there are \(known)"))
    }
}
