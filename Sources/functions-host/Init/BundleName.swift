/// What a new package is called, and what follows from it.
struct BundleName: Sendable {
    /// As it was given: the package, its directory and the bundle.
    let text: String
    /// The target, the executable and the bundle's type: `GuestBookFunctions` of `guest-book`.
    let product: String

    /// Targets of the runtime's package, which no other package in the build may have too.
    private static let taken = ["AloneFunctions", "FixtureFunctions", "ShopFunctions"]

    /// - Throws: a sentence that says what a name is.
    init(_ text: String) throws(InitError) {
        let bytes = Array(text.utf8)
        let isName =
            (1...25).contains(bytes.count) && bytes.first.map(Self.isLetter) == true && bytes.last != Self.hyphen
            && bytes.allSatisfy { Self.isLetter($0) || (48...57).contains($0) || $0 == Self.hyphen }
        guard isName else {
            throw InitError(
                "\"\(text)\" is no name for a package; write at most 25 letters, digits and hyphens, a letter first "
                    + "and no hyphen last, such as guest-book")
        }
        let words = text.split(separator: "-").map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
        let product = words.hasSuffix("Functions") ? words : words + "Functions"
        guard !Self.taken.contains(product) else {
            throw InitError("the runtime's own package has a \(product) already; choose another name than \"\(text)\"")
        }
        self.text = text
        self.product = product
    }

    /// A project of no cloud, as the name's lower case makes it: 6 to 30 letters, digits and hyphens.
    var project: String { "demo-" + text.lowercased() }

    private static let hyphen = UInt8(ascii: "-")

    private static func isLetter(_ byte: UInt8) -> Bool { (65...90).contains(byte) || (97...122).contains(byte) }
}
