import EventDelivery
package import FunctionManifest
import HostJSON
import Foundation

/// What a release changes of the functions that are served.
package struct ReleaseDifference: Codable, Equatable, Sendable {
    package struct Change: Codable, Equatable, Sendable {
        /// What of the function: `timeoutSeconds`, `trigger.schedule.timeZone`.
        package var option: String
        /// Nil where it wasn't, or isn't any more.
        package var before: String?
        package var after: String?
    }

    /// A param or a secret that comes, goes or is another one than it was.
    package struct Param: Codable, Equatable, Sendable {
        package var name: String
        /// What it is, in words; nil where it wasn't, or isn't any more.
        package var before: String?
        package var after: String?
    }

    package struct Function: Codable, Equatable, Sendable {
        package var name: String
        package var changes: [Change]
        /// What follows for what waits for the function, in words.
        package var consequences: [String]

        init(name: String, changes: [Change] = [], consequences: [String] = []) {
            self.name = name
            self.changes = changes
            self.consequences = consequences
        }
    }

    /// By name.
    package var added: [Function] = []
    package var changed: [Function] = []
    package var removed: [Function] = []
    package var params: [Param] = []

    package var isEmpty: Bool { added.isEmpty && changed.isEmpty && removed.isEmpty && params.isEmpty }

    /// - Parameters:
    ///   - before: nil where nothing is served.
    ///   - pending: how many deliveries wait for a function.
    package init(from before: Manifest?, to after: Manifest, pending: (String) -> Int) {
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
            if waiting > 0, other.trigger.isForEvents, !function.trigger.isForEvents {
                consequences = Self.consequences(ofRemoving: other, waiting)
            } else if waiting > 0, Self.kind(of: other) != Self.kind(of: function) {
                consequences = [
                    "\(Self.deliveries(waiting)) for it that its new trigger doesn't understand: drop them, or their tries fail"
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

    private static func consequences(ofRemoving function: FunctionManifest, _ waiting: Int) -> [String] {
        var consequences: [String] = []
        if waiting > 0 {
            let days = Int(DeliveryAge.whereGone / 86_400)
            consequences.append(
                "\(deliveries(waiting)) for it: kept for \(days) days in case it comes back, then dead letters")
        }
        switch function.trigger {
        case .schedule: consequences.append("its schedule makes no more runs")
        case .task: consequences.append("its queue takes no more tasks: enqueueing is refused")
        case .document, .event: consequences.append("what happens from now on is not told to it")
        case .callable, .http: consequences.append("calls of it are answered NOT_FOUND")
        }
        return consequences
    }

    private static func deliveries(_ count: Int) -> String {
        "\(count) \(count == 1 ? "delivery waits" : "deliveries wait")"
    }

    /// What of a trigger an event must fit.
    private static func kind(of function: FunctionManifest) -> String {
        switch function.trigger {
        case .callable: "callable"
        case .http: "http"
        case .document: "document"
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

    /// A manifest's values by their place in it.
    private static func options(_ manifest: FunctionManifest) -> [String: String] {
        guard let data = try? JSONEncoder().encode(manifest), let root = try? JSONParser.parse(Array(data)) else {
            return [:]
        }
        var options: [String: String] = [:]
        func add(_ node: JSONNode, _ place: String) {
            switch node.kind {
            case .object(let members):
                // An enum's value stands under `_0`, which means nothing to people.
                for member in members {
                    add(
                        member.value, member.key == "_0" ? place : place.isEmpty ? member.key : "\(place).\(member.key)"
                    )
                }
            case .array(let elements): options[place] = "[\(elements.map(\.summary).joined(separator: ", "))]"
            default: options[place] = node.summary
            }
        }
        add(root, "")
        return options
    }
}

extension ParamManifest {
    /// Its type, and what it is where nobody gives one.
    fileprivate var words: String {
        guard let defaultValue else { return type.words }
        let value =
            switch defaultValue {
            case .string(let text): "\"\(text)\""
            case .int(let number): "\(number)"
            case .boolean(let flag): "\(flag)"
            case .list(let texts): "\(texts)"
            }
        return "\(type.words), by default \(value)"
    }
}
