public import DocumentModel
public import StrictJSON

/// The codes of an author's error: the canonical ones, by their wire names.
public typealias FunctionsErrorCode = StatusCode

/// An error for the caller: its code, message and details reach the client unchanged.
///
/// If a handler throws it, the caller sees the code's HTTP status and `{"error":{"message":…,"status":…,"details":…}}`.
/// Any other error is logged in full and reported as INTERNAL, and one with more than 1 MiB of message and details is
/// reported as INTERNAL, too.
public struct HttpsError: Error, Sendable, CustomStringConvertible {
    public var code: FunctionsErrorCode
    public var message: String
    /// Data for the client's code. Omitted from the response if nil.
    public var details: JSONValue?

    /// - Parameters:
    ///   - message: What went wrong, for the caller. Clients on iOS drop it if the code is `internal`.
    ///   - code: What the client's SDK reports as the error's code.
    ///   - details: Any JSON value, which the client's SDK has as the error's details.
    public init(_ code: FunctionsErrorCode, _ message: String, details: JSONValue? = nil) {
        self.code = code
        self.message = message
        self.details = details
    }

    /// - Parameters:
    ///   - code: As for other details.
    ///   - message: As for other details.
    ///   - details: An object of values of different types: `["id": id, "left": count]`. Values that can't be encoded leave
    ///     the details out.
    @_disfavoredOverload
    public init(_ code: FunctionsErrorCode, _ message: String, details: KeyValuePairs<String, Any?>) {
        self.init(code, message, details: try? MixedJSON.object(details))
    }

    public var description: String { "\(code.wireName): \(message)" }
}
