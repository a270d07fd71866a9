import CommitPipeline
package import DocumentModel

/// A function that is called when documents that match a pattern change.
package struct DocumentTrigger: Hashable, Sendable {
    package var function: String
    package var kind: ChangeEventType
    package var pattern: DocumentPattern
    /// Whether the changes of one document are delivered one at a time, in the order of their commits.
    package var isOrdered: Bool

    package init(function: String, kind: ChangeEventType, pattern: DocumentPattern, isOrdered: Bool = false) {
        self.function = function
        self.kind = kind
        self.pattern = pattern
        self.isOrdered = isOrdered
    }
}

/// The functions that changes of documents are delivered to.
struct DocumentTriggers: Sendable {
    private let triggers: DocumentPatternTable<DocumentTrigger>

    init(_ triggers: [DocumentTrigger] = []) {
        self.triggers = DocumentPatternTable(triggers.map { ($0.pattern, $0) })
    }

    /// The events of changes; in most cases there are none.
    func events(of changes: [DocumentChange]) -> [CausedEvent] {
        changes.compactMap { change in
            let triggers = triggers(of: change)
            guard !triggers.isEmpty else { return nil }
            return CausedEvent(
                .document(change.path, before: change.before, after: change.after),
                for: triggers.map { trigger in
                    CausedEvent.Receiver(
                        function: trigger.function,
                        orderKey: trigger.isOrdered ? DocumentKeys.key(of: change.path) : nil)
                })
        }
    }

    /// The triggers that match a change, at most one for each function.
    func triggers(of change: DocumentChange) -> [DocumentTrigger] {
        let matching = triggers.elements(matching: change.path).filter {
            $0.kind.includes(from: change.before, to: change.after)
        }
        guard matching.count > 1 else { return matching }
        var functions: Set<String> = []
        return matching.filter { functions.insert($0.function).inserted }
    }
}
