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
        /// The kinds of these, and of those whose patterns go on below.
        let kinds: Set<ChangeEventType>

        /// Whether patterns go on below.
        var hasMore: Bool { any != nil || !literals.isEmpty }

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
            kinds = Set(triggers.map(\.kind))
        }
    }

    /// One tree for all triggers of the same databases.
    private let trees: [InstancePattern: Node]

    package init(_ triggers: [RealtimeTrigger]) {
        trees = Dictionary(grouping: triggers, by: \.instance).mapValues { Node($0, depth: 0) }
    }

    /// Where the patterns of a database's triggers begin.
    func roots(in namespace: String) -> [Node] {
        trees.filter { $0.key.matches(namespace) }.map(\.value)
    }

    /// Adds the triggers to the routes of events.
    package func add(to routes: inout EventRoutes) { routes.setTriggers(self, of: RealtimeRows.self) }
}

extension [RealtimeTriggers.Node] {
    /// Where the patterns stand after one more key.
    func after(_ key: RealtimeKey) -> [RealtimeTriggers.Node] {
        flatMap { node in [node.literals[key], node.any].compactMap { $0 } }
    }

    /// Where patterns of triggers of these kinds stand after one more key.
    func after(_ key: RealtimeKey, _ kinds: Set<ChangeEventType>) -> [RealtimeTriggers.Node] {
        after(key).filter { !$0.kinds.isDisjoint(with: kinds) }
    }

    var hasMore: Bool { contains(where: \.hasMore) }

    /// The keys that patterns of triggers of these kinds go on with.
    func nextKeys(_ kinds: Set<ChangeEventType>) -> NextKeys {
        var keys: Set<RealtimeKey> = []
        for node in self {
            if let any = node.any, !any.kinds.isDisjoint(with: kinds) { return .any }
            for (key, next) in node.literals where !next.kinds.isDisjoint(with: kinds) { keys.insert(key) }
        }
        return .some(keys)
    }
}

/// The keys that patterns go on with.
enum NextKeys {
    case any
    case some(Set<RealtimeKey>)
}
