import ControlProtocol
import DocumentModel
import RealtimeModel
import RealtimeStore
import StorageEngine
import StrictJSON

/// Writes a node of a database as of one time.
struct DatabaseExport {
    private static let pieceBytes = 128 * 1024

    let databases: DatabaseData
    let place: DatabasePlace

    func run(
        until cancellation: BlockingWork.Cancellation, onEvent: (DataEvent) async throws -> Void
    ) async throws -> DataOutcome {
        try await databases.require(place.database)
        let (databases, place) = (databases, place)
        let (nodes, bytes) = try await WorkPipe<DataEvent>.run("data.export", until: cancellation) { send in
            var bytes = 0
            let nodes = try databases.store.readApart(in: place.database) { state in
                func write(_ piece: [UInt8]) throws {
                    bytes += piece.count
                    try send(.bytes(piece))
                }
                switch place.format {
                case .json:
                    let nodes = try state.writeJSON(
                        at: place.path, as: .export, pieceBytes: Self.pieceBytes, write)
                    try write([UInt8(ascii: "\n")])
                    return nodes
                case .jsonl: return try Self.writeLines(state, place, write)
                }
            }
            return (nodes, bytes)
        } receive: {
            try await onEvent($0)
        }
        return DataOutcome(["nodes": nodes, "bytes": bytes])
    }

    private static func writeLines(
        _ state: RealtimeSnapshot, _ place: DatabasePlace, _ write: ([UInt8]) throws -> Void
    ) throws -> Int {
        var text = JSONWriter()
        var count = 0
        let time = Timestamp(microseconds: state.version)
        DatabaseLines.write(
            DatabaseLines.Header(database: place.database, path: place.path, readTime: time), to: &text)
        try state.eachRow(at: place.path) { row in
            text.line(row)
            count += 1
            guard text.bytes.count >= pieceBytes else { return }
            try write(text.bytes)
            text = JSONWriter(capacity: pieceBytes)
        }
        DatabaseLines.writeEnd(count: count, to: &text)
        try write(text.bytes)
        return count
    }
}
