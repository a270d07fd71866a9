/// The failure of a document operation.
///
/// `aborted` means a conflict with a concurrent transaction: the whole transaction may be retried. Any other code is
/// final for the same input.
public struct DocumentError: Error, Hashable, Sendable, CustomStringConvertible {
    public var code: StatusCode
    public var message: String

    public init(_ code: StatusCode, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { "\(code.wireName): \(message)" }

    public static func invalidArgument(_ message: String) -> DocumentError {
        DocumentError(.invalidArgument, message)
    }

    package static let hostStops = DocumentError(.unavailable, "the host is shutting down")
}
