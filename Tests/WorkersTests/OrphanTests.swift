import Testing

@testable import Workers

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

struct OrphanTests {
    /// Waits until a child has ended, and doesn't reap it.
    private func waitForEnd(of pid: pid_t) {
        var info = siginfo_t()
        while waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT) != 0, errno == EINTR {}
    }

    /// Otherwise the end of a bundle that writes its manifest could be lost, and would be waited for without end.
    @Test func aProcessThatWasStartedIsReapedByItsStarterAlone() throws {
        let output = try DescriptorPair.pipe()
        let spawn = ProcessSpawn(
            executable: "/bin/sh", arguments: ["-c", "exit 3"], environment: [:], standardOutput: output.write,
            standardError: output.write, links: [])
        let pid = try spawn.start()
        DescriptorPair.close(output.read)
        DescriptorPair.close(output.write)
        waitForEnd(of: pid)
        #expect(!ProcessSpawn.reapOrphan(pid))
        #expect(ProcessStatus.reap(pid)?.outcome == .exited(3))
    }

    @Test func anotherChildIsReaped() throws {
        var pid: pid_t = 0
        let arguments: [UnsafeMutablePointer<CChar>?] = [strdup("sh"), strdup("-c"), strdup("exit 3"), nil]
        defer { for text in arguments { free(text) } }
        let code = posix_spawn(&pid, "/bin/sh", nil, nil, arguments, nil)
        try #require(code == 0)
        waitForEnd(of: pid)
        #expect(ProcessSpawn.reapOrphan(pid))
        #expect(!ProcessSpawn.reapOrphan(pid))
    }
}
