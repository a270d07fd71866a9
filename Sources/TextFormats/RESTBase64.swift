#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Bytes as protobuf's JSON has them: written in standard base64, read in the URL's alphabet and unpadded too.
package enum RESTBase64 {
    package static func text(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

    /// Nil where the text is no base64.
    package static func bytes(_ text: String) -> [UInt8]? {
        var characters = text.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "-"): UInt8(ascii: "+")
            case UInt8(ascii: "_"): UInt8(ascii: "/")
            default: byte
            }
        }
        while characters.count % 4 != 0 {
            guard characters.count % 4 != 1 else { return nil }
            characters.append(UInt8(ascii: "="))
        }
        return Data(base64Encoded: Data(characters)).map { Array($0) }
    }
}
