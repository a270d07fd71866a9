import EventDelivery
package import FunctionManifest
import Foundation
import StrictJSON

/// The difference between a release and the release that is served.
package struct ReleaseDifference: Codable, Equatable, Sendable {
    package struct Change: Codable, Equatable, Sendable {
        /// The path in the manifest, such as `timeoutSeconds` or `trigger.schedule.timeZone`.
        package var option: String
        /// Nil if the option is added or removed.
        package var before: String?
        package var after: String?
    }

    /// A param or secret that is added, removed or changed.
    package struct Param: Codable, Equatable, Sendable {
        package var name: String
        /// A description; nil if the param is added or removed.
        package var before: String?
        package var after: String?
    }

    package struct Function: Codable, Equatable, Sendable {
        package var name: String
        package var changes: [Change]
        /// Sentences for the operator about the effects on deliveries and callers.
        package var consequences: [String]

        init(name: String, changes: [Change] = [], consequences: [String] = []) {
            self.name = name
            self.changes = changes
            self.consequences = consequences
        }
    }

    /// Each list is sorted by name.
    package var added: [Function] = []
    package var changed: [Function] = []
    package var removed: [Function] = []
    package var params: [Param] = []

    package var isEmpty: Bool { added.isEmpty && changed.isEmpty && removed.isEmpty && params.isEmpty }

    /// - Parameters:
    ///   - before: the served manifest; nil if the bundle isn't served.
    ///   - pending: the number of a function's pending deliveries; nil if they can't be counted.
    package init(from before: Manifest?, to after: Manifest, pending: (String) -> Int?) {
        params = Self.params(from: before?.params ?? [], to: after.params)
        let old = Dictionary((before?.functions ?? []).map { ($0.name, $0) }) { first, _ in first }
        let new = Dictionary(after.functions.map { ($0.name, $0) }) { first, _ in first }
        for (name, function) in new.sorted(by: { $0.key < $1.key }) {
            guard let other = old[name] else {
                added.append(Function(name: name))
                continue
            }
            let changes = Self.changes(from: other, to: function)
            guard !changes.isEmpty else { continue }
            var consequences: [String] = []
            let waiting = pending(name)
            if waiting != 0, other.trigger.isForEvents, !function.trigger.isForEvents {
                consequences = Self.consequences(ofRemoving: other, waiting)
            } else if waiting != 0, Self.kind(of: other) != Self.kind(of: function) {
                consequences = [
                    "it has \(Self.deliveries(waiting)) that its new trigger can't handle: drop them, "
                        + "or their attempts fail"
                ]
            }
            changed.append(Function(name: name, changes: changes, consequences: consequences))
        }
        for (name, function) in old.sorted(by: { $0.key < $1.key }) where new[name] == nil {
            removed.append(Function(name: name, consequences: Self.consequences(ofRemoving: function, pending(name))))
        }
    }

    private static func params(from before: [ParamManifest], to after: [ParamManifest]) -> [Param] {
        func words(_ params: [ParamManifest]) -> [String: String] {
            Dictionary(params.map { ($0.name, $0.words) }) { first, _ in first }
        }
        let (old, new) = (words(before), words(after))
        return Set(old.keys).union(new.keys).sorted().compactMap { name in
            old[name] == new[name] ? nil : Param(name: name, before: old[name], after: new[name])
        }
    }

    private static func consequences(ofRemoving function: FunctionManifest, _ waiting: Int?) -> [String] {
        var consequences: [String] = []
        if waiting != 0 {
            let days = Int(DeliveryAge.whereGone / 86_400)
            consequences.append(
                "it has \(deliveries(waiting)), kept for \(days) days in case it is deployed again, then dead-lettered")
        }
        switch function.trigger {
        case .schedule: consequences.append("its schedule starts no more runs")
        case .task: consequences.append("its queue accepts no more tasks: enqueueing fails")
        case .document, .reference, .event: consequences.append("new events are not delivered to it")
        case .blocking: consequences.append("sign-ups, sign-ins or mails go on without it")
        case .callable, .http: consequences.append("calls to it fail with NOT_FOUND")
        }
        return consequences
    }

    private static func deliveries(_ count: Int?) -> String {
        guard let count else { return "an unknown number of pending deliveries (the store is damaged)" }
        return "\(count) pending \(count == 1 ? "delivery" : "deliveries")"
    }

    /// The kind of trigger, which must match that of a pending event.
    private static func kind(of function: FunctionManifest) -> String {
        switch function.trigger {
        case .callable: "callable"
        case .blocking: "blocking"
        case .http: "http"
        case .document: "document"
        case .reference: "value"
        case .schedule: "schedule"
        case .task: "task"
        case .event: "event"
        }
    }

    private static func changes(from before: FunctionManifest, to after: FunctionManifest) -> [Change] {
        let (old, new) = (options(before), options(after))
        return Set(old.keys).union(new.keys).sorted().compactMap { key in
            old[key] == new[key] ? nil : Change(option: key, before: old[key], after: new[key])
        }
    }

    /// A manifest's values by their path.
    private static func options(_ manifest: FunctionManifest) -> [String: String] {
        guard let data = try? JSONEncoder().encode(manifest), let root = try? JSONNode(parsing: Array(data)) else {
            return [:]
        }
        var options: [String: String] = [:]
        func add(_ node: JSONNode, _ path: String) {
            switch node.kind {
            case .object(let members):
                // An enum's associated value is encoded under `_0`, which means nothing to people.
                for member in members {
                    add(
                        member.value, member.key == "_0" ? path : path.isEmpty ? member.key : "\(path).\(member.key)"
                    )
                }
            case .array(let elements): options[path] = "[\(elements.map(\.summary).joined(separator: ", "))]"
            default: options[path] = node.summary
            }
        }
        add(root, "")
        return options
    }
}

extension ParamManifest {
    /// The type and the default value.
    fileprivate var words: String {
        guard let defaultValue else { return type.words }
        let value =
            switch defaultValue {
            case .string(let text): "\"\(text)\""
            case .int(let number): "\(number)"
            case .float(let number): "\(number)"
            case .boolean(let flag): "\(flag)"
            case .list(let texts): "\(texts)"
            }
        return "\(type.words), by default \(value)"
    }
}
