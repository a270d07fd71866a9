import FunctionsRuntime

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Functions that handle document events. Each records its event in `log/FUNCTION:EVENT`, where `runs` counts the runs.
extension FixtureFunctions {
    /// Retried immediately, so that tests needn't wait.
    static let quickly = Retry.exponential(from: .milliseconds(10), to: .milliseconds(40), attempts: 4)

    @FunctionsBuilder var triggers: [Function] {
        onDocumentCreated("logCreated", document: "logged/{id}", .retry(Self.quickly)) { event in
            try await log("logCreated", event)
        }
        onDocumentUpdated("logUpdated", document: "logged/{id}", .retry(Self.quickly)) { event in
            try await log("logUpdated", event, ["mask": event.updateMask?.map(\.description)])
        }
        onDocumentDeleted("logDeleted", document: "logged/{id}", .retry(Self.quickly), .withAuthContext()) { event in
            try await log("logDeleted", event)
        }
        onDocumentWritten("logWritten", document: "logged/{id}") { event in try await log("logWritten", event) }
        onDocumentWritten("logDeep", document: "deep/{path=**}/leaves/{leaf}") { event in
            try await log("logDeep", event)
        }
        onDocumentCreated("logTyped", document: "typed/{id}", .retry(Self.quickly)) {
            (event: DocumentEvent<Document<Counted>>) in
            try await log("logTyped", event, ["n": event.data.data.n])
        }
        // Adds up the created documents exactly, regardless of the number of attempts.
        onDocumentCreated("tally", document: "tallied/{id}", .retry(.exponential(from: .milliseconds(10)))) {
            (event: DocumentEvent<Document<Counted>>, transaction) in
            let tally = transaction.firestore.document("tallies/all")
            let known = try await transaction.getDocument(tally)
            let sum = known.exists ? try known.data(as: Counted.self).n : 0
            try transaction.setData(["n": sum + event.data.data.n], forDocument: tally)
        }
    }

    @FunctionsBuilder var misbehavingTriggers: [Function] {
        onDocumentCreated("trapsOnEvent", document: "traps/{id}", .retry(Self.quickly)) { event in
            _ = [1, 2, 3][event.params.count + 2]
        }
        // Traps for the document `bad`, while other handlers run in the same process.
        onDocumentCreated("trapsInCompany", document: "company/{id}", .maxInstances(1)) { event in
            try await Task.sleep(for: .milliseconds(200))
            if event.params["id"] == "bad" { _ = [1, 2, 3][event.params.count + 2] }
            try await log("trapsInCompany", event)
        }
        // Fails as many times as the document's `n` says.
        onDocumentCreated("failsTimes", document: "failing/{id}", .retry(Self.quickly)) {
            (event: DocumentEvent<Document<Counted>>) in
            let tries = event.firestore.document("tries/\(event.data.id)")
            try await tries.setData(["n": FieldValue.increment(1)], merge: true)
            guard try await tries.getDocument(as: Counted.self).data.n > event.data.data.n else {
                throw HttpsError(.unavailable, "not yet")
            }
            try await log("failsTimes", event)
        }
        onDocumentCreated("failsOnce", document: "failing/{id}") { event in
            try await log("failsOnce", event)
            throw HttpsError(.dataLoss, "never")
        }
        onDocumentCreated("failsToPrint", document: "broken/{id}") { _ in throw PrinterError.outOfPaper }
        // Runs beyond its deadline without checking for cancellation, and then commits.
        onDocumentCreated("overruns", document: "overrun/{id}", .timeout(.seconds(1)), .retry(Self.quickly)) { event in
            let work = Task.detached {
                try await event.firestore.runTransaction { transaction in
                    let late = transaction.firestore.document("late/\(event.reference.documentID)")
                    _ = try await transaction.getDocument(late)
                    try? await Task.sleep(for: .milliseconds(1200))
                    try transaction.setData(["attempt": event.attempt], forDocument: late)
                }
            }
            try await work.value
        }
        onDocumentWritten("loops", document: "loop/{id}") { event in
            guard case .integer(let n)? = event.data.after["n"], n < 1000 else { return }
            try await event.reference.updateData(["n": n + 1])
        }
        onDocumentWritten("ping", document: "pings/{id}") { event in
            guard case .integer(let n)? = event.data.after["n"], n < 1000 else { return }
            try await event.firestore.document("pongs/\(event.reference.documentID)").setData(["n": n + 1])
        }
        onDocumentWritten("pong", document: "pongs/{id}") { event in
            guard case .integer(let n)? = event.data.after["n"], n < 1000 else { return }
            try await event.firestore.document("pings/\(event.reference.documentID)").setData(["n": n + 1])
        }
    }

    @FunctionsBuilder var pacedTriggers: [Function] {
        // Appends each document's `n` in the order of the events; a document with `stumbles` fails the first time.
        onDocumentWritten("inOrder", document: "ordered/{id}", .retry(Self.quickly), .ordering(.perDocument)) {
            (event, transaction) in
            let list = transaction.firestore.document("orders/\(event.reference.documentID)")
            var seen: [Value] = []
            if case .array(let values)? = try await transaction.getDocument(list)["seen"] { seen = values }
            if event.attempt == 1, event.data.after["stumbles"] == .boolean(true) {
                throw HttpsError(.unavailable, "stumbled")
            }
            try transaction.setData(["seen": Value.array(seen + [event.data.after["n"] ?? .null])], forDocument: list)
        }
        // Runs for the number of milliseconds in the document's `n`; one at a time.
        onDocumentCreated("slowly", document: "slow/{id}", .concurrency(1), .maxInstances(1), .retry(Self.quickly)) {
            (event: DocumentEvent<Document<Counted>>) in
            try await Task.sleep(for: .milliseconds(event.data.data.n))
            try await log("slowly", event)
        }
        onDocumentCreated("flooded", document: "flood/{id}", .maxInstances(1), .retry(Self.quickly)) {
            (event: DocumentEvent<Document<Counted>>) in
            if event.data.data.n > 0 { try await Task.sleep(for: .milliseconds(event.data.data.n)) }
        }
        onDocumentCreated("calm", document: "calm/{id}", .retry(Self.quickly)) { event in try await log("calm", event) }
    }

    private enum PrinterError: Error { case outOfPaper }

    struct Counted: Codable, Sendable {
        var n: Int
    }

    private func log(
        _ function: String, _ event: DocumentEvent<some Sendable>, _ more: [String: any FieldInput] = [:]
    ) async throws {
        var fields = more
        fields["document"] = event.document
        fields["params"] = event.params
        fields["type"] = event.type
        fields["authType"] = event.authType.rawValue
        fields["authID"] = event.authID
        if let change = event.data as? Change<DocumentSnapshot> {
            fields["before"] = change.before.data()
            fields["after"] = change.after.data()
        } else if let snapshot = event.data as? DocumentSnapshot {
            fields["data"] = snapshot.data()
        }
        try await Self.log(function, event, event.id, event.attempt, fields)
    }

    static func log(
        _ function: String, _ event: some FunctionInput, _ id: String, _ attempt: Int,
        _ fields: [String: any FieldInput]
    ) async throws {
        var fields = fields
        fields["function"] = function
        fields["event"] = id
        fields["attempt"] = attempt
        fields["runs"] = FieldValue.increment(1)
        try await event.firestore.document("log/\(function):\(id)").setData(fields, merge: true)
    }
}
