import Foundation
import NIOPosix
import TestSupport
import Testing

/// `functions-host data …` against the running host and without one.
@Suite(.endsHangs) struct DataCommandTests {
    /// Values of all types, and those that JSON has no numbers for.
    private static let rich = """
        {"a":{"arrayValue":{"values":[{"nullValue":null},{"booleanValue":true}]}},"b":{"bytesValue":"AAEC/w=="},\
        "d":{"doubleValue":-0.0},"g":{"geoPointValue":{"latitude":1.5,"longitude":-2.25}},\
        "i":{"doubleValue":"-Infinity"},"l":{"integerValue":"-9223372036854775808"},\
        "m":{"mapValue":{"fields":{"q.x":{"stringValue":"é\\"\\n"}}}},"n":{"doubleValue":"NaN"},\
        "r":{"referenceValue":"projects/demo-shop/databases/(default)/documents/people/u1"},\
        "t":{"timestampValue":"2026-01-02T03:04:05.678901Z"},\
        "v":{"mapValue":{"fields":{"__type__":{"stringValue":"__vector__"},\
        "value":{"arrayValue":{"values":[{"doubleValue":1.0},{"doubleValue":2.5}]}}}}}}
        """

    /// An export's documents without their times.
    static func documents(_ export: String) -> [String] {
        export.split(separator: "\n").filter { $0.contains(#""path""#) }.map { line in
            let path = line.prefix { $0 != "," }
            let fields = line.range(of: #""fields":"#).map { line[$0.lowerBound...] } ?? ""
            return path + "," + fields
        }
    }

    static func fill(_ host: RunningHost) async throws {
        for i in 1...3 { try await host.put("people/u\(i)", rich) }
        try await host.put("people/u1/orders/o1", #"{"n":{"integerValue":"1"}}"#)
        try await host.put("other/x", #"{"n":{"integerValue":"2"}}"#)
    }

    @Test func anExportWaitsForTheReaderOfANonblockingPipe() async throws {
        try await RunningHost.serving { host in
            let text = String(repeating: "x", count: 300_000)
            for name in ["a", "b"] { try await host.put("large/\(name)", #"{"t":{"stringValue":"\#(text)"}}"#) }
            let (process, pipe) = (Process(), Pipe())
            let descriptor = pipe.fileHandleForWriting.fileDescriptor
            // As a program leaves it that has shared the pipe, such as Node.
            #expect(fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0)
            process.executableURL = URL(fileURLWithPath: BuiltProducts.host)
            process.arguments = ["data", "export", "--config", host.directory.configuration]
            process.standardOutput = pipe.fileHandleForWriting
            process.standardError = FileHandle.nullDevice
            try process.start()
            try await Bound.wait("the pipe is full") {
                var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                return process.hasEnded || poll(&entry, 1, 0) == 0
            }
            try pipe.fileHandleForWriting.close()
            let output = try await NIOThreadPool.singleton.runIfActive { [reader = pipe.fileHandleForReading] in
                try reader.readToEnd() ?? Data()
            }
            #expect(output.count > 600_000)
            #expect(output.suffix(22) == Data("{\"count\":2,\"users\":0}\n".utf8))
            try await Bound.wait("the command ends") { !process.isRunning }
            #expect(process.terminationStatus == 0)
        }
    }

    @Test func exportsAndImportsAreTheSameWithAndWithoutAHost() async throws {
        try await RunningHost.serving { host in
            try await Self.fill(host)
            let online = try await host.data("export")
            #expect(online.status == 0)
            let whole = Self.documents(online.output)
            #expect(whole.count == 5)
            #expect(online.output.split(separator: "\n").last == #"{"count":5,"users":0}"#)
            #expect(whole.contains { $0.contains(Self.rich) })
            let some = try await host.data("export", "--collection", "people/u1/orders", "--collection", "other")
            #expect(Self.documents(some.output).count == 2)

            #expect(try await host.data("clear").status == 64)
            #expect(try await host.data("clear", "--yes", "--json").json?["documents"]?.integer == 5)
            let imported = try await host.data("import", "-", "--json", input: online.output)
            #expect(imported.json?["documents"]?.integer == 5)
            #expect(Self.documents(try await host.data("export").output) == whole)
            #expect(try await host.data("check", "--json").json?["problems"]?.integer == 0)

            try await host.kill()
            // The dead host's socket still exists, and no process listens on it.
            #expect(Self.documents(try await host.data("export").output) == whole)
            try host.directory.write(
                online.output.replacingOccurrences(of: "demo-shop", with: "demo-old"), to: "extra.jsonl")
            #expect(try await host.data("import", "extra.jsonl", "--clear").status == 0)
            // References into the exported project lead into this one.
            #expect(Self.documents(try await host.data("export").output) == whole)
            #expect(try await host.data("check").status == 0)
            #expect(try await host.data("compact", "--full").status == 0)
        }
    }

    @Test(.enabled(if: HostDirectory.hasSQLite)) func aBackupOfTheRunningHostIsRestoredWhereItIsStopped() async throws {
        try await RunningHost.serving { host in
            try await Self.fill(host)
            let backup = try await host.data("backup", "b.sqlite", "--json")
            #expect(backup.json?["file"]?.text == host.directory.path + "/b.sqlite")
            #expect(FileManager.default.fileExists(atPath: host.directory.path + "/b.sqlite"))
            #expect(try await host.data("backup", "b.sqlite").status == 1)
            #expect(try await host.data("backup", "b.sqlite", "--replace").status == 0)
            let before = try await host.data("export").output
            try await host.put("people/late", "{}")
            let refused = try await host.data("restore", "b.sqlite")
            #expect(refused.status == 1)
            #expect(refused.errors.contains("stop it"))
            #expect(try await host.data("compact").status == 0)
            try await host.expectEcho()
            try await host.kill()

            let restored = try await host.data("restore", "b.sqlite", "--json")
            let aside = try #require(restored.json?["before"]?.text)
            #expect(FileManager.default.fileExists(atPath: aside))
            #expect(Self.documents(try await host.data("export").output) == Self.documents(before))
            // The restored data serve.
            let again = try await RunningHost.start(in: host.directory)
            #expect(Self.documents(try await again.data("export").output) == Self.documents(before))
            #expect(try await again.data("check").status == 0)
            try await again.kill()
            try Data("no backup".utf8).write(to: URL(fileURLWithPath: host.directory.path + "/b.sqlite"))
            let damaged = try await host.data("restore", "b.sqlite")
            #expect(damaged.status == 1)
            #expect(damaged.errors.contains("b.sqlite"))
            let report = try await host.data("restore", "b.sqlite", "--json")
            #expect(report.json?["error"]?["status"]?.text == "DATA_LOSS")
        }
    }

    @Test func aWrongImportNamesLineAndField() async throws {
        try await RunningHost.serving { host in
            try await Self.fill(host)
            let export = try await host.data("export").output
            let wrong = export.replacingOccurrences(of: #"{"integerValue":"1"}"#, with: #"{"integerValue":"one"}"#)
            let refused = try await host.data("import", "--json", input: wrong)
            #expect(refused.status == 1)
            let message = try #require(refused.json?["error"]?["message"]?.text)
            #expect(message.hasPrefix("line "))
            #expect(message.contains("fields.n.integerValue"))
            let cut = export.split(separator: "\n").dropLast().joined(separator: "\n")
            #expect(try await host.data("import", input: cut).errors.contains("the export is incomplete"))
            #expect(try await host.data("import", input: #"{"users":[]}"#).errors.contains("not an export"))
            // A file that isn't an export deletes nothing.
            #expect(try await host.data("import", "--clear", input: #"{"users":[]}"#).status == 1)
            #expect(Self.documents(try await host.data("export").output) == Self.documents(export))
        }
    }

    /// More than fits into pipes and sockets' buffers: both ways wait for each other.
    @Test func muchDataGoesThroughTheHostWhileItServes() async throws {
        try await RunningHost.serving { host in
            let text = String(repeating: "0123456789", count: 200)
            var lines = [
                #"{"format":"functions-host documents","version":1,"project":"demo-shop","readTime":"2026-01-01T00:00:00Z"}"#
            ]
            for i in 0..<8000 {
                lines.append(
                    #"{"path":"c/d\#(i)","fields":{"i":{"integerValue":"\#(i)"},"s":{"stringValue":"\#(text)"}}}"#)
            }
            lines.append(#"{"count":8000}"#)
            let export = lines.joined(separator: "\n") + "\n"
            async let imported = host.data("import", input: export)
            try await host.expectEcho()
            #expect(try await imported.status == 0)
            #expect(try await host.data("export", "whole.jsonl").status == 0)
            let whole = FileManager.default.contents(atPath: host.directory.path + "/whole.jsonl") ?? Data()
            #expect(whole.count { $0 == UInt8(ascii: "\n") } == 8002)
            #expect(try await host.data("export", "whole.jsonl").errors.contains("--replace"))
        }
    }

    @Test func aHostWithALongPathIsReached() async throws {
        await HostSlots.take()
        defer { HostSlots.release() }
        let directory = try HostDirectory()
        try directory.configure([.fixture])
        let data = directory.path + "/" + String(repeating: "long/", count: 30) + "data"
        let host = try await RunningHost.start(in: directory, arguments: ["--data", data])
        try await Self.fill(host)
        let export = try await host.data("export", "--data", data)
        #expect(Self.documents(export.output).count == 5)
        #expect(try await host.data("restore", "none", "--data", data).errors.contains("stop it"))
        for name in ["documents.sqlite", "documents.sqlite-wal", "documents.sqlite.unfinished"] {
            let over = try await host.data("export", data + "/" + name, "--replace", "--data", data)
            #expect(over.status == 1 && over.errors.contains("is a file of the store"))
        }
        for verb in ["export", "backup"] {
            let over = try await host.data(verb, data + "/lock", "--replace", "--data", data)
            #expect(over.status == 1 && over.errors.contains("belongs to the host of the data directory"))
        }
        let mode = try FileManager.default.attributesOfItem(atPath: data + "/control.sock")[.posixPermissions] as? Int
        #expect(mode == 0o600)
        host.process.send(SIGTERM)
        #expect(try await host.process.end() == 0)
        #expect(!FileManager.default.fileExists(atPath: data + "/control.sock"))
        #expect(Self.documents(try await host.data("export", "--data", data).output).count == 5)
        let missing = try await host.data("check", "--data", directory.path + "/missing")
        #expect(missing.status == 1)
        #expect(!FileManager.default.fileExists(atPath: directory.path + "/missing"))
    }

    @Test(.enabled(if: HostDirectory.hasSQLite)) func aDamagedStoreIsTold() async throws {
        try await RunningHost.serving { host in
            for i in 0..<60 {
                try await host.put("c/d\(i)", #"{"s":{"stringValue":"\#(String(repeating: "x", count: 3000))"}}"#)
            }
            try await host.kill()
            #expect(try await host.data("check").status == 0)
            let file = host.directory.data + "/documents.sqlite"
            var bytes = try #require(FileManager.default.contents(atPath: file))
            // One letter of one document: entries of indexes have no more than 1,500 of them.
            let place = try #require(
                bytes.range(of: Data(repeating: UInt8(ascii: "x"), count: 1_800), options: .backwards))
            bytes[place.lowerBound + 100] = UInt8(ascii: "y")
            try bytes.write(to: URL(fileURLWithPath: file))
            let check = try await host.data("check", "--json")
            #expect(check.status == 2)
            #expect(check.json?["problems"]?.integer ?? 0 > 0)
            #expect(check.json?["found"]?.list.contains { $0.text?.contains("checksum") == true } == true)
        }
    }
}
