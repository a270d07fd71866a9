import FunctionManifest

/// Runs before a user who signs up with an email address, a phone number or a provider is created, and may refuse.
///
///     beforeUserCreated("onlyCompany") { event in
///         guard event.data.email?.hasSuffix("@example.com") == true else {
///             throw HttpsError(.permissionDenied, "Only for members of the company.")
///         }
///         return BeforeCreateResponse(customClaims: ["member": true])
///     }
///
/// Admins, imports, anonymous users and custom tokens don't run it.
///
/// - Parameters:
///   - name: Matches `^[a-zA-Z][a-zA-Z0-9_-]{0,62}$`. A project has one such function.
///   - options: What differs from the bundle's defaults. The timeout is at most 7 s.
///   - handler: Returns what to change of the user; nil for nothing. An ``HttpsError`` that it throws refuses the sign-up,
///     and the client shows its message. Any other error, a crash or no answer in time refuses it too.
public func beforeUserCreated(
    _ name: String, _ options: BlockingOption...,
    handler: @escaping @Sendable (AuthBlockingEvent) async throws -> BeforeCreateResponse?
) -> Function {
    blocking(name, .beforeCreate, options) { try await handler($0) }
}

/// Runs before a user is created, and may refuse.
@_disfavoredOverload
public func beforeUserCreated(
    _ name: String, _ options: BlockingOption...,
    handler: @escaping @Sendable (AuthBlockingEvent) async throws -> Void
) -> Function {
    blocking(name, .beforeCreate, options) { event -> BeforeCreateResponse? in
        try await handler(event)
        return nil
    }
}

/// Runs before a user gets tokens, at each sign-in, and may refuse; after `beforeUserCreated` for a new user,
/// and after the second factor for a user who has one. A refresh of tokens doesn't run it.
///
/// - Parameters:
///   - name: Matches `^[a-zA-Z][a-zA-Z0-9_-]{0,62}$`. A project has one such function.
///   - options: What differs from the bundle's defaults. The timeout is at most 7 s.
///   - handler: Returns what to change of the user, and claims for the tokens of this sign-in; nil for nothing.
public func beforeUserSignedIn(
    _ name: String, _ options: BlockingOption...,
    handler: @escaping @Sendable (AuthBlockingEvent) async throws -> BeforeSignInResponse?
) -> Function {
    blocking(name, .beforeSignIn, options) { try await handler($0) }
}

/// Runs before a user gets tokens, and may refuse.
@_disfavoredOverload
public func beforeUserSignedIn(
    _ name: String, _ options: BlockingOption...,
    handler: @escaping @Sendable (AuthBlockingEvent) async throws -> Void
) -> Function {
    blocking(name, .beforeSignIn, options) { event -> BeforeSignInResponse? in
        try await handler(event)
        return nil
    }
}

/// Runs before a mail with a link is sent to reset a password or to sign in, and may refuse.
///
/// - Parameters:
///   - name: Matches `^[a-zA-Z][a-zA-Z0-9_-]{0,62}$`. A project has one such function.
///   - options: What differs from the bundle's defaults. The timeout is at most 7 s.
///   - handler: An ``HttpsError`` that it throws refuses the mail.
public func beforeEmailSent(
    _ name: String, _ options: BlockingOption...,
    handler: @escaping @Sendable (AuthBlockingEvent) async throws -> Void
) -> Function {
    blocking(name, .beforeSendEmail, options) { event -> BeforeCreateResponse? in
        try await handler(event)
        return nil
    }
}

extension FunctionKind {
    public enum Blocking {}
}

public typealias BlockingOption = FunctionOption<FunctionKind.Blocking>

private func blocking<Response: BlockingResponse>(
    _ name: String, _ moment: TriggerManifest.BlockingTrigger.Moment, _ options: [BlockingOption],
    _ handler: @escaping @Sendable (AuthBlockingEvent) async throws -> Response?
) -> Function {
    Function(name, options) { _ in
        (
            .blocking(.init(moment: moment)),
            .callable(
                CallableHandler { (request: CallableRequest<BlockingPayload>) -> BlockingAnswer in
                    BlockingAnswer(try await handler(AuthBlockingEvent(request)))
                })
        )
    }
}
