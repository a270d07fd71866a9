import ControlProtocol
import DocumentModel
import RealtimeAPI
import RealtimeModel
import StrictJSON

/// The whole text of an import, in either format.
struct DatabaseText {
    let bytes: UnsafeRawBufferPointer
    let place: DatabasePlace

    /// Gives the rows to a receiver.
    ///
    /// - Throws: `DocumentError` with the place of what is wrong, or what the receiver throws.
    func read(maxNodes: Int, to receiver: inout some RealtimeTextReceiver) throws {
        do {
            switch place.format {
            case .jsonl:
                var reader = DatabaseLineReader(at: place.path, maxNodes: maxNodes)
                try reader.read(bytes, to: &receiver)
            case .json:
                try checkIsNotLines()
                try RealtimeRowReader.read(bytes, at: place.path, maxNodes: maxNodes, to: &receiver)
            }
        } catch let error as RealtimeError {
            let message = error.problem == .tooManyNodes ? Self.tooManyNodes(maxNodes) : error.message
            throw wrong(message, at: error.offset, error.path)
        } catch let error as HasServerValue {
            throw wrong(
                "a server value (.sv) can't be imported, since only a client's write has a time; write the value itself",
                at: error.offset, error.path)
        }
    }

    static func tooManyNodes(_ limit: Int) -> String {
        "the text has more than \(limit) values, the limit of one change; import it with --in-steps, or in parts with --path"
    }

    private func checkIsNotLines() throws {
        guard bytes.starts(with: "{\"format\":\"functions-host ".utf8) else { return }
        throw DocumentError.invalidArgument("line 1: this is an export in JSON Lines; add --format jsonl")
    }

    // MARK: Places

    private static let windowBytes = 4 << 20

    private func wrong(_ message: String, at offset: Int?, _ path: RealtimePath) -> DocumentError {
        guard let offset else { return .invalidArgument("at \(path): \(message)") }
        let (line, column) = position(of: offset)
        return .invalidArgument("line \(line), column \(column) (byte \(offset + 1)), at \(path): \(message)")
    }

    /// The line and column of a byte, from 1. What was looked at doesn't stay in memory.
    private func position(of offset: Int) -> (line: Int, column: Int) {
        var line = 1
        var lineStart = 0
        var start = 0
        while start < offset {
            let end = min(start + Self.windowBytes, offset)
            for (index, byte) in bytes[start..<end].enumerated() where byte == UInt8(ascii: "\n") {
                line += 1
                lineStart = start + index + 1
            }
            SpoolFile.release(bytes, upTo: end)
            start = end
        }
        return (line, offset - lineStart + 1)
    }
}

/// Reads a whole text for its errors alone.
struct DatabaseTextCheck: RealtimeTextReceiver {
    let progress: (Int) throws -> Void

    func leaf(_ leaf: RealtimeLeaf, priority: RealtimePriority?, at keys: [RealtimeKey]) {}

    func priority(_ priority: RealtimePriority, at keys: [RealtimeKey]) {}

    func advanced(to position: Int) throws { try progress(position) }
}
