/// The name of a new package, and the names derived from it.
struct BundleName: Sendable {
    /// As given: the name of the package, its directory and the bundle.
    let text: String
    /// The name of the target, the executable and the bundle's type: `GuestBookFunctions` for `guest-book`.
    let product: String

    /// Targets of the runtime's package; no other package in the build may use these names.
    private static let taken = [
        "StandaloneFunctions", "FixtureFunctions", "ShopFunctions", "ChatFunctions", "MailFunctions",
        "PaymentFunctions", "PushFunctions", "ObjectStoreFunctions", "ChatbotFunctions",
    ]

    /// - Throws: If the name is invalid, with the rules for names.
    init(_ text: String) throws(InitError) {
        let bytes = Array(text.utf8)
        let isName =
            (1...25).contains(bytes.count) && bytes.first.map(Self.isLetter) == true && bytes.last != Self.hyphen
            && bytes.allSatisfy { Self.isLetter($0) || (48...57).contains($0) || $0 == Self.hyphen }
        guard isName else {
            throw InitError(
                "\"\(text)\" isn't a valid package name; use at most 25 letters, digits and hyphens, a letter first "
                    + "and no hyphen last, such as guest-book")
        }
        let words = text.split(separator: "-").map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
        let product = words.hasSuffix("Functions") ? words : words + "Functions"
        guard !Self.taken.contains(product) else {
            throw InitError("the runtime's own package already has a \(product); choose another name than \"\(text)\"")
        }
        self.text = text
        self.product = product
    }

    /// The project id, which belongs to no cloud project: the name in lower case, 6 to 30 letters, digits and hyphens.
    var project: String { "demo-" + text.lowercased() }

    private static let hyphen = UInt8(ascii: "-")

    private static func isLetter(_ byte: UInt8) -> Bool { (65...90).contains(byte) || (97...122).contains(byte) }
}
