/// The reason and the position for which a text is rejected.
package struct JSONSyntaxError: Error, Hashable, Sendable {
    package var reason: Reason
    /// The offset of the invalid token: a string's quote, a number's first character, a backslash.
    package var offset: Int
    /// The offset at which parsing stopped, at or after `offset`.
    package var position: Int

    package enum Reason: Hashable, Sendable {
        case missingValue
        case notAValue
        case missingElementSeparator
        case missingMemberSeparator
        case missingKey
        case missingColon
        case trailingText
        case tooDeep
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
        case loneSurrogate
        /// `first` is the offset of the key's first occurrence, if the reader knows it.
        case duplicateKey(first: Int?)
        case invalidInt64Wrapper
        case invalidUInt64Wrapper
    }

    package init(_ reason: Reason, offset: Int, position: Int? = nil) {
        self.reason = reason
        self.offset = offset
        self.position = position ?? offset
    }

    /// The message for requests and configuration, which report `offset` as line and column.
    package var message: String {
        switch reason {
        case .missingValue: "the text ends where a value should be"
        case .notAValue: "a value should be here"
        case .missingElementSeparator: "a comma or ] should be here"
        case .missingMemberSeparator: "a comma or } should be here"
        case .missingKey: "a key in quotes should be here"
        case .missingColon: "a colon should be here"
        case .trailingText: "text goes on after the end of the value"
        case .tooDeep: "nested more than \(JSONScanner.maxDepth) deep, the limit"
        case .numberWithoutDigits, .numberWithLeadingZero, .numberWithoutFraction, .numberWithoutExponent:
            "not a number as JSON writes it"
        case .numberTooLarge: "a number beyond what a double can hold"
        case .unclosedString: "a string without its closing quote"
        case .controlCharacter: "a control character inside a string; write it as an escape"
        case .invalidUTF8: "a string that is not valid UTF-8"
        case .unknownEscape: "no escape that JSON knows"
        case .invalidHexEscape: "\\u needs four hexadecimal digits"
        case .loneSurrogate: "half of a surrogate pair"
        case .duplicateKey: "a key that the object has already; keep one"
        case .invalidInt64Wrapper: "an Int64Value holds no 64-bit integer in its \"value\""
        case .invalidUInt64Wrapper: "a UInt64Value holds no unsigned 64-bit integer in its \"value\""
        }
    }

    /// The message, which names a duplicate key.
    ///
    /// - Parameter bytes: The parsed text.
    package func message(in bytes: UnsafeRawBufferPointer) -> String {
        guard case .duplicateKey(let first) = reason else { return message }
        var scanner = JSONScanner(bytes)
        scanner.position = offset
        let key = (try? scanner.string()) ?? ""
        guard let first else { return "the key \"\(key)\" stands here a second time; keep one" }
        return "the key \"\(key)\" stands here and on line \(JSONPosition(of: first, in: bytes).line); keep one"
    }
}
