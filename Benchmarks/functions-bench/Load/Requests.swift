import NIOCore

/// Creates requests to one server as raw HTTP.
struct Requests: Sendable {
    var port: Int
    /// Sent as `Authorization: Bearer …`; nil for none.
    var token: String?

    /// - Parameter header: a further one.
    func get(_ path: String, header: String? = nil) -> ByteBuffer { request("GET", path, body: nil, header: header) }

    func post(_ path: String, _ body: String) -> ByteBuffer { request("POST", path, body: body) }

    func put(_ path: String, _ body: String, header: String? = nil) -> ByteBuffer {
        request("PUT", path, body: body, header: header)
    }

    func patch(_ path: String, _ body: String) -> ByteBuffer { request("PATCH", path, body: body) }

    private func request(_ method: String, _ path: String, body: String?, header: String? = nil) -> ByteBuffer {
        var text = "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n"
        if let token { text += "Authorization: Bearer \(token)\r\n" }
        if let header { text += "\(header)\r\n" }
        if let body { text += "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n" }
        return ByteBuffer(string: text + "\r\n" + (body ?? ""))
    }
}
