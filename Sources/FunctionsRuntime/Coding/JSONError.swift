/// Why bytes aren't JSON, or a value can't become JSON.
public struct JSONError: Error, Sendable, CustomStringConvertible {
    /// What is wrong, and at which byte where it was read.
    public let reason: String
    /// The way from the root to what is wrong, where it is more than a slip in the text.
    let path: [PathKey]

    init(_ reason: String, path: [PathKey] = []) {
        self.reason = reason
        self.path = path
    }

    /// The same error as seen from one level up.
    func inside(_ key: PathKey) -> JSONError { JSONError(reason, path: [key] + path) }

    public var description: String { path.isEmpty ? reason : "\(path.joinedPath): \(reason)" }
}
