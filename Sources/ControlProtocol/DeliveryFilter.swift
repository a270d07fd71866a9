package import DocumentModel
import DocumentStore

/// Which deliveries an operator means.
package struct DeliveryFilter: Hashable, Sendable {
    package enum State: String, Hashable, Sendable, CaseIterable {
        /// To be told at a time, or as soon as may be.
        case pending
        /// Behind an earlier change of the same document.
        case waiting
        /// A handler is at it.
        case running
        /// Given up, and kept.
        case dead
    }

    package var function: String?
    /// Nil for all.
    package var states: Set<State>?
    /// Since their events, in seconds.
    package var olderThan: Int?

    package init(function: String? = nil, states: Set<State>? = nil, olderThan: Int? = nil) {
        self.function = function
        self.states = states
        self.olderThan = olderThan
    }

    package func includes(_ state: State) -> Bool { states?.contains(state) ?? true }

    /// Whether any state is meant but that of dead letters.
    package var includesLiving: Bool { states.map { $0 != [.dead] } ?? true }
}

extension DeliveryFilter {
    package func add(to request: inout ControlRequest) {
        request.add("function", function)
        for state in (states ?? []).map(\.rawValue).sorted() { request.add("state", state) }
        request.add("older-than", olderThan.map { "\($0)" })
    }

    /// - Throws: `invalidArgument` for what this host doesn't know.
    package init(_ parameters: ControlParameters) throws(DocumentError) {
        function = parameters["function"]
        var states: Set<State> = []
        for text in parameters.all("state") {
            guard let state = State(rawValue: text) else {
                throw .invalidArgument("there is no state \(text) of a delivery")
            }
            states.insert(state)
        }
        self.states = states.isEmpty ? nil : states
        olderThan = try parameters.integer("older-than", in: 0...Int(Int32.max))
    }
}

/// How far a walk through the outbox has come: through what is to be done first, and then through the dead letters.
package struct DeliveryCursor: Hashable, Sendable {
    package var areDead: Bool
    /// Nil at the beginning.
    package var last: DeliveryID?

    package var text: String {
        let place = last.map { "/\($0.function)/\($0.event)" } ?? ""
        return (areDead ? "dead" : "living") + place
    }

    package init(areDead: Bool, last: DeliveryID? = nil) {
        self.areDead = areDead
        self.last = last
    }

    /// - Throws: `invalidArgument` for what no answer has held.
    package init(_ text: String) throws(DocumentError) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard let kind = parts.first, kind == "dead" || kind == "living" else {
            throw .invalidArgument("\"\(text)\" is no place in the outbox")
        }
        areDead = kind == "dead"
        guard parts.count > 1 else { return }
        guard parts.count == 3, let event = EventID(parts[2]) else {
            throw .invalidArgument("\"\(text)\" is no place in the outbox")
        }
        last = DeliveryID(event: event, function: String(parts[1]))
    }
}
