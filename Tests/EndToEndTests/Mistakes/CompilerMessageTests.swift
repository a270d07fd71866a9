import Foundation
import Testing

/// What the compiler says first about a mistake in a bundle: at the mistake's line, and in its words.
///
/// Overloads and literals of the runtime's API decide that. Without care, the compiler reports the whole function, or
/// nothing but "failed to produce diagnostic for expression".
@Suite struct CompilerMessageTests {
    /// A mistake is marked by `/*!*/` at the start of its line.
    static let mistakes: [(code: String, message: String)] = [
        (
            """
            onCall("a") { (request: CallableRequest<Item>) in
                if request.data.price > 0 { return "x" }
            /*!*/ return 5
            }
            """, "cannot convert value of type 'Int' to closure result type 'String'"
        ),
        (
            """
            onCall("a") { (request: CallableRequest<Item>) in
                let items = try await request.firestore.collection("items").getDocuments(as: Item.self)
            /*!*/ return items.first?.data.prise
            }
            """, "value of type 'Item' has no member 'prise'"
        ),
        (
            """
            onCall("a") { (request: CallableRequest<Item>) in
            /*!*/ let found = request.firestore.document("a/b").getDocument()
                return found.exists
            }
            """, "call can throw, but it is not marked with 'try'"
        ),
        (
            """
            onCall("a") { (request: CallableRequest<Item>, response: StreamingResponse<Int>) in
            /*!*/ for number in 0..<3 { try await response.sendChunk("\\(number)") }
                return "x"
            }
            """, "cannot convert value of type 'String' to expected argument type 'Int'"
        ),
        (
            """
            onCall("a") { (request: CallableRequest<Item>, transaction: Transaction) in
                let item = transaction.firestore.document("items/a")
                let stock: Int = try await transaction.getDocument(item).get("stock")
            /*!*/ try transaction.updateData(["stock": stock - "1", "tags": ["a", 1]], forDocument: item)
            }
            """, "cannot convert value of type 'String' to expected argument type 'Int'"
        ),
        (
            """
            onCall("a") { (request: CallableRequest<Item>, transaction: Transaction) in
                let item = transaction.firestore.document("items/a")
            /*!*/ try transaction.updateData(["n": FieldValue.incremnt(1), "a": ["b": 1, "c": "d"]], forDocument: item)
                return true
            }
            """, "type 'FieldValue' has no member 'incremnt'"
        ),
        (
            """
            /*!*/ onCall("a", .memry(.gib(1))) { (request: CallableRequest<Item>) in
                "x"
            }
            """, "has no member 'memry'"
        ),
        (
            """
            onCall("a") { (request: CallableRequest<Item>) in
            /*!*/ if request.data.price < 0 { throw HttpsError(.invalidArgumet, "negative") }
                return ["ok": true]
            }
            """, "has no member 'invalidArgumet'"
        ),
        (
            """
            onDocumentUpdated("a", document: "items/{id}") { event in
            /*!*/ guard event.data.befor["price"] != event.data.after["price"] else { return }
                try await event.reference.updateData(["changed": true, "by": ["a": 1, "b": nil]])
            }
            """, "value of type 'Change<DocumentSnapshot>' has no member 'befor'"
        ),
        (
            """
            onDocumentCreated("a", document: "items/{id}") { (event: DocumentEvent<Document<Item>>, transaction) in
            /*!*/ let name = event.data.data.nam
                try transaction.setData(["name": name], forDocument: event.reference)
            }
            """, "value of type 'Item' has no member 'nam'"
        ),
        (
            """
            onSchedule("a", schedule: "every 5 minutes") { event in
            /*!*/ let name: Int = event.jobName
                event.logger.info("\\(name)")
            }
            """, "cannot convert value of type 'String' to specified type 'Int'"
        ),
        (
            """
            onRequest("a") { request in
                guard request.method == "POST" else {
            /*!*/ return .text("no", code: 405)
                }
                return .text("x")
            }
            """, "extra argument 'code' in call"
        ),
        (
            """
            onRequest("a") { request in
            /*!*/ let name = request.pth
                return .text(name)
            }
            """, "value of type 'HTTPRequest' has no member 'pth'"
        ),
        (
            """
            onRequest(routing: "a") { routes in
                routes.group("items") { items in
                    items.get("{id}") { request in
            /*!*/ let id: Int = try request.parameter("id")
                        return .text("\\(id)")
                    }
                    items.use { request, next in try await next(request) }
                }
            }
            """, "cannot convert value of type 'String' to specified type 'Int'"
        ),
        (
            """
            onRequest(routing: "a") { routes in
                routes.get("a") { _ in .text("a") }
            /*!*/ routes.fetch("b") { _ in .text("b") }
            }
            """, "value of type 'Routes' has no member 'fetch'"
        ),
        (
            """
            onRequest("a") { routes in
            /*!*/ routes.get("items") { request in .text("x") }
                return .text("x")
            }
            """, "list routes with onRequest(routing: "
        ),
        (
            """
            onTaskDispatched("a") { (request: TaskRequest<Item>) in
            /*!*/ try await request.taskQueue("b").enqueu(request.data)
            }
            """, "value of type 'TaskQueue' has no member 'enqueu'"
        ),
    ]

    private static let correct = """
        onCall("correct") { (request: CallableRequest<Item>) in
            let item = request.firestore.document("items/a")
            try await item.setData([
                "a": ["u": "x", "n": 3, "tags": ["p", 1], "none": nil], "price": request.data.price, "item": request.data,
            ])
            for document in try await request.firestore.collection("items").getDocuments() {
                request.logger.info("\\(document.price?.intValue ?? 0)")
            }
            let name: String? = try await item.getDocument().get("name")
            return name
        }
        """

    @Test func mistakesAreReportedWhereTheyAre() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let codes = Self.mistakes.map(\.code) + [Self.correct]
        for (number, code) in codes.enumerated() {
            try Data((Self.before + code + "\n} }\n").utf8).write(
                to: directory.appending(path: "bundle\(number).swift"))
        }
        let messages = try await Compiler.errors(in: codes.indices.map { "bundle\($0).swift" }, of: directory)
        for (number, (code, message)) in Self.mistakes.enumerated() {
            let lines = Self.before.split(separator: "\n").count
            let marked = try #require(code.split(separator: "\n").firstIndex { $0.hasPrefix("/*!*/") })
            let first = messages.first { $0.contains("bundle\(number).swift:") } ?? "nothing"
            #expect(first.contains("bundle\(number).swift:\(lines + marked + 1):"), "\(first)\n\(code)")
            #expect(first.contains(message), "\(first)\n\(code)")
        }
        #expect(messages.filter { $0.contains("bundle\(Self.mistakes.count).swift") } == [])
        #expect(messages.contains { $0.contains("bundle") }, "\(messages)")
    }

    private static let before = """
        import FunctionsRuntime
        private struct Item: Codable, Sendable { var name: String; var price: Int }
        private struct Mistaken: FunctionBundle { var functions: [Function] {
        onCall("first") { (request: CallableRequest<NoData>) in 1 }

        """
}
