package import CommitPipeline
package import DocumentModel
import RealtimeModel

/// A function that is called when nodes that match a pattern change.
package struct RealtimeTrigger: Hashable, Sendable {
    package var function: String
    package var kind: ChangeEventType
    package var instance: InstancePattern
    package var pattern: ReferencePattern
    /// Whether the changes of one node are delivered one at a time, in the order of their commits.
    package var isOrdered: Bool

    package init(
        function: String, kind: ChangeEventType, instance: InstancePattern = .all, pattern: ReferencePattern,
        isOrdered: Bool = false
    ) {
        self.function = function
        self.kind = kind
        self.instance = instance
        self.pattern = pattern
        self.isOrdered = isOrdered
    }
}

/// The functions that changes of nodes are delivered to.
///
/// The patterns form a tree of keys, so that a change is compared only with those that begin as its path does.
package struct RealtimeTriggers: Sendable {
    final class Node: Sendable {
        let literals: [RealtimeKey: Node]
        let any: Node?
        /// Those whose patterns end here.
        let triggers: [RealtimeTrigger]

        init(_ triggers: [RealtimeTrigger], depth: Int) {
            var literals: [RealtimeKey: [RealtimeTrigger]] = [:]
            var (any, ending) = ([RealtimeTrigger](), [RealtimeTrigger]())
            for trigger in triggers {
                guard depth < trigger.pattern.segments.count else {
                    ending.append(trigger)
                    continue
                }
                switch trigger.pattern.segments[depth] {
                case .literal(let text): literals[RealtimeKey(unchecked: text), default: []].append(trigger)
                case .one, .many: any.append(trigger)
                }
            }
            self.literals = literals.mapValues { Node($0, depth: depth + 1) }
            self.any = any.isEmpty ? nil : Node(any, depth: depth + 1)
            self.triggers = ending
        }

        /// Whether patterns go on below.
        var hasMore: Bool { any != nil || !literals.isEmpty }
    }

    let root: Node

    package init(_ triggers: [RealtimeTrigger]) { root = Node(triggers, depth: 0) }

    /// Adds the triggers to the routes of events.
    package func add(to routes: inout EventRoutes) { routes.setTriggers(self, of: RealtimeRows.self) }
}

extension [RealtimeTriggers.Node] {
    /// Where the patterns stand after one more key.
    func after(_ key: RealtimeKey) -> [RealtimeTriggers.Node] {
        flatMap { node in [node.literals[key], node.any].compactMap { $0 } }
    }

    var hasMore: Bool { contains(where: \.hasMore) }

    /// The keys that the patterns go on with; nil if any key does.
    var nextKeys: Set<RealtimeKey>? {
        contains { $0.any != nil } ? nil : Set(flatMap { $0.literals.keys })
    }
}
