import FunctionsRuntime

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

extension FixtureFunctions {
    /// For the benchmark: `FIXTURE_PATTERNS` document triggers and nothing else. One of them is `stamp`; the others
    /// match nothing that the benchmark writes.
    var measured: [Function]? {
        guard let text = getenv("FIXTURE_PATTERNS"), let count = Int(String(cString: text)), count > 0 else {
            return nil
        }
        return [stamp]
            + (1..<count).map { number in
                onDocumentCreated("other\(number)", document: "others\(number)/{id}") { event in _ = event.params["id"]
                }
            }
    }

    /// For the benchmark: appends when an event happened and when its handler started, both in microseconds since 1970,
    /// to the file that the document names.
    var stamp: Function {
        onDocumentCreated("stamp", document: "stamps/{id}") { event in
            var now = timespec()
            clock_gettime(CLOCK_REALTIME, &now)
            guard case .string(let file)? = event.data.get("file") else { return }
            let line = "\(event.time.microseconds) \(Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1000)\n"
            let descriptor = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { return }
            defer { close(descriptor) }
            // One call, so that lines of several handlers don't mix.
            _ = line.utf8.withContiguousStorageIfAvailable { write(descriptor, $0.baseAddress, $0.count) }
        }
    }
}
