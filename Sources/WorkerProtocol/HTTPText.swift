/// What may stand in a message's head.
package enum HTTPText {
    /// Whether name and value can be sent: no control characters, by which a function's input could forge headers.
    package static func isField(_ name: String, _ value: String) -> Bool {
        isToken(name) && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
    }

    /// Whether a text is a token (RFC 9110, 5.6.2), as methods and the names of headers are.
    package static func isToken(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !separators.contains($0) }
    }

    /// Whether a body with this `Content-Encoding` is compressed. Some clients send a charset there, or nothing.
    package static func isCompression(_ coding: String) -> Bool {
        coding.lowercased().split { $0 == "," || $0 == " " }.contains { compressions.contains(String($0)) }
    }

    private static let compressions: Set = ["gzip", "x-gzip", "deflate", "br", "zstd", "compress", "x-compress"]

    private static let separators = Set("()<>@,;:\\\"/[]?={}".utf8)
}

extension HTTPAnswerHead {
    /// What the function set, less what is the host's own business and what can't be sent.
    package var sentHeaders: [(name: String, value: String)] {
        headers.pairs.filter { name, value in
            switch name.lowercased() {
            case "connection", "content-length", "transfer-encoding", "keep-alive", "upgrade": false
            default: HTTPText.isField(name, value)
            }
        }
    }
}
