/// What another service answered.
package struct OutboundResponse: Hashable, Sendable {
    package var status: Int
    package var headers: [String: String]
    package var body: [UInt8]

    package init(status: Int, headers: [String: String] = [:], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The value of a header, whose name may be in any case.
    package func header(_ name: String) -> String? {
        headers[name] ?? headers.first { $0.key.lowercased() == name.lowercased() }?.value
    }
}
