/// An address of mail that can stand in SMTP's commands and in a message's headers, and the name that is shown with it.
package struct MailAddress: Hashable, Sendable {
    /// Such as `ada@example.com`.
    package let address: String
    /// Has no control characters.
    package let name: String?

    /// - Returns: nil if it isn't an address, or is one of the kinds that need quotes, such as `"a b"@example.com`.
    package init?(_ address: String, name: String? = nil) {
        guard let at = address.lastIndex(of: "@") else { return nil }
        let (local, domain) = (address[..<at], address[address.index(after: at)...])
        guard (1...64).contains(local.utf8.count), (1...255).contains(domain.utf8.count),
            Self.isMade(of: local, Self.isAtomText), Self.isMade(of: domain, Self.isLabelText),
            domain.split(separator: ".").allSatisfy({
                $0.utf8.count <= 63 && $0.first != "-" && $0.last != "-"
            }),
            name?.unicodeScalars.allSatisfy({ $0.value >= 32 && !(127...159).contains($0.value) }) ?? true
        else { return nil }
        self.address = address
        self.name = name
    }

    /// An address as people write it: `ada@example.com`, `Ada <ada@example.com>` or `"Shop, Inc." <shop@example.com>`.
    ///
    /// - Returns: nil if it is something else.
    package init?(mailbox text: String) {
        guard text.last == ">", let start = text.lastIndex(of: "<") else {
            self.init(text)
            return
        }
        var name = Substring(text[..<start])
        while name.last == " " { name.removeLast() }
        if name.count >= 2, name.first == "\"", name.last == "\"" { name = name.dropFirst().dropLast() }
        self.init(String(text[text.index(after: start)...].dropLast()), name: name.isEmpty ? nil : String(name))
    }

    package var domain: Substring { address[address.index(after: address.lastIndex(of: "@") ?? address.startIndex)...] }

    /// Parts between dots, none of them empty.
    private static func isMade(of text: Substring, _ isAllowed: (Unicode.Scalar) -> Bool) -> Bool {
        text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy {
            !$0.isEmpty && $0.unicodeScalars.allSatisfy(isAllowed)
        }
    }

    /// RFC 5322, and beyond ASCII RFC 6531.
    private static func isAtomText(_ scalar: Unicode.Scalar) -> Bool {
        isLabelText(scalar) || "!#$%&'*+/=?^_`{|}~".unicodeScalars.contains(scalar)
    }

    private static func isLabelText(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", "-": true
        default: scalar.value >= 0xA0 && !scalar.properties.isWhitespace
        }
    }
}
