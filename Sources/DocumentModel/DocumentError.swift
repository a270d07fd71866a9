/// Why a document operation was refused or could not be done.
///
/// `aborted` means that a concurrent transaction won: the whole transaction may be tried again.
/// Every other code is final for the same input.
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
}
