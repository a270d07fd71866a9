import CFunctionsSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Threads of the system, which may refuse one: at a limit of processes, of a user or a container, which counts threads.
///
/// Foundation's `Thread` doesn't look whether it was refused. Its body is never run then, and a task that waits for it waits
/// forever.
package enum SystemThread {
    package struct Refused: Error, CustomStringConvertible {
        let name: String
        let code: Int32

        package var description: String { "the thread \(name) can't be started: \(String(cString: strerror(code)))" }
    }

    /// - Parameters:
    ///   - name: of which Linux shows 15 bytes.
    ///   - stackSize: in bytes; 0 for the system's.
    /// - Throws: if the system refuses the thread. The body is never run then.
    package static func start(
        _ name: String, stackSize: Int = 0, _ body: @escaping @Sendable () -> Void
    ) throws(Refused) {
        let box = Unmanaged.passRetained(Body(body))
        let code = functions_start_thread(
            name, stackSize,
            { context in
                guard let context else { return }
                Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
            }, box.toOpaque())
        guard code != 0 else { return }
        box.release()
        throw Refused(name: name, code: code)
    }

    private final class Body {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }
}
