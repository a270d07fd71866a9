import Foundation

/// Email addresses and phone numbers in the form in which they are stored.
enum Contact {
    /// - Returns: the address with ASCII letters in lower case; nil if it can't be one. Other letters stay as they are, and
    ///   must be in their composed form: no two addresses become one.
    static func email(_ text: String) -> String? {
        let parts = text.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }), text.utf8.count <= 256,
            !text.unicodeScalars.contains(where: { $0.properties.isWhitespace || $0.value < 32 || $0.value == 127 })
        else { return nil }
        let folded = String(decoding: text.utf8.map { (65...90).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
        // After that: some small letters have a composed form that their capitals don't have.
        return folded.utf8.elementsEqual(folded.precomposedStringWithCanonicalMapping.utf8) ? folded : nil
    }

    /// - Returns: a plus sign and up to 15 digits (E.164); nil if the text is something else.
    static func phoneNumber(_ text: String) -> String? {
        let separators: Set<Character> = [" ", "-", "(", ")", "."]
        let number = text.filter { !separators.contains($0) }
        guard number.first == "+", (6...16).contains(number.utf8.count),
            number.dropFirst().allSatisfy({ $0.isASCII && $0.isNumber })
        else { return nil }
        return number
    }

    static let invalidNumber = "INVALID_PHONE_NUMBER : Invalid format."
}
