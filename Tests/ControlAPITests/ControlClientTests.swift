import ControlProtocol
import DataDirectory
import TestSupport
import Testing

struct ControlClientTests {
    @Test(arguments: ["file", "file/data"])
    func aFileIsRefusedAsADataDirectory(name: String) async throws {
        let temporary = try TemporaryDirectory()
        try temporary.write("file", "")
        let path = temporary.file(name)
        let error = await #expect(throws: DataDirectoryError.self) { _ = try await ControlClient(directory: path) }
        #expect(error?.description.hasPrefix("the data directory \(path) is not a directory") == true)
    }

    @Test func noHostRunsOnADirectoryThatDoesNotExist() async throws {
        let temporary = try TemporaryDirectory()
        #expect(try await !ControlClient.isListening(temporary.file("data")))
    }
}
