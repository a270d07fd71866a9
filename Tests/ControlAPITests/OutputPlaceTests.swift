import DataDirectory
import Foundation
import HostConfiguration
import StorageEngine
import TestSupport
import Testing

@testable import ControlAPI

struct OutputPlaceTests {
    private func refusal(_ file: String) -> String? {
        do throws(StorageError) {
            try OutputPlace.check(file, for: "export")
            return nil
        } catch { return error.message }
    }

    @Test(
        arguments: [
            "lock", "version", "control.sock", "auth/keys.json", "service-accounts/token-secret", "logs",
            "releases/shop/1/bundle", "auth/../lock",
        ])
    func nothingTakesThePlaceOfWhatAHostNeeds(name: String) throws {
        let temporary = try TemporaryDirectory()
        let directory = try DataDirectory.open(temporary.file("data"))
        defer { directory.close() }
        try FileBytes.makeDirectory(directory.file("auth"))
        let link = temporary.file("link")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: directory.path)
        for path in [directory.path, link] {
            let message = refusal("\(path)/\(name)")
            #expect(message?.contains("belongs to the host of the data directory") == true, "\(path)")
        }
        // The same names elsewhere, and other ones there.
        #expect(refusal(temporary.file(name)) == nil)
        #expect(refusal(directory.file("export.jsonl")) == nil)
        #expect(refusal(directory.file("documents.sqlite"))?.contains("belongs to the store") == true)
    }

    @Test func nothingTakesThePlaceOfADeviceOrAPipe() throws {
        let temporary = try TemporaryDirectory()
        let pipe = temporary.file("pipe")
        #expect(mkfifo(pipe, 0o600) == 0)
        let link = temporary.file("link")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "/dev/null")
        for path in [pipe, link, "/dev/null"] {
            #expect(refusal(path)?.hasPrefix("\(path) is a device, a pipe or a socket") == true)
        }
        #expect(refusal(try temporary.write("file", "")) == nil)
        #expect(refusal(temporary.path) == nil)
    }

    @Test func anExportIsNotBegunIfItsFileIsADirectory() throws {
        let temporary = try TemporaryDirectory()
        let access = DataAccess(DatabaseFixture.configuration(.production, in: temporary))
        let directory = temporary.file("exports")
        try FileBytes.makeDirectory(directory)
        try access.checkIsForOutput(directory + "/export.jsonl")
        #expect {
            try access.checkIsForOutput(directory)
        } throws: {
            "\($0)".contains("is a directory; name a file for the export")
        }
        // The export may be a directory itself.
        try access.checkIsForOutput(directory, isDirectory: true)
    }
}
