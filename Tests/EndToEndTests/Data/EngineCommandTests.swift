import Foundation
import TestSupport
import Testing

/// `functions-host data …` on RocksDB, and from one engine to the other.
@Suite(.endsHangs, .enabled(if: HostDirectory.hasSQLite)) struct EngineCommandTests {
    private static let rocksDB = #""store": { "engine": "rocksdb" }"#

    private func documents(_ host: RunningHost) async throws -> [String] {
        DataCommandTests.documents(try await host.data("export").output)
    }

    @Test func aBackupOfRocksDBIsRestoredWhereItIsStopped() async throws {
        try await RunningHost.serving(extra: Self.rocksDB) { host in
            try await DataCommandTests.fill(host)
            #expect(FileManager.default.fileExists(atPath: host.directory.data + "/documents.rocksdb/CURRENT"))
            #expect(try await host.data("backup", "kept").status == 0)
            #expect(try await host.data("backup", "kept").status == 1)
            #expect(try await host.data("backup", "kept", "--replace").status == 0)
            let before = try await documents(host)
            #expect(before.count == 5)
            try await host.put("people/late", "{}")
            #expect(try await host.data("restore", "kept").errors.contains("stop it"))
            #expect(try await host.data("compact", "--full").status == 0)
            #expect(try await host.data("check").status == 0)
            try await host.expectEcho()
            try await host.kill()

            #expect(try await documents(host).count == 6)
            #expect(try await host.data("restore", "kept").status == 0)
            #expect(try await documents(host) == before)
            let again = try await RunningHost.start(in: host.directory)
            #expect(try await documents(again) == before)
            #expect(try await again.data("check").status == 0)
            try await again.kill()
        }
    }

    @Test func aDamagedTableOfRocksDBIsTold() async throws {
        try await RunningHost.serving(extra: Self.rocksDB) { host in
            let text = (0..<3000).map { _ in String(UInt8.random(in: 33...33 + 57)) }.joined()
            for number in 0..<20 { try await host.put("c/d\(number)", #"{"s":{"stringValue":"\#(text)"}}"#) }
            try await host.kill()
            // The log's rows are in a table now.
            #expect(try await host.data("check").status == 0)
            let store = host.directory.data + "/documents.rocksdb"
            let table = try #require(
                FileManager.default.contentsOfDirectory(atPath: store).filter { $0.hasSuffix(".sst") }
                    .max { StoreFileSize.of(store + "/" + $0) < StoreFileSize.of(store + "/" + $1) })
            var bytes = try #require(FileManager.default.contents(atPath: store + "/" + table))
            bytes[bytes.count / 3] ^= 0x55
            try bytes.write(to: URL(fileURLWithPath: store + "/" + table))
            // If it is what is read at a start, there is no report but an error.
            let check = try await host.data("check")
            #expect(check.status != 0)
            #expect((check.output + check.errors).contains(table), "\(check)")
        }
    }

    /// The command is killed at any time, and run again.
    @Test func aMigrationThatIsKilledLosesNothing() async throws {
        try await RunningHost.serving { host in
            try await DataCommandTests.fill(host)
            for number in 0..<300 { try await host.put("many/d\(number)", #"{"n":{"integerValue":"\#(number)"}}"#) }
            let before = try await documents(host)
            #expect(before.count == 305)
            let refused = try await host.data("migrate", "--engine", "rocksdb")
            #expect(refused.status == 1 && refused.errors.contains("stop it"), "\(refused)")
            try await host.kill()
            for engine in ["rocksdb", "sqlite"] {
                for _ in 0..<6 {
                    _ = try await DataCommandRun.run(
                        ["migrate", "--engine", engine], in: host.directory, killedAfter: .random(in: 0...0.6))
                    #expect(try await documents(host) == before)
                }
                // One that was killed late may have completed it.
                _ = try await host.data("migrate", "--engine", engine)
                let names = try FileManager.default.contentsOfDirectory(atPath: host.directory.data)
                #expect(names.contains("documents.\(engine)"), "\(names)")
                #expect(names.contains { $0.contains(".before-") }, "\(names)")
                #expect(try await documents(host) == before)
                #expect(try await host.data("check").status == 0)
                let again = try await RunningHost.start(in: host.directory)
                #expect(try await documents(again) == before)
                try await again.expectEcho()
                try await again.kill()
            }
        }
    }
}

private enum StoreFileSize {
    static func of(_ path: String) -> Int {
        let size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? NSNumber
        return size?.intValue ?? 0
    }
}
