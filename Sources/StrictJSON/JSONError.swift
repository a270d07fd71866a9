import TextFormats

/// The reason why a text isn't JSON, or why a value can't be written as JSON.
public struct JSONError: Error, Hashable, Sendable, CustomStringConvertible {
    package var problem: Problem
    /// The offset of the first byte of what is wrong: a string's quote, a number's first character, a backslash; nil
    /// if the error isn't about one byte of a text.
    package var offset: Int?
    /// The path from the root to the error; empty for an error in a text that is read without one.
    package var path: [PathKey]

    package init(_ problem: Problem, at offset: Int? = nil, path: [PathKey] = []) {
        self.problem = problem
        self.offset = offset
        self.path = path
    }

    /// The same error with the path of the parent.
    @usableFromInline
    package func inside(_ key: PathKey) -> JSONError { JSONError(problem, at: offset, path: [key] + path) }

    /// What is wrong, and for parsed text at which byte.
    public var reason: String { offset.map { "\(message), at byte \($0)" } ?? message }

    public var description: String { path.isEmpty ? reason : "\(path.joinedPath): \(reason)" }
}

extension JSONError {
    package enum Problem: Hashable, Sendable {
        case missingValue
        case notAValue
        case missingElementSeparator
        case missingMemberSeparator
        case missingKey
        case missingColon
        case trailingText
        case tooDeep
        case tooManyValues(Int)
        case numberWithoutDigits
        case numberWithLeadingZero
        case numberWithoutFraction
        case numberWithoutExponent
        case numberTooLarge
        case unclosedString
        case controlCharacter
        case invalidUTF8
        case unknownEscape
        case invalidHexEscape
        case halfSurrogatePair
        case tooManyMarks
        /// `firstLine` is the line of the key's first occurrence, if the reader knows it.
        case duplicateKey(String, firstLine: Int? = nil)
        case invalidInt64Wrapper
        case invalidUInt64Wrapper
        /// A value that JSON can't represent, in a sentence.
        case unrepresentable(String)
    }

    /// What is wrong, without the place.
    package var message: String {
        switch problem {
        case .missingValue: "the text ends where a value should be"
        case .notAValue: "a value should be here"
        case .missingElementSeparator: "a comma or ] should be here"
        case .missingMemberSeparator: "a comma or } should be here"
        case .missingKey: "a key in quotes should be here"
        case .missingColon: "a colon should be here"
        case .trailingText: "the text continues after the value"
        case .tooDeep: "arrays and objects are nested more than \(JSONScanner.maxDepth) deep"
        case .tooManyValues(let limit): "the text has more than \(limit) values, the limit"
        case .numberWithoutDigits: "a number has no digits"
        case .numberWithLeadingZero: "a number begins with a needless 0"
        case .numberWithoutFraction: "a number has no digits after its point"
        case .numberWithoutExponent: "a number has no digits in its exponent"
        case .numberTooLarge: "a number is larger than any double"
        case .unclosedString: "a string has no closing quote"
        case .controlCharacter: "a string contains a control character; write it as an escape"
        case .invalidUTF8: "a string is not valid UTF-8"
        case .unknownEscape: "JSON has no such escape"
        case .invalidHexEscape: "\\u needs four hexadecimal digits"
        case .halfSurrogatePair: "a string has half of a surrogate pair"
        case .tooManyMarks:
            "a string has more than \(CombiningMarks.most) combining marks, such as accents, one after the other"
        case .duplicateKey(let key, let line?): "the key \"\(key.excerpt)\" is also on line \(line); keep one"
        case .duplicateKey(let key, nil): "the key \"\(key.excerpt)\" is repeated"
        case .invalidInt64Wrapper: "an Int64Value holds no 64-bit integer in its \"value\""
        case .invalidUInt64Wrapper: "a UInt64Value holds no unsigned 64-bit integer in its \"value\""
        case .unrepresentable(let sentence): sentence
        }
    }
}
