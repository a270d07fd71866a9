/// The form of a Firebase project's id.
package enum ProjectID {
    package static func isValid(_ text: String) -> Bool {
        (6...30).contains(text.utf8.count) && text.utf8.first.map(isLowercase) == true && !text.hasSuffix("-")
            && text.utf8.allSatisfy { isLowercase($0) || (48...57).contains($0) || $0 == UInt8(ascii: "-") }
    }

    /// For sentences.
    package static let description = "write 6 to 30 lower-case letters, digits and hyphens that begin with a letter"

    private static func isLowercase(_ byte: UInt8) -> Bool { (97...122).contains(byte) }
}
