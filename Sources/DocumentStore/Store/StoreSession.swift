import StorageEngine
import DocumentModel

/// One thread's snapshots, each with its version and the indexes it has.
final class StoreSession {
    private let session: any ReadSession
    private var catalog = IndexCatalog()

    init(_ session: any ReadSession) { self.session = session }

    func read<Result>(_ body: (DocumentView, _ version: Int64) throws -> Result) throws -> Result {
        try session.read { storage in
            let (version, generation) = try StoreVersion.readBoth(storage)
            if generation ?? 0 != catalog.generation {
                catalog = try IndexCatalog.read(storage, generation: generation ?? 0)
            }
            return try body(DocumentView(storage, catalog), version)
        }
    }
}
