import ControlAPI
import DataDirectory
import EmbeddedStorage
import HostConfiguration
import StorageEngine
import TestSupport
import Testing

/// `functions-host data restore` without a host.
struct RestoreTests {
    private let temporary: TemporaryDirectory
    private let access: DataAccess

    init() throws {
        temporary = try TemporaryDirectory()
        access = DataAccess(
            HostConfiguration(
                project: "demo-shop", mode: .development, data: temporary.file("own"),
                places: ConfigurationPlaces(file: "functions.json")))
    }

    /// A data directory with a row in its store.
    private func filled(_ name: String, _ kind: EmbeddedEngineKind, _ value: UInt8) throws -> DataDirectory {
        let directory = try DataDirectory.open(temporary.file(name))
        let engine = try EmbeddedStore(in: directory.path, engine: kind).open()
        try engine.write { try $0.put(.documents, [1], [value]) }
        try engine.close()
        return directory
    }

    private var value: [UInt8]? {
        get throws {
            let engine = try EmbeddedStore(in: temporary.file("own")).open()
            defer { try? engine.close() }
            return try engine.makeReadSession().read { try $0.get(.documents, [1]) }
        }
    }

    /// The files would be copied while that host changes them.
    @Test(arguments: EmbeddedEngineKind.allCases)
    func theStoreOfARunningHostIsNotABackup(kind: EmbeddedEngineKind) async throws {
        try filled("own", kind, 1).close()
        let other = try filled("other", kind, 2)
        let store = EmbeddedStore(in: other.path).path(kind)
        let error = await #expect(throws: DataDirectoryError.self) { _ = try await access.restore(store) { _ in } }
        #expect(error?.description.contains("use a copy that \"data backup\" makes there") == true)
        #expect(try value == [1])
        other.close()
        var refusal: DataDirectoryError?
        _ = try await access.restore(store) { _ in
            // That host can't start while its files are read.
            do throws(DataDirectoryError) { _ = try DataDirectory.open(other.path) } catch { refusal = error }
        }
        #expect(refusal?.isInUse == true)
        #expect(try value == [2])
        try DataDirectory.open(other.path).close()
    }

    /// What was replaced before is restored to undo that.
    @Test func whatIsInTheSameDirectoryCanBeRestored() async throws {
        try filled("own", .sqlite, 1).close()
        try filled("other", .sqlite, 2).close()
        let aside = try await access.restore(temporary.file("other/documents.sqlite")) { _ in }
        #expect(try value == [2])
        _ = try await access.restore(try #require(aside)) { _ in }
        #expect(try value == [1])
        // The store itself, too, for what it is worth.
        _ = try await access.restore(temporary.file("own/documents.sqlite")) { _ in }
        #expect(try value == [1])
    }
}
