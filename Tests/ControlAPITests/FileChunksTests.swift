import ControlAPI
import DocumentModel
import Foundation
import TestSupport
import Testing

@Suite(.endsHangs) struct FileChunksTests {
    @Test func whatAPipeHasIsReadBeforeItsEnd() async throws {
        let pipe = Pipe()
        var chunks = FileChunks(pipe.fileHandleForReading).makeAsyncIterator()
        for line in ["first\n", "second\n"] {
            try pipe.fileHandleForWriting.write(contentsOf: Data(line.utf8))
            let piece = try await chunks.next()
            #expect(piece == Array(line.utf8))
        }
        try pipe.fileHandleForWriting.close()
        let end = try await chunks.next()
        #expect(end == nil)
    }

    @Test func aReaderThatWaitsForAPipeCanBeCancelled() async throws {
        let pipe = Pipe()
        let input = FileChunks(pipe.fileHandleForReading)
        let reading = Task {
            var chunks = input.makeAsyncIterator()
            return try await chunks.next()
        }
        reading.cancel()
        await #expect(throws: CancellationError.self) { _ = try await reading.value }
        try pipe.fileHandleForWriting.close()
    }

    @Test func aFileIsReadWhole() async throws {
        let temporary = try TemporaryDirectory()
        let bytes = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        try Data(bytes).write(to: URL(fileURLWithPath: temporary.file("file")))
        var read: [UInt8] = []
        for try await piece in try FileChunks(temporary.file("file")) { read += piece }
        let isSame = read == bytes
        #expect(isSame)
    }

    @Test func anInputThatCannotBeReadIsExplained() async throws {
        let temporary = try TemporaryDirectory()
        let directory = FileHandle(fileDescriptor: open(temporary.path, O_RDONLY), closeOnDealloc: true)
        let error = await #expect(throws: DocumentError.self) { for try await _ in FileChunks(directory) {} }
        #expect(error?.message == "the input can't be read: Is a directory")
    }
}
