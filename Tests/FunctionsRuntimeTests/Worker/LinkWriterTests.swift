import NIOCore
import TestSupport
import Testing
import WorkerProtocol

@testable import FunctionsRuntime

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// What a worker does while the host doesn't read.
@Suite(.endsHangs) struct LinkWriterTests {
    private static let size = 100_000
    private static let count = 200

    /// Bytes that several threads may have found room for at the same time.
    private static var atOnce: Int { size * Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

    @Test func operationsWaitUnencodedWhileTheHostDoesNotRead() async throws {
        let pair = try WorkerLinkPair()
        let (host, writer) = (pair.host, pair.writer)
        let most = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<Self.count {
                group.addTask {
                    await writer.waitForRoom()
                    let before = writer.unsentBytes
                    writer.send(.documentRequest, invocation: UInt64(number)) {
                        $0.writeRepeatingByte(1, count: Self.size)
                    }
                    return before
                }
            }
            // A thread of its own, since the one that writes blocks.
            async let frames = Self.read(from: host)
            let most = try await group.reduce(0) { max($0, $1) }
            #expect(try await frames.sorted() == Array(0..<UInt64(Self.count)))
            return most
        }
        #expect(most < LinkWriter.maxUnsent + Self.atOnce)
        #expect(writer.unsentBytes == 0)
        withExtendedLifetime(pair) {}
    }

    /// Reads all frames.
    ///
    /// - Returns: their invocations.
    private static func read(from descriptor: Int32) async throws -> [UInt64] {
        try await withCheckedThrowingContinuation { continuation in
            let isStarted = ProcessControl.startThread {
                var parser = FrameParser()
                var invocations: [UInt64] = []
                do {
                    while invocations.count < count {
                        var bytes = ByteBuffer()
                        bytes.writeWithUnsafeMutableBytes(minimumWritableBytes: 65_536) {
                            ProcessControl.read(descriptor, into: $0)
                        }
                        parser.append(&bytes)
                        while let frame = try parser.next() { invocations.append(frame.invocation) }
                    }
                    continuation.resume(returning: invocations)
                } catch {
                    continuation.resume(throwing: error)
                }
                while true { sleep(3600) }
            }
            #expect(isStarted)
        }
    }
}
