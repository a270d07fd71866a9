import Testing

/// What tests of events do with a host: change documents, and read which events functions received.
extension RunningHost {
    private static let documents = "/v1/projects/demo-shop/databases/(default)/documents"
    private static let owner = ["Authorization": "Bearer owner", "Content-Type": "application/json"]

    /// Writes a document as the admin.
    /// - Parameter fields: Firestore's JSON, `"n": { "integerValue": "1" }`.
    func set(_ path: String, _ fields: String = "", headers: [String: String] = owner) async throws {
        let answer = try await firestore.send(
            "PATCH", "\(Self.documents)/\(path)", headers: headers, #"{"fields":{\#(fields)}}"#)
        try #require(answer.status == 200, "\(answer.text)")
    }

    func set(_ path: String, n: Int, _ more: String = "") async throws {
        try await set(path, #""n":{"integerValue":"\#(n)"}"# + (more.isEmpty ? "" : "," + more))
    }

    func delete(_ path: String) async throws {
        let answer = try await firestore.send("DELETE", "\(Self.documents)/\(path)", headers: Self.owner)
        try #require(answer.status == 200, "\(answer.text)")
    }

    /// Writes many documents of a collection in one commit.
    func set(_ collection: String, ids: [String], n: Int) async throws {
        let name = "projects/demo-shop/databases/(default)/documents/\(collection)"
        let writes = ids.map {
            #"{"update":{"name":"\#(name)/\#($0)","fields":{"n":{"integerValue":"\#(n)"}}}}"#
        }
        let answer = try await firestore.send(
            "POST", "\(Self.documents):commit", headers: Self.owner,
            #"{"writes":[\#(writes.joined(separator: ","))]}"#)
        try #require(answer.status == 200, "\(answer.text)")
    }

    /// A document's fields; nil if it doesn't exist.
    func fields(_ path: String) async throws -> JSON? {
        let answer = try await firestore.send("GET", "\(Self.documents)/\(path)", headers: Self.owner)
        if answer.status == 404 { return nil }
        try #require(answer.status == 200, "\(answer.text)")
        return try JSON(parsing: answer.text)["fields"]
    }

    func integer(_ path: String, _ field: String = "n") async throws -> Int? {
        try await fields(path)?[field]?["integerValue"]?.integer
    }

    /// What a function of the fixture recorded about the events that it received, in their order.
    func received(by function: String) async throws -> [JSON] {
        let answer = try await firestore.send(
            "GET", "\(Self.documents)/log?pageSize=300", headers: Self.owner)
        try #require(answer.status == 200, "\(answer.text)")
        return try JSON(parsing: answer.text)["documents"]?.list.compactMap { $0["fields"] }
            .filter { $0["function"]?["stringValue"]?.text == function } ?? []
    }

    /// Waits until a function has received a number of events.
    @discardableResult
    func wait(for count: Int = 1, of function: String) async throws -> [JSON] {
        var received: [JSON] = []
        try await Bound.wait("\(function) receives \(count) events; it has received \(received.count)") {
            received = try await self.received(by: function)
            return received.count >= count
        }
        return received
    }

    /// Waits until the host's log has a number of lines that contain all the texts.
    func waitForLog(_ texts: String..., count: Int = 1) async throws {
        try await Bound.wait("the log contains \(texts)") {
            self.process.errors.split(separator: "\n").count { line in texts.allSatisfy { line.contains($0) } } >= count
        }
    }
}

extension JSON {
    /// A string or an integer of Firestore's JSON, as text.
    func value(_ name: String) -> String? {
        guard case .object(let members)? = self[name] else { return nil }
        return members["stringValue"]?.text ?? members["integerValue"]?.text
    }
}
