import CFunctionsSystem
import WorkerProtocol

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

// The C library's functions, under names that the methods here don't shadow.
private let systemWrite = write
private let systemRead = read

/// The system calls of a worker.
enum ProcessControl {
    static let standardOutput: Int32 = 1

    /// Exits without running exit handlers, because function handlers may still be running.
    static func exit(_ status: Int32) -> Never { _exit(status) }

    /// Tells the host of a crash at once, through these links: writing the backtrace takes a while.
    static func shutOnCrash(_ links: [Int32]) { functions_shut_on_crash(links, Int32(links.count)) }

    /// Ends this process and all that its handlers have started. One that crashes ends itself.
    static func exitWithGroup() -> Never {
        while functions_is_crashing() != 0 { pause() }
        functions_kill_own_group()
        exit(0)
    }

    /// Waits until all bytes are written.
    /// - Returns: Whether they were.
    static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            let count = systemWrite(descriptor, rest.baseAddress, rest.count)
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
        return true
    }

    /// Waits for bytes.
    /// - Returns: The number of bytes read; 0 at the end of the stream.
    static func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        while true {
            let count = systemRead(descriptor, buffer.baseAddress, buffer.count)
            if count < 0 && errno == EINTR { continue }
            return max(count, 0)
        }
    }

    /// Keeps a descriptor from being inherited by programs that a function starts.
    static func closeOnExec(_ descriptor: Int32) { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }

    /// - Returns: False if the system can't create a thread.
    static func startThread(_ body: @escaping @Sendable () -> Never) -> Bool {
        let box = Unmanaged.passRetained(ThreadBody(body))
        #if os(Linux)
            var thread = pthread_t()
            let result = pthread_create(
                &thread, nil,
                { argument in
                    guard let argument else { return nil }
                    Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue().body()
                }, box.toOpaque())
        #else
            var thread: pthread_t?
            let result = pthread_create(
                &thread, nil,
                { argument in
                    Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue().body()
                }, box.toOpaque())
        #endif
        return result == 0
    }

    private final class ThreadBody {
        let body: @Sendable () -> Never
        init(_ body: @escaping @Sendable () -> Never) { self.body = body }
    }

    /// Makes the kernel kill this process and its children when the host dies, whatever the handlers are doing.
    ///
    /// The closed link shows the same, but only to a process that still reads it, and may be noticed before the
    /// signal arrives or after. If the host died before this call, the link is already closed, and the worker ends
    /// because of that.
    static func dieWithHost() {
        #if os(Linux)
            _ = functions_die_with_parent()
        #endif
    }

    /// Flushes standard output after every line, so that the host receives what handlers print while their invocation
    /// runs.
    static func writeOutputByLine() { functions_write_output_by_line() }

    /// Writing to a closed pipe must be an error, not end the process.
    static func ignoreBrokenPipes() { _ = signal(SIGPIPE, SIG_IGN) }

    static func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }
}

enum StandardError {
    static func write(_ text: String) { Array(text.utf8).withUnsafeBytes { _ = ProcessControl.write($0, to: 2) } }
}

extension WorkerEnvironment {
    /// The links inherited by this process; empty if the host didn't start it.
    static var linkDescriptors: [Int32] {
        guard let text = ProcessControl.environment(linkCountVariable), let count = Int32(text),
            (1...Int32(maxLinks)).contains(count)
        else { return [] }
        return (0..<count).map { firstDescriptor + $0 }
    }
}
