import FunctionManifest

/// Runs when a user is created: by signing up, by an admin or by a function. Imports create users without events.
///
///     onUserCreated("welcome") { event, transaction in
///         let profile = event.firestore.collection("profiles").document(event.data.uid)
///         try transaction.setData(["name": event.data.displayName ?? "Guest"], forDocument: profile)
///     }
///
/// The event is stored in the commit that creates the user: no user is without its event, and no event without its user.
///
/// - Parameters:
///   - name: Matches `^[a-zA-Z][a-zA-Z0-9_-]{0,62}$`.
///   - options: What differs from the bundle's defaults.
///   - handler: Runs at least once for every user. If it throws, the attempt has failed; see
///     ``FunctionOption/retry(_:)``.
public func onUserCreated(
    _ name: String, _ options: EventOption..., handler: @escaping @Sendable (UserEvent) async throws -> Void
) -> Function {
    user(name, UserEvent.created, options, EventHandler({ try UserEvent($0) }, handler))
}

/// Runs when a user is created. The handler's writes and the event's end are one commit.
public func onUserCreated(
    _ name: String, _ options: EventOption...,
    handler: @escaping @Sendable (UserEvent, Transaction) async throws -> Void
) -> Function {
    user(name, UserEvent.created, options, EventHandler({ try UserEvent($0) }, handler))
}

/// Runs when a user is deleted: by itself, by an admin or by a function.
///
/// - Parameters:
///   - name: Matches `^[a-zA-Z][a-zA-Z0-9_-]{0,62}$`.
///   - options: What differs from the bundle's defaults.
///   - handler: Runs at least once for every user, with the user as it was.
public func onUserDeleted(
    _ name: String, _ options: EventOption..., handler: @escaping @Sendable (UserEvent) async throws -> Void
) -> Function {
    user(name, UserEvent.deleted, options, EventHandler({ try UserEvent($0) }, handler))
}

/// Runs when a user is deleted. The handler's writes and the event's end are one commit.
public func onUserDeleted(
    _ name: String, _ options: EventOption...,
    handler: @escaping @Sendable (UserEvent, Transaction) async throws -> Void
) -> Function {
    user(name, UserEvent.deleted, options, EventHandler({ try UserEvent($0) }, handler))
}

private func user(
    _ name: String, _ type: String, _ options: [EventOption], _ handler: EventHandler
) -> Function {
    Function(name, options) { options in
        (.event(.init(eventType: type, retry: options.retry?.ofEvents)), .event(handler))
    }
}
