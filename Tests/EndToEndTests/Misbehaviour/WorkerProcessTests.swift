import Foundation
import FunctionManifest
import NIOCore
import TestSupport
import Testing
import WorkerProtocol

@testable import Workers

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A worker's process without a host.
@Suite(.endsHangs) struct WorkerProcessTests {
    /// When a host is killed, a worker may notice its closed link before the kernel's signal comes.
    @Test func aWorkerWhoseLinkIsClosedEndsWithAllItHasStarted() async throws {
        let group = try await onThread {
            let process = try StartedWorker(function: "startsChildren")
            defer { process.kill() }
            try process.send(.params) { ParamValues(function: "startsChildren").write(to: &$0) }
            try process.send(.invoke, invocation: 1) {
                InvocationHead(executionID: "one", timeLeft: 60_000).write(to: &$0)
                $0.writeString("3")
            }
            #expect(try process.payload(of: .result) == "3")
            process.closeLink()
            // Its own end by this signal shows that its group got it, too.
            let signal = process.waitUntilEnded()
            try #require(signal == SIGKILL)
            return process.pid
        }
        try await Bound.wait("its children are gone") { kill(-group, 0) != 0 }
    }

    /// On a thread that lasts until the end: the kernel ends a worker with the thread that started it.
    private func onThread<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Swift.Result { try body() }) }
        }
    }
}

/// A process of the test bundle as a worker, with one link. Its methods block.
private final class StartedWorker {
    let pid: pid_t
    private let link: Int32
    private var parser = FrameParser()
    private var isLinkOpen = true

    init(function: String) throws {
        let (ours, theirs) = try DescriptorPair.socket()
        let output = open("/dev/null", O_RDWR | O_CLOEXEC)
        defer {
            DescriptorPair.close(theirs)
            DescriptorPair.close(output)
        }
        link = ours
        pid = try ProcessSpawn(
            executable: BuiltProducts.fixture, arguments: ["worker", function],
            environment: [WorkerEnvironment.linkCountVariable: "1"], standardOutput: output, standardError: output,
            links: [theirs]
        ).start()
    }

    func send(_ kind: Frame.Kind, invocation: UInt64 = 0, _ body: (inout ByteBuffer) -> Void) throws {
        var frame = ByteBuffer()
        frame.writeFrame(kind, invocation: invocation, body)
        let count = frame.withUnsafeReadableBytes { write(link, $0.baseAddress, $0.count) }
        try #require(count == frame.readableBytes)
    }

    /// The next frame of a kind.
    func payload(of kind: Frame.Kind) throws -> String {
        while true {
            while let frame = try parser.next() {
                if frame.kind == kind { return String(buffer: frame.payload) }
            }
            var bytes = ByteBuffer()
            let count = bytes.writeWithUnsafeMutableBytes(minimumWritableBytes: 4096) {
                max(read(link, $0.baseAddress, $0.count), 0)
            }
            try #require(count > 0, "the worker has closed its link")
            parser.append(&bytes)
        }
    }

    func closeLink() {
        guard isLinkOpen else { return }
        isLinkOpen = false
        DescriptorPair.close(link)
    }

    /// - Returns: the signal that ended it; 0 if it exited.
    func waitUntilEnded() -> Int32 {
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0 && errno == EINTR {}
        return status & 0x7F
    }

    func kill() {
        closeLink()
        ProcessSpawn.killGroup(pid)
        _ = waitUntilEnded()
    }
}
