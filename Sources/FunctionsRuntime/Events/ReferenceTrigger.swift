import DocumentModel
import FunctionManifest
import RealtimeModel

/// The changes that a trigger of the Realtime Database handles, and the handler's input for them.
struct ReferenceTrigger: Sendable {
    let manifest: TriggerManifest.ReferenceTrigger
    /// The function's region.
    let region: String
    /// Nil if the pattern is invalid, in which case the bundle doesn't start.
    private let pattern: ReferencePattern?

    init(_ type: ChangeEventType, _ pattern: String, _ options: FunctionOptions) {
        manifest = TriggerManifest.ReferenceTrigger(
            eventType: type, reference: pattern, instance: options.instance, retry: options.retry?.ofEvents,
            isOrdered: options.isOrdered)
        region = options.regions.first?.rawValue ?? ""
        self.pattern = try? ReferencePattern(pattern)
    }

    /// Decodes events whose data is derived from the changed node.
    func reading<Payload: Sendable>(
        _ payload: @escaping @Sendable (Change<DataSnapshot>) throws -> Payload
    ) -> @Sendable (ReceivedEvent) throws -> DatabaseEvent<Payload> {
        { received in
            guard case .reference(let change) = received.event.content, let pattern,
                manifest.eventType.includes(existedBefore: change.before != nil, existsAfter: change.existsAfter)
            else { throw unexpected(received) }
            let database = received.context.database.database(change.instance)
            let (path, states) = try Self.states(of: change, in: database)
            let keys = path.keys.map(\.string)
            guard pattern.matches(keys) else { throw unexpected(received) }
            return DatabaseEvent(
                data: try payload(states), params: pattern.params(keys), ref: change.path, instance: change.instance,
                received: received, trigger: self)
        }
    }

    private func unexpected(_ received: ReceivedEvent) -> UnreadableEvent {
        received.unexpected("nodes \(manifest.reference) \(manifest.eventType.rawValue)")
    }

    private static func states(
        of change: ReferenceChange, in database: Database
    ) throws(RealtimeError) -> (RealtimePath, Change<DataSnapshot>) {
        func node(_ json: [UInt8]?, at target: RealtimeTarget) throws(RealtimeError) -> RealtimeNode? {
            guard let json else { return nil }
            return try RealtimeWriteValue(parsing: json, at: target).resolved(now: 0, existing: nil)
        }
        let path = try RealtimePath(change.path)
        let before = try node(change.before, at: RealtimeTarget(path))
        var after = before
        for setting in change.settings {
            let target = try RealtimeTarget(setting.target)
            after.set(try node(setting.value, at: RealtimeTarget(path).appending(target)), at: target)
        }
        return (
            path,
            Change(
                before: DataSnapshot(before, in: database, at: path), after: DataSnapshot(after, in: database, at: path)
            )
        )
    }
}

extension Change<DataSnapshot> {
    /// - Throws: `DecodingError`, with the place, if a value doesn't have the type.
    func typed<T: Decodable & Sendable>() throws -> Change<T> {
        Change<T>(before: try before.data(), after: try after.data())
    }
}
