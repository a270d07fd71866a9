/// Paths of the Realtime Database as expressions have them.
enum DatabasePathText {
    /// The segments between slashes, without empty ones.
    static func segments(_ path: String) -> [String] {
        path.utf8.split(separator: UInt8(ascii: "/")).map { String($0) ?? "" }
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
