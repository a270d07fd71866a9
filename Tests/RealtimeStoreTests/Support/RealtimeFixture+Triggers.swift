import CommitPipeline
import DocumentModel
import RealtimeModel
import RealtimeStore
import TestSupport

extension RealtimeTrigger {
    init(
        _ function: String, _ kind: ChangeEventType, _ pattern: String, instance: String = "*", isOrdered: Bool = false
    ) throws {
        self.init(
            function: function, kind: kind, instance: try InstancePattern(instance),
            pattern: try ReferencePattern(pattern), isOrdered: isOrdered)
    }
}

extension RealtimeFixture {
    func route(to triggers: [RealtimeTrigger]) {
        var routes = EventRoutes()
        RealtimeTriggers(triggers).add(to: &routes)
        pipeline.outbox.routes = routes
    }

    /// The changes that wait for a function, in their order, which then don't wait any more.
    func takeChanges(of function: String) async throws -> [ReferenceChange] {
        let due = try await pipeline.outbox.dueDeliveries(
            of: function, at: clock.timestamp(), except: [], limit: 10_000, maxBytes: 1 << 30
        ).deliveries
        _ = try await pipeline.outbox.drop(due.map(\.delivery.id))
        return try due.compactMap { stored in
            guard case .reference(let change) = try Event(decoding: stored.event).content else { return nil }
            return change
        }
    }

    /// As `path before -> after`.
    func take(_ function: String) async throws -> [String] {
        try await takeChanges(of: function).map { change in
            let (before, after) = try change.states
            func text(_ node: RealtimeNode?) -> String {
                node.map { String(decoding: $0.json(as: .export), as: UTF8.self) } ?? "nothing"
            }
            return "/\(change.path) \(text(before)) -> \(text(after))"
        }
    }
}

extension ReferenceChange {
    /// What was before, and what the settings make of it.
    var states: (before: RealtimeNode?, after: RealtimeNode?) {
        get throws {
            func node(_ json: [UInt8]?, _ target: RealtimeTarget) throws -> RealtimeNode? {
                try json.map { try RealtimeWriteValue(parsing: $0, at: target).resolved(now: 0, existing: nil) } ?? nil
            }
            let old = try node(before, RealtimeTarget(.root))
            var new = old
            for setting in settings {
                let target = try RealtimeTarget(setting.target)
                new.set(try node(setting.value, target), at: target)
            }
            return (old, new)
        }
    }
}
