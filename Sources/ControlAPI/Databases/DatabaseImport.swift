import ControlProtocol
import DocumentModel
import RealtimeAPI
import RealtimeModel
import RealtimeStore
import StorageEngine

/// Imports a text into a database: as one change that replaces what exists, or in many that add to it.
///
/// The text is first received into a file, so that one that is cut off, or isn't valid, changes nothing.
struct DatabaseImport {
    /// The bytes of the text between two progress events.
    private static let bytesBetweenEvents = 1 << 20

    let databases: DatabaseData
    let place: DatabasePlace
    let options: DatabaseImportOptions

    private var context: OperationContext { OperationContext(firesEvents: options.firesEvents) }

    func run(
        _ input: some AsyncSequence<[UInt8], any Error> & Sendable, until cancellation: BlockingWork.Cancellation,
        onEvent: (DataEvent) async throws -> Void
    ) async throws -> DataOutcome {
        try await databases.create(place.database)
        let file = try await receive(input, until: cancellation, onEvent)
        let nodes =
            try await options.inSteps
            ? merge(file, until: cancellation, onEvent) : replace(by: file, until: cancellation, onEvent)
        return DataOutcome(["nodes": nodes, "bytes": file.length])
    }

    private func receive(
        _ input: some AsyncSequence<[UInt8], any Error> & Sendable, until cancellation: BlockingWork.Cancellation,
        _ onEvent: (DataEvent) async throws -> Void
    ) async throws -> SpoolFile {
        let file = try SpoolFile(in: databases.directory)
        var reported = 0
        for try await piece in input {
            try cancellation.check()
            try piece.withUnsafeBytes { bytes in try file.append(bytes) }
            guard file.length - reported >= Self.bytesBetweenEvents else { continue }
            reported = file.length
            try await onEvent(.progress(done: reported, total: nil))
        }
        return file
    }

    /// Runs work on the text on a thread of its own.
    ///
    /// - Parameter body: receives a function to report how many bytes were read, which may throw.
    private func reading<Success: Sendable>(
        _ file: SpoolFile, until cancellation: BlockingWork.Cancellation,
        _ onEvent: (DataEvent) async throws -> Void,
        _ body: @escaping @Sendable (DatabaseText, _ advanced: @escaping (Int) throws -> Void) throws -> Success
    ) async throws -> Success {
        let place = place
        do {
            return try await WorkPipe<DataEvent>.run("data.import", until: cancellation) { send in
                try withoutActuallyEscaping(send) { send in
                    try file.withBytes { bytes in
                        var reported = 0
                        return try body(DatabaseText(bytes: bytes, place: place)) { position in
                            try cancellation.check()
                            SpoolFile.release(bytes, upTo: position)
                            guard position - reported >= Self.bytesBetweenEvents else { return }
                            reported = position
                            try send(.progress(done: position, total: bytes.count))
                        }
                    }
                }
            } receive: {
                try await onEvent($0)
            }
        } catch {
            // The store reports it as a failure of its own.
            try cancellation.check()
            throw error
        }
    }

    // MARK: One change

    private func replace(
        by file: SpoolFile, until cancellation: BlockingWork.Cancellation,
        _ onEvent: (DataEvent) async throws -> Void
    ) async throws -> Int {
        let (store, place) = (databases.store, place)
        let staged = try await reading(file, until: cancellation, onEvent) { text, advanced in
            try Self.stage(text, in: store, advanced)
        }
        let value = staged.map { RealtimeWriteValue($0) } ?? RealtimeWriteValue(nil)
        var request = RealtimeCommit([.set(RealtimeTarget(place.path), value)], in: place.database)
        request.triggerLimits = databases.triggerLimits(place.database)
        do throws(RealtimeFailure) {
            try await store.commit(request, in: context)
        } catch {
            guard error.code == .triggerLimit else { throw error }
            throw DocumentError(
                .resourceExhausted,
                "\(error.message); import with --in-steps, so that each change has fewer events, or with "
                    + "--disable-triggers")
        }
        return staged?.rowCount ?? 0
    }

    private static func stage(
        _ text: DatabaseText, in store: RealtimeStore, _ advanced: @escaping (Int) throws -> Void
    ) throws -> StagedValue? {
        func progress(_ position: Int) throws(RealtimeFailure) {
            do { try advanced(position) } catch { throw RealtimeFailure(from: error) }
        }
        return try store.stage(at: text.place.path, in: text.place.database, progress: progress) { rows in
            try text.read(maxNodes: RealtimeLimits.maxStagedNodes, to: &rows)
        }
    }

    // MARK: In steps

    private func merge(
        _ file: SpoolFile, until cancellation: BlockingWork.Cancellation,
        _ onEvent: (DataEvent) async throws -> Void
    ) async throws -> Int {
        let (store, place, context) = (databases.store, place, context)
        let limits = databases.triggerLimits(place.database)
        return try await reading(file, until: cancellation, onEvent) { text, advanced in
            // Whatever is wrong with the text is found before anything is written.
            var check = DatabaseTextCheck { position in
                try cancellation.check()
                SpoolFile.release(text.bytes, upTo: position)
            }
            try text.read(maxNodes: .max, to: &check)
            var rows = MergingRows(
                in: store, place.database, context: context, triggerLimits: limits, progress: advanced)
            do {
                try text.read(maxNodes: .max, to: &rows)
                try rows.finish()
            } catch let failure as RealtimeFailure {
                let error = failure.documentError
                throw DocumentError(
                    error.code,
                    "\(error.message) (\(rows.written) values were already imported and stay; it is safe to import again)"
                )
            }
            return rows.written
        }
    }
}
