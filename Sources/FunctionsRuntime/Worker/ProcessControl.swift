import CFunctionsSystem
import WorkerProtocol

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The few things a worker asks of the operating system.
enum ProcessControl {
    static let standardOutput: Int32 = 1

    /// Ends the process without running what is registered for its exit: handlers may still be running.
    static func exit(_ status: Int32) -> Never { _exit(status) }

    /// - Returns: whether all bytes were written.
    static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            #if canImport(Glibc)
                let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            #elseif canImport(Musl)
                let count = rest.withUnsafeBytes { Musl.write(descriptor, $0.baseAddress, $0.count) }
            #else
                let count = rest.withUnsafeBytes { Darwin.write(descriptor, $0.baseAddress, $0.count) }
            #endif
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// Has the kernel kill this process when the host dies, whatever the handlers are doing then.
    ///
    /// The link's end tells the same, but only to a process that still looks at its link. Where the host died before
    /// this call the link is closed already, and the worker ends by that.
    static func dieWithHost() {
        #if os(Linux)
            _ = functions_die_with_parent()
        #endif
    }

    /// Has what handlers print reach the host with every line, while their invocation still runs.
    static func writeOutputByLine() { functions_write_output_by_line() }

    /// Writing to what nobody reads any more is an error to handle, not the end of the process.
    static func ignoreBrokenPipes() { _ = signal(SIGPIPE, SIG_IGN) }

    /// Parks the calling thread.
    static func park() -> Never {
        while true { _ = pause() }
    }

    static func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }
}

enum StandardError {
    static func write(_ text: String) { _ = ProcessControl.write(Array(text.utf8), to: 2) }
}

extension WorkerEnvironment {
    /// The links this process was given; none where it wasn't started by the host.
    static var linkDescriptors: [Int32] {
        guard let text = ProcessControl.environment(linkCountVariable), let count = Int32(text),
            (1...Int32(maxLinks)).contains(count)
        else { return [] }
        return (0..<count).map { firstDescriptor + $0 }
    }
}
