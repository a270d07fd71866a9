import Testing

/// What tests of events do with a host: change documents, and read what functions were told.
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

    /// A document's fields; nil where there is none.
    func fields(_ path: String) async throws -> JSON? {
        let answer = try await firestore.send("GET", "\(Self.documents)/\(path)", headers: Self.owner)
        if answer.status == 404 { return nil }
        try #require(answer.status == 200, "\(answer.text)")
        return try JSON(parsing: answer.text)["fields"]
    }

    func integer(_ path: String, _ field: String = "n") async throws -> Int? {
        try await fields(path)?[field]?["integerValue"]?.integer
    }

    /// What a function of the fixture wrote down of the events that it was told of, in their order.
    func told(_ function: String) async throws -> [JSON] {
        let answer = try await firestore.send(
            "GET", "\(Self.documents)/log?pageSize=300", headers: Self.owner)
        try #require(answer.status == 200, "\(answer.text)")
        return try JSON(parsing: answer.text)["documents"]?.list.compactMap { $0["fields"] }
            .filter { $0["function"]?["stringValue"]?.text == function } ?? []
    }

    /// Waits until a function was told of so many events.
    @discardableResult
    func wait(for count: Int = 1, of function: String) async throws -> [JSON] {
        var told: [JSON] = []
        try await Bound.wait("\(function) is told of \(count); it was of \(told.count)") {
            told = try await self.told(function)
            return told.count >= count
        }
        return told
    }

    /// Waits until the host's log has so many lines that hold all the texts.
    func waitForLog(_ texts: String..., count: Int = 1) async throws {
        try await Bound.wait("the log tells \(texts)") {
            self.process.errors.split(separator: "\n").count { line in texts.allSatisfy { line.contains($0) } } >= count
        }
    }
}

extension JSON {
    /// What a value of Firestore's JSON says, where it is a text or a number.
    func value(_ name: String) -> String? {
        guard case .object(let members)? = self[name] else { return nil }
        return members["stringValue"]?.text ?? members["integerValue"]?.text
    }
}
