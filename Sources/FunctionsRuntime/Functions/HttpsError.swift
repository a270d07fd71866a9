public import DocumentModel
public import StrictJSON

/// The codes of an author's error: the canonical ones, by their wire names.
public typealias FunctionsErrorCode = StatusCode

/// An error for the caller: its code, message and details reach the client unchanged.
///
/// If a handler throws it, the caller sees the code's HTTP status and `{"error":{"message":…,"status":…,"details":…}}`.
/// Any other error is logged in full and reported as INTERNAL.
public struct HttpsError: Error, Sendable, CustomStringConvertible {
    public var code: FunctionsErrorCode
    public var message: String
    /// Data for the client's code. Omitted from the response if nil.
    public var details: JSONValue?

    /// - Parameter message: What went wrong, for the caller. Clients on iOS drop it if the code is `internal`.
    public init(_ code: FunctionsErrorCode, _ message: String, details: JSONValue? = nil) {
        self.code = code
        self.message = message
        self.details = details
    }

    public var description: String { "\(code.wireName): \(message)" }
}
