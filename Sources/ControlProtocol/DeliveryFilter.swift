package import DocumentModel
import DocumentStore

/// Selects deliveries for an operator's command.
package struct DeliveryFilter: Hashable, Sendable {
    package enum State: String, Hashable, Sendable, CaseIterable {
        /// Due at some time, or as soon as possible.
        case pending
        /// Waits until an earlier change of the same document was delivered.
        case waiting
        /// A handler is running.
        case running
        /// Dead-lettered.
        case dead
    }

    package var function: String?
    /// Nil selects all states.
    package var states: Set<State>?
    /// The minimum time since the event, in seconds.
    package var olderThan: Int?

    package init(function: String? = nil, states: Set<State>? = nil, olderThan: Int? = nil) {
        self.function = function
        self.states = states
        self.olderThan = olderThan
    }

    package func includes(_ state: State) -> Bool { states?.contains(state) ?? true }

    /// Whether the filter selects deliveries that are not dead letters.
    package var includesOpen: Bool { states.map { $0 != [.dead] } ?? true }
}

extension DeliveryFilter {
    package func add(to request: inout ControlRequest) {
        request.add("function", function)
        for state in (states ?? []).map(\.rawValue).sorted() { request.add("state", state) }
        request.add("older-than", olderThan.map { "\($0)" })
    }

    /// - Throws: `invalidArgument` if this host doesn't know a state.
    package init(_ parameters: ControlParameters) throws(DocumentError) {
        function = parameters["function"]
        var states: Set<State> = []
        for text in parameters.all("state") {
            guard let state = State(rawValue: text) else {
                throw .invalidArgument("a delivery has no state \(text)")
            }
            states.insert(state)
        }
        self.states = states.isEmpty ? nil : states
        olderThan = try parameters.integer("older-than", in: 0...Int(Int32.max))
    }
}

/// A position in a scan of the outbox, which covers the deliveries to be done first and then the dead letters.
package struct DeliveryCursor: Hashable, Sendable {
    package var areDead: Bool
    /// The last scanned delivery; nil at the beginning.
    package var last: DeliveryID?

    package var text: String {
        let place = last.map { "/\($0.function)/\($0.event)" } ?? ""
        return (areDead ? "dead" : "living") + place
    }

    package init(areDead: Bool, last: DeliveryID? = nil) {
        self.areDead = areDead
        self.last = last
    }

    /// - Throws: `invalidArgument` if the text is not from a response's `next`.
    package init(_ text: String) throws(DocumentError) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard let kind = parts.first, kind == "dead" || kind == "living" else {
            throw .invalidArgument("\"\(text)\" is not a position in the outbox")
        }
        areDead = kind == "dead"
        guard parts.count > 1 else { return }
        guard parts.count == 3, let event = EventID(parts[2]) else {
            throw .invalidArgument("\"\(text)\" is not a position in the outbox")
        }
        last = DeliveryID(event: event, function: String(parts[1]))
    }
}
