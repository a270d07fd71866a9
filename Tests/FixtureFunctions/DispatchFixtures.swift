import FunctionsRuntime

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Triggers for the tests of the dispatcher.
extension FixtureFunctions {
    @FunctionsBuilder var dispatched: [Function] {
        onDocumentWritten("logUser", document: "users/{uid}") { event in
            try await Self.log(
                "logUser", event, event.id, event.attempt,
                ["authType": event.authType.rawValue, "authID": event.authID])
        }
        // Records that it runs, then runs for the number of milliseconds in the document's `n`.
        onDocumentCreated("patient", document: "patient/{id}", .timeout(.seconds(500)), .retry(Self.quickly)) {
            (event: DocumentEvent<Document<Counted>>) in
            try await Self.log("patient", event, event.id, event.attempt, [:])
            try await Task.sleep(for: .milliseconds(event.data.data.n))
        }
        // Runs beyond its deadline, and records in a file when it starts and ends.
        onDocumentCreated(
            "exclusive", document: "exclusive/{id}", .timeout(.seconds(1)), .maxInstances(4),
            .retry(.exponential(from: .milliseconds(10), to: .milliseconds(20), attempts: 3))
        ) { event in
            guard case .string(let file)? = event.data["file"] else { return }
            Self.append("begin\n", to: file + ".runs")
            while !Task.isCancelled { usleep(10_000) }
            usleep(100_000)
            Self.append("end\n", to: file + ".runs")
        }
    }

    private static func append(_ text: String, to file: String) {
        let descriptor = open(file, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        guard descriptor >= 0 else { return }
        _ = text.withCString { write(descriptor, $0, strlen($0)) }
        close(descriptor)
    }
}
