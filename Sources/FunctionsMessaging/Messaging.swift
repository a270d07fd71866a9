import FunctionsHTTPClient
import FunctionsRuntime
import StrictJSON

/// Sends messages with Firebase Cloud Messaging (HTTP v1).
///
///     let account = defineSecret("PUSH_ACCOUNT")
///
///     onTaskDispatched("push", .secrets(account)) { (request: TaskRequest<Push>) in
///         let messaging = try Messaging(account: account.value)
///         try await messaging.send(Message(token: request.data.device, notification: .init(title: "Hello")))
///     }
///
/// A value is cheap to make: access tokens and connections are the process's.
public struct Messaging: Sendable {
    private let account: ServiceAccount
    private let url: String

    private static let scopes = ["https://www.googleapis.com/auth/firebase.messaging"]

    /// - Parameters:
    ///   - account: The key file, in JSON, of a service account with the role Firebase Cloud Messaging API Admin.
    ///   - url: Where messages are sent, for a stand-in in development.
    /// - Throws: ``ServiceAccountError`` that names the member of the file which is missing or wrong.
    public init(account: String, url: String = "https://fcm.googleapis.com") throws {
        self.account = try ServiceAccount(json: account)
        self.url = "\(url)/v1/projects/\(self.account.projectID)/messages:send"
    }

    /// Sends a message once. Send from a task that is retried if it must arrive.
    ///
    /// - Parameters:
    ///   - message: For a device, a topic or a condition.
    ///   - dryRun: Whether the message is checked but not delivered.
    /// - Returns: The message's name: `projects/shop/messages/17`.
    /// - Throws: ``MessagingError``; `CancellationError` if the invocation has ended.
    @discardableResult
    public func send(_ message: Message, dryRun: Bool = false) async throws -> String {
        try await send(message, dryRun, token: try await accessToken())
    }

    /// Sends each message once, some at a time. One that fails doesn't stop the others.
    ///
    /// - Returns: A response for each message, in their order.
    /// - Throws: ``MessagingError`` if there is no access token, and nothing was sent; `CancellationError` if the invocation
    ///   has ended, and some may have been sent.
    public func sendEach(_ messages: [Message], dryRun: Bool = false) async throws -> [SendResponse] {
        guard !messages.isEmpty else { return [] }
        let token = try await accessToken()
        return try await messages.concurrentMap { message in
            do {
                return SendResponse(messageID: try await send(message, dryRun, token: token), error: nil)
            } catch let error as MessagingError {
                return SendResponse(messageID: nil, error: error)
            }
        }
    }

    private func accessToken() async throws -> String {
        do {
            return try await account.accessToken(scopes: Self.scopes)
        } catch let error as FetchError {
            let isRefused = error.status.map { (400..<500).contains($0) && $0 != 429 } ?? false
            throw MessagingError(isRefused ? .unauthenticated : .unavailable, "there is no access token: \(error)")
        } catch let error as ServiceAccountError {
            throw MessagingError(.unauthenticated, "\(error)")
        }
    }

    private struct Body: Encodable, Sendable {
        var message: Message
        var validate_only: Bool
    }

    private func send(_ message: Message, _ dryRun: Bool, token: String) async throws -> String {
        do {
            let answer = try await fetch(
                url, headers: ["Authorization": "Bearer \(token)"],
                body: .json(Body(message: message, validate_only: dryRun)))
            let body = try await answer.bytes()
            let json = (try? JSONValue(parsing: body)) ?? .null
            guard answer.isSuccess else {
                let wait = answer.headers["Retry-After"].flatMap { Int($0) }.map { Duration.seconds(max(0, $0)) }
                let error = MessagingError(status: answer.status, json["error"] ?? .null, retryAfter: wait)
                // The status is 401 also for a wrong APNs certificate, which another token wouldn't help.
                if error.code == .unauthenticated { account.forget(token: token) }
                throw error
            }
            guard let name = json["name"]?.stringValue else {
                throw MessagingError(.unknown, "the response has no name")
            }
            return name
        } catch let error as FetchError {
            throw MessagingError(error.code == .invalidRequest ? .invalidArgument : .unavailable, "\(error)")
        }
    }
}

/// The outcome of one message of ``Messaging/sendEach(_:dryRun:)``.
public struct SendResponse: Sendable {
    /// The message's name; nil if it wasn't accepted.
    public let messageID: String?
    /// Why it wasn't accepted.
    public let error: MessagingError?
}

/// Why a message wasn't accepted.
public struct MessagingError: Error, CustomStringConvertible {
    /// The codes are those of the REST API's `FcmError`.
    public enum Code: String, Sendable {
        /// The app was uninstalled or the token has expired: delete it.
        case unregistered = "UNREGISTERED"
        /// The message or the token is malformed. Repeating the request fails the same way.
        case invalidArgument = "INVALID_ARGUMENT"
        /// The token belongs to another project's app.
        case senderIDMismatch = "SENDER_ID_MISMATCH"
        /// Too many messages, to all devices or to this one: try later.
        case quotaExceeded = "QUOTA_EXCEEDED"
        /// The service is overloaded or can't be reached: try later. The message may have been accepted.
        case unavailable = "UNAVAILABLE"
        case `internal` = "INTERNAL"
        /// The project's APNs certificate or web push key is missing or wrong.
        case thirdPartyAuthError = "THIRD_PARTY_AUTH_ERROR"
        /// The service account or its access token isn't accepted.
        case unauthenticated = "UNAUTHENTICATED"
        /// Everything else, such as a wrong project; the message says what.
        case unknown = "UNSPECIFIED_ERROR"
    }

    public let code: Code
    public let message: String
    /// How long the service asks to wait before the next request; nil if it doesn't.
    public let retryAfter: Duration?

    init(_ code: Code, _ message: String, retryAfter: Duration? = nil) {
        self.code = code
        self.message = message
        self.retryAfter = retryAfter
    }

    /// - Parameter error: The member `error` of the response.
    init(status: Int, _ error: JSONValue, retryAfter: Duration?) {
        let codes = (error["details"]?.arrayValue ?? []).compactMap { $0["errorCode"]?.stringValue }
        let code = codes.lazy.compactMap { Code(rawValue: $0) }.first
        self.init(
            code ?? Self.code(of: error["status"]?.stringValue, status),
            error["message"]?.stringValue ?? "the response's status is \(status)", retryAfter: retryAfter)
    }

    /// What a response without an `FcmError` tells: less, as a wrong project is NOT_FOUND, too.
    private static func code(of name: String?, _ status: Int) -> Code {
        switch (name, status) {
        case ("INVALID_ARGUMENT"?, _): .invalidArgument
        case ("RESOURCE_EXHAUSTED"?, _), (_, 429): .quotaExceeded
        case ("UNAUTHENTICATED"?, _), (_, 401): .unauthenticated
        case ("INTERNAL"?, _): .internal
        case (_, 500...): .unavailable
        default: .unknown
        }
    }

    public var description: String { "the message wasn't accepted: \(code.rawValue): \(message)" }
}
