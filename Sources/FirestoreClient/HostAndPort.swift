/// The format of variables that name an emulator's address: `127.0.0.1:8080`, `localhost:8080`, `[::1]:8080`.
package enum HostAndPort {
    package static func isValid(_ text: String) -> Bool {
        guard let colon = text.lastIndex(of: ":"), colon != text.startIndex else { return false }
        let isHost = text[..<colon].utf8.allSatisfy { byte in
            switch byte {
            case 48...57, 65...90, 97...122, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: ":"):
                true
            default: false
            }
        }
        return isHost && (UInt16(text[text.index(after: colon)...]) ?? 0) > 0
    }
}
