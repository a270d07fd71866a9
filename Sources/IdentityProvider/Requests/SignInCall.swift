import DocumentModel
import WorkerProtocol

/// A request as operations receive it.
struct SignInCall: Sendable {
    var fields: SignInRequest
    /// Whether server code or an operator calls: then the request may concern any user.
    var isAdmin = false
    var origin: CallOrigin
    /// The parameters of the URL.
    var query: [String: String] = [:]
    /// Whether the client is a browser that shows the answer.
    var readsHTML = false
    var isPost = false
    /// The context of the function that calls; nil for other callers.
    var functionContext: OperationContext?

    /// The author of what the call changes, as events name it, and the events that led to it.
    var context: OperationContext {
        functionContext ?? OperationContext(auth: EventAuth(isAdmin ? .serviceAccount : .apiKey))
    }

    subscript(_ name: String) -> String? { fields[name] }
}

/// Where a request comes from.
struct CallOrigin: Hashable, Sendable {
    /// The client's address, as functions get it.
    var address: String
    /// How the client reaches this port, such as `http://127.0.0.1:9099`.
    var base: String
    var userAgent: String?
    /// The client's language, such as `en`.
    var locale = "en"

    /// What limits count by, and a client is recognized by: with IPv6, it has all addresses with the same first half.
    var network: String { IPAddress(address)?.holder.description ?? address }

    /// The language as a tag of letters, digits and hyphens, which links and mails can have.
    var language: String {
        let isTag = locale.utf8.allSatisfy { byte in
            (48...57).contains(byte) || (97...122).contains(byte | 0x20) || byte == UInt8(ascii: "-")
                || byte == UInt8(ascii: "_")
        }
        return isTag && (1...35).contains(locale.utf8.count) ? locale : "en"
    }
}
