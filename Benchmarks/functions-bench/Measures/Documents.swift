import Foundation
import NIOCore

/// A client of Firestore's REST API, for the host and the emulator.
struct Documents: Sendable {
    static let root = "projects/\(HostProcess.project)/databases/(default)/documents"

    let requests: Requests

    /// - Parameter token: admin's by default, which both accept in development.
    init(port: Int, token: String = "owner") { requests = Requests(port: port, token: token) }

    /// A write that sets a document; the fields are in REST's format.
    static func set(_ path: String, _ fields: String) -> String {
        #"{"update":{"name":"\#(root)/\#(path)","fields":{\#(fields)}}}"#
    }

    func get(_ path: String) -> ByteBuffer { requests.get("/v1/\(Self.root)/\(path)") }

    func commit(_ writes: [String], transaction: String? = nil) -> ByteBuffer {
        let end = transaction.map { #","transaction":"\#($0)""# } ?? ""
        return verb("commit", #"{"writes":[\#(writes.joined(separator: ","))]\#(end)}"#)
    }

    func verb(_ verb: String, _ body: String) -> ByteBuffer { requests.post("/v1/\(Self.root):\(verb)", body) }

    /// Writes documents, a few hundred at a time.
    func store(_ writes: [String]) async throws {
        let size = 400
        let commits = stride(from: 0, to: writes.count, by: size).map { start in
            commit(Array(writes[start..<min(start + size, writes.count)]))
        }
        try await Load.runToEnd(ListCaller.dealt(commits, to: min(4, commits.count)), to: requests.port).check()
    }

    /// The fields of an item in a user's cart.
    static func cartItem(of number: Int) -> String {
        #""quantity":{"integerValue":"\#(number)"},"product":{"referenceValue":"\#(root)/products/p1"}"#
    }

    /// The fields of a product like the shop's.
    static func product(_ number: Int) -> String {
        """
        "name":{"stringValue":"Cup \(number)"},"desc":{"stringValue":"Porcelain, 80 ml, for an espresso"},\
        "price":{"integerValue":"1280"},"stock":{"integerValue":"\(stock)"},\
        "imageURL":{"stringValue":"https://shop.example/images/\(number).jpg"},\
        "publishedTime":{"timestampValue":"2026-01-02T03:04:05.678901Z"},\
        "owner":{"referenceValue":"\(root)/users/seller"},\
        "number":{"integerValue":"\(number)"},"group":{"integerValue":"\(number / 100)"}
        """
    }

    /// The initial stock of each product.
    static let stock = 1_000_000
}

extension LoadResponse {
    /// The text of the first `"name": "…"` in the body, with its escapes.
    ///
    /// - Parameter place: a key that precedes it.
    func text(of name: String, after place: String? = nil) -> String? {
        var body = String(buffer: body)[...]
        if let place {
            guard let key = body.range(of: "\"\(place)\"") else { return nil }
            body = body[key.upperBound...]
        }
        guard let key = body.range(of: "\"\(name)\"") else { return nil }
        let rest = body[key.upperBound...].utf8
        guard let start = rest.firstIndex(of: UInt8(ascii: "\"")) else { return nil }
        let text = rest[rest.index(after: start)...]
        return text.firstIndex(of: UInt8(ascii: "\"")).map { String(body[text.startIndex..<$0]) }
    }
}
