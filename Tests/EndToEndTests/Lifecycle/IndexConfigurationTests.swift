import Foundation
import Testing

struct IndexConfigurationTests {
    private static let file = """
        { "indexes": [ { "collectionGroup": "products", "queryScope": "COLLECTION", "fields": [
          { "fieldPath": "owner", "order": "ASCENDING" }, { "fieldPath": "price", "order": "UP" } ] } ] }
        """

    private func expect(_ message: String, in host: RunningHost) async throws {
        try await Bound.wait("the log says \(message)") { host.process.errors.contains(message) }
    }

    @Test func indexesFollowTheirFileFromStartToStart() async throws {
        await HostSlots.take()
        defer { HostSlots.release() }
        let directory = try HostDirectory()
        try directory.write(Self.file.replacingOccurrences(of: "UP", with: "DESCENDING"), to: "i.json")
        try directory.configure([], extra: #""indexes": "i.json""#)
        var host = try await RunningHost.start(in: directory)
        try await expect("index is ready", in: host)
        try await host.kill()
        try directory.configure([])
        host = try await RunningHost.start(in: directory)
        try await expect("index is dropped", in: host)
        try await host.kill()
    }

    @Test func aMistakeInTheFileOfIndexesIsNamedWithItsPlace() async throws {
        await HostSlots.take()
        defer { HostSlots.release() }
        let directory = try HostDirectory()
        try directory.write(Self.file, to: "i.json")
        try directory.configure([], extra: #""indexes": "i.json""#)
        let host = try HostProcess(directory)
        #expect(try await host.end() != 0)
        #expect(host.errors.contains("i.json:2:84: indexes[0].fields[1].order: \"UP\" is not allowed here"))
    }
}
