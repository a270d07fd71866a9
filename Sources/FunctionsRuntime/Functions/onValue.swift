import DocumentModel
import FunctionManifest

/// Runs when a matching node of the Realtime Database is created.
///
///     onValueCreated("moderate", reference: "rooms/{room}/messages/{message}") { event in … }
///
/// A write above the pattern's depth runs the function for each matching node whose value it changes, and one below for
/// the node that contains it; a priority is a part of the value. A write that would run more than 1,000 functions, or
/// whose event would have more than 1 MiB, is refused unless the database's setting `strictTriggerValidation` is false.
///
/// - Parameters:
///   - name: Matches `^[a-zA-Z][a-zA-Z0-9_-]{0,62}$`.
///   - reference: A path whose keys may be wildcards: `{room}` and `*` match one key. `/` is the whole database.
///   - options: What differs from the bundle's defaults. With ``FunctionOption/instance(_:)`` the function is for one
///     database; otherwise for all.
///   - handler: Runs at least once for every matching change. If it throws, the attempt has failed; see
///     ``FunctionOption/retry(_:)``.
public func onValueCreated(
    _ name: String, reference: String, _ options: ReferenceOption...,
    handler: @escaping @Sendable (DatabaseEvent<DataSnapshot>) async throws -> Void
) -> Function {
    trigger(.created, name, reference, options) { EventHandler($0.reading { $0.after }, handler) }
}

/// Runs when a matching node is created; the handler's writes and the event's end are one commit.
public func onValueCreated(
    _ name: String, reference: String, _ options: ReferenceOption...,
    handler: @escaping @Sendable (DatabaseEvent<DataSnapshot>, Transaction) async throws -> Void
) -> Function {
    trigger(.created, name, reference, options) { EventHandler($0.reading { $0.after }, handler) }
}

/// Runs when a matching node's value changes.
public func onValueUpdated(
    _ name: String, reference: String, _ options: ReferenceOption...,
    handler: @escaping @Sendable (DatabaseEvent<Change<DataSnapshot>>) async throws -> Void
) -> Function {
    trigger(.updated, name, reference, options) { EventHandler($0.reading { $0 }, handler) }
}

/// Runs when a matching node's value changes; the handler's writes and the event's end are one commit.
public func onValueUpdated(
    _ name: String, reference: String, _ options: ReferenceOption...,
    handler: @escaping @Sendable (DatabaseEvent<Change<DataSnapshot>>, Transaction) async throws -> Void
) -> Function {
    trigger(.updated, name, reference, options) { EventHandler($0.reading { $0 }, handler) }
}

/// Runs when a matching node is deleted.
public func onValueDeleted(
    _ name: String, reference: String, _ options: ReferenceOption...,
    handler: @escaping @Sendable (DatabaseEvent<DataSnapshot>) async throws -> Void
) -> Function {
    trigger(.deleted, name, reference, options) { EventHandler($0.reading { $0.before }, handler) }
}

/// Runs when a matching node is deleted; the handler's writes and the event's end are one commit.
public func onValueDeleted(
    _ name: String, reference: String, _ options: ReferenceOption...,
    handler: @escaping @Sendable (DatabaseEvent<DataSnapshot>, Transaction) async throws -> Void
) -> Function {
    trigger(.deleted, name, reference, options) { EventHandler($0.reading { $0.before }, handler) }
}

/// Runs when a matching node is created, updated or deleted.
public func onValueWritten(
    _ name: String, reference: String, _ options: ReferenceOption...,
    handler: @escaping @Sendable (DatabaseEvent<Change<DataSnapshot>>) async throws -> Void
) -> Function {
    trigger(.written, name, reference, options) { EventHandler($0.reading { $0 }, handler) }
}

/// Runs when a matching node is created, updated or deleted; the handler's writes and the event's end are one commit.
public func onValueWritten(
    _ name: String, reference: String, _ options: ReferenceOption...,
    handler: @escaping @Sendable (DatabaseEvent<Change<DataSnapshot>>, Transaction) async throws -> Void
) -> Function {
    trigger(.written, name, reference, options) { EventHandler($0.reading { $0 }, handler) }
}

func trigger(
    _ type: ChangeEventType, _ name: String, _ reference: String, _ options: [ReferenceOption],
    _ handler: @escaping @Sendable (ReferenceTrigger) -> EventHandler
) -> Function {
    Function(name, options) { options in
        let trigger = ReferenceTrigger(type, reference, options)
        return (.reference(trigger.manifest), .event(handler(trigger)))
    }
}
