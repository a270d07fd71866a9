import FunctionsRuntime

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

extension FixtureFunctions {
    /// For the benchmark: `FIXTURE_PATTERNS` triggers of documents, or `FIXTURE_REFERENCES` of the Realtime Database, and
    /// nothing else. One of them stamps; the others match nothing that the benchmark writes.
    var measured: [Function]? {
        if let count = count("FIXTURE_PATTERNS") {
            return [stamp]
                + (1..<count).map { number in
                    onDocumentCreated("other\(number)", document: "others\(number)/{id}") { event in
                        _ = event.params["id"]
                    }
                }
        }
        guard let count = count("FIXTURE_REFERENCES") else { return nil }
        return [stampValue]
            + (1..<count).map { number in
                onValueCreated("other\(number)", reference: "others\(number)/{id}") { event in _ = event.params["id"] }
            }
    }

    private func count(_ variable: String) -> Int? {
        getenv(variable).flatMap { Int(String(cString: $0)) }.flatMap { $0 > 0 ? $0 : nil }
    }

    /// The same as ``stamp`` for the Realtime Database: the value is the file's path.
    private var stampValue: Function {
        onValueCreated("stampValue", reference: "stamps/{id}") { event in
            if case .string(let file) = event.data.value { append(event.time.microseconds, to: file) }
        }
    }

    /// For the benchmark: appends when an event happened and when its handler started, both in microseconds since 1970,
    /// to the file that the document names.
    var stamp: Function {
        onDocumentCreated("stamp", document: "stamps/{id}") { event in
            if case .string(let file)? = event.data.get("file") { append(event.time.microseconds, to: file) }
        }
    }

    private func append(_ time: Int64, to file: String) {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        let line = "\(time) \(Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1000)\n"
        let descriptor = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        // One call, so that lines of several handlers don't mix.
        _ = line.utf8.withContiguousStorageIfAvailable { write(descriptor, $0.baseAddress, $0.count) }
    }
}
