/// Paths of the Realtime Database as expressions have them.
enum DatabasePathText {
    /// Many more than a node's path can have, and than an expression's `parent()` can take away.
    private static let maxSegments = 1000

    /// The segments between slashes, without empty ones. Of very many only the first: clients send texts with millions.
    static func segments(_ path: String) -> [String] {
        path.utf8.split(separator: UInt8(ascii: "/"), maxSplits: maxSegments).prefix(maxSegments).map {
            String($0) ?? ""
        }
    }

    /// Whether a node can have the key.
    static func isKey(_ key: String) -> Bool {
        var key = key
        return key.withUTF8 { bytes in
            guard !bytes.isEmpty, bytes.count <= RulesLimits.databaseKeyBytes else { return false }
            for byte in bytes {
                switch byte {
                case 0..<0x20, 0x7F, UInt8(ascii: "."), UInt8(ascii: "$"), UInt8(ascii: "#"), UInt8(ascii: "["),
                    UInt8(ascii: "]"), UInt8(ascii: "/"):
                    return false
                default: break
                }
            }
            return true
        }
    }
}
