import Foundation
import HostProcess
import TestSupport
import Testing

@Suite(.endsHangs) struct LogWriterTests {
    @Test func aNonblockingPipeGetsAllLines() async throws {
        let pipe = Pipe()
        let (reader, end) = (pipe.fileHandleForReading.fileDescriptor, pipe.fileHandleForWriting.fileDescriptor)
        // As a program leaves them that has shared the pipe, such as Node.
        for descriptor in [reader, end] { #expect(fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0) }
        let writer = LogWriter(to: pipe.fileHandleForWriting)
        writer.start()
        let line = String(repeating: "x", count: 500_000) + "\n"
        writer.write(line)
        var entry = pollfd(fd: end, events: Int16(POLLOUT), revents: 0)
        while poll(&entry, 1, 0) != 0 {
            try Task.checkCancellation()
            await Task.yield()
        }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65_536)
        while bytes.count < line.utf8.count {
            try Task.checkCancellation()
            let count = read(reader, &piece, piece.count)
            if count > 0 { bytes += piece[..<count] }
            await Task.yield()
        }
        let isSame = bytes == Array(line.utf8)
        #expect(isSame)
        // The writer's thread never ends, and has the file.
        withExtendedLifetime(pipe) {}
    }
}
