public import DocumentModel

/// The codes an author's error can carry: the canonical ones, by their wire names.
public typealias FunctionsErrorCode = StatusCode

/// An error meant for the caller: its code, message and details reach the client as they are.
///
/// - Throws from a handler: the caller sees the code's HTTP status and
///   `{"error":{"message":…,"status":…,"details":…}}`. Every other error is logged whole and answered INTERNAL.
public struct HttpsError: Error, Sendable, CustomStringConvertible {
    public var code: FunctionsErrorCode
    public var message: String
    /// What the client's code can use. Left out of the answer where nil.
    public var details: JSONValue?

    /// - Parameter message: what went wrong, in words for the caller. Clients on iOS drop it where the code is
    ///   `internal`.
    public init(_ code: FunctionsErrorCode, _ message: String, details: JSONValue? = nil) {
        self.code = code
        self.message = message
        self.details = details
    }

    public var description: String { "\(code.wireName): \(message)" }
}
