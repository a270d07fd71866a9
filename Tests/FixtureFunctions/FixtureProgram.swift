import FunctionsRuntime

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The fixture bundle's executable. In addition to a bundle's commands it has the programs that its functions start.
@main
enum FixtureProgram {
    static func main() {
        switch Array(CommandLine.arguments.dropFirst()) {
        case ["worker", "rogue"]: RogueWorker.run()
        case ["sleep"]: while true { sleep(3600) }
        case ["allocate"]:
            Hoard.fill(mebibytes: 1024, pausing: 2000)
            sleep(3600)
        default: FixtureFunctions.main()
        }
    }

    /// Starts this program as a child process that outlives its parent.
    /// - Parameter leaves: Whether to start it in a new session.
    static func start(_ mode: String, leaves: Bool = false) -> Int {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // POSIX_SPAWN_SETSID, which glibc defines only for programs that request its extensions.
        if leaves { posix_spawnattr_setflags(&attributes, 0x80) }
        let arguments = [strdup(CommandLine.arguments[0]), strdup(mode), nil]
        defer { for argument in arguments { free(argument) } }
        var pid: pid_t = 0
        let code = posix_spawn(&pid, CommandLine.arguments[0], nil, &attributes, arguments, environ)
        return code == 0 ? Int(pid) : -Int(code)
    }
}

/// Memory that is allocated and never freed.
enum Hoard {
    /// - Parameter pausing: The delay in microseconds after each MiB.
    static func fill(mebibytes: Int, pausing: UInt32) {
        for _ in 0..<mebibytes {
            let block = UnsafeMutableRawPointer.allocate(byteCount: 1 << 20, alignment: 4096)
            memset(block, 1, 1 << 20)
            if pausing > 0 { usleep(pausing) }
        }
    }
}
