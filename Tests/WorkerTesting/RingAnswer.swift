/// An HTTP answer as a client has received it, up to now.
package struct RingAnswer {
    package let status: Int
    package let headers: [(name: String, value: String)]
    /// Without the framing of its transfer.
    package let body: String
    package let isWhole: Bool
    /// All of it, as it came.
    package let text: String

    package subscript(name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// Reads the first answer of what a connection has brought.
    ///
    /// - Parameter isHead: whether the request was a HEAD, whose answer has no body.
    /// - Returns: nil before its head is whole.
    init?(_ received: [UInt8], isHead: Bool = false) {
        guard let headEnd = received.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
        let lines = String(decoding: received[..<headEnd.lowerBound], as: UTF8.self).split(separator: "\r\n")
        let words = lines[0].split(separator: " ")
        guard words.count >= 2, words[0] == "HTTP/1.1", let status = Int(words[1]) else { return nil }
        self.status = status
        let headers = lines.dropFirst().map { line in
            let parts = line.split(separator: ":", maxSplits: 1)
            return (name: String(parts[0]), value: parts.count > 1 ? String(parts[1].drop { $0 == " " }) : "")
        }
        self.headers = headers
        func header(_ name: String) -> String? { headers.first { $0.name.lowercased() == name }?.value }
        var rest = received[headEnd.upperBound...]
        var body: [UInt8] = []
        var isWhole = false
        if isHead || status == 204 || status == 304 {
            isWhole = true
        } else if let length = header("content-length").flatMap({ Int($0) }) {
            body = Array(rest.prefix(length))
            rest = rest.dropFirst(length)
            isWhole = body.count == length
        } else if header("transfer-encoding") == "chunked" {
            while let lineEnd = rest.firstIndex(of: 13),
                let size = Int(String(decoding: rest[..<lineEnd], as: UTF8.self), radix: 16)
            {
                let chunk = rest[lineEnd...].dropFirst(2)
                isWhole = size == 0
                body += chunk.prefix(size)
                rest = chunk.dropFirst(size + 2)
                if isWhole { break }
            }
        } else {
            body = Array(rest)
            rest = rest.suffix(0)
        }
        self.body = String(decoding: body, as: UTF8.self)
        self.isWhole = isWhole
        text = String(decoding: received[..<rest.startIndex], as: UTF8.self)
    }
}
