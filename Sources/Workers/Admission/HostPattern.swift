package import WorkerProtocol

/// A host name that requests may be for: `shop.test`, or with `*.shop.test` all names below one. Or an address that
/// serves pages.
package struct HostPattern: Hashable, Sendable {
    /// In lower case; of a wildcard, what follows the star.
    private let name: String
    private let isWildcard: Bool
    private let address: IPAddress?

    /// - Returns: nil if the text is neither a host name, alone or after `*.`, nor an address, each without a port.
    package init?(_ text: some StringProtocol) {
        let lower = text.lowercased()
        // As URLs have one of IPv6.
        let isInBrackets = lower.hasPrefix("[") && lower.hasSuffix("]")
        address = IPAddress(isInBrackets ? lower.dropFirst().dropLast() : lower[...])
        guard address == nil else {
            name = lower
            isWildcard = false
            return
        }
        isWildcard = lower.hasPrefix("*.")
        name = isWildcard ? String(lower.dropFirst()) : lower
        let labels = name.dropFirst(isWildcard ? 1 : 0).split(separator: ".", omittingEmptySubsequences: false)
        let isName = labels.allSatisfy { label in
            (1...63).contains(label.utf8.count)
                && label.utf8.allSatisfy {
                    (97...122).contains($0) || (48...57).contains($0) || $0 == UInt8(ascii: "-")
                        || $0 == UInt8(ascii: "_")
                }
        }
        guard isName, name.utf8.count <= 253 else { return nil }
    }

    /// - Parameter host: a host name in lower case, without a port.
    package func matches(_ host: String) -> Bool { isWildcard ? host.hasSuffix(name) : host == name }

    package func matches(_ address: IPAddress) -> Bool { self.address == address }
}
