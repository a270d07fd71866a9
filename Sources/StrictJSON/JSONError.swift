/// The reason why bytes aren't JSON, or why a value can't be represented in JSON.
public struct JSONError: Error, Sendable, CustomStringConvertible {
    /// What is wrong, and for parsed text at which byte.
    public let reason: String
    /// The path from the root to the error; empty for a malformed text.
    package let path: [PathKey]

    package init(_ reason: String, path: [PathKey] = []) {
        self.reason = reason
        self.path = path
    }

    /// The same error with the path of the parent.
    @usableFromInline
    package func inside(_ key: PathKey) -> JSONError { JSONError(reason, path: [key] + path) }

    public var description: String { path.isEmpty ? reason : "\(path.joinedPath): \(reason)" }
}

extension JSONError {
    /// The error in the wording for authors and clients of their functions, with the byte at which parsing stopped.
    init(_ error: JSONSyntaxError, in bytes: UnsafeRawBufferPointer, path: [PathKey] = []) {
        let what =
            switch error.reason {
            case .missingValue: "a value is missing"
            case .notAValue: "no value begins like this"
            case .missingElementSeparator: "an array's element is followed by neither , nor ]"
            case .missingMemberSeparator: "an object's member is followed by neither , nor }"
            case .missingKey: "an object's key is missing"
            case .missingColon: "a key is not followed by :"
            case .trailingText: "nothing may follow the JSON value"
            case .tooDeep: "the JSON is nested more than \(JSONScanner.maxDepth) deep"
            case .numberWithoutDigits: "a number has no digits"
            case .numberWithLeadingZero: "a number begins with 0"
            case .numberWithoutFraction: "a number has no digits after its point"
            case .numberWithoutExponent: "a number has no digits in its exponent"
            case .numberTooLarge: "a number is too large"
            case .unclosedString: "a string is not closed"
            case .controlCharacter: "a string holds a control character that is not escaped"
            case .invalidUTF8: "a string is not valid UTF-8"
            case .unknownEscape: "a string holds an unknown escape"
            case .invalidHexEscape: "\\u takes four hexadecimal digits"
            case .loneSurrogate: "a string holds half of a surrogate pair"
            case .duplicateKey, .invalidInt64Wrapper, .invalidUInt64Wrapper: error.message(in: bytes)
            }
        switch error.reason {
        case .invalidInt64Wrapper, .invalidUInt64Wrapper: self.init(what, path: path)
        default:
            let place = error.position < bytes.count ? "at byte \(error.position)" : "at the end"
            self.init("\(what), \(place)", path: path)
        }
    }
}
