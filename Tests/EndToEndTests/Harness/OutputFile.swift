import Foundation
import Synchronization

/// A file that a process writes its output to. Each access to `text` reads only what was appended since the last one.
final class OutputFile: Sendable {
    let file: String
    private let state: Mutex<State>

    private struct State {
        let handle: FileHandle
        /// The complete lines.
        var lines = ""
        /// The bytes after the last complete line; they may end within a character.
        var rest: [UInt8] = []
    }

    /// Creates the empty file.
    init(file: String) throws {
        self.file = file
        try Data().write(to: URL(fileURLWithPath: file))
        state = Mutex(State(handle: try FileHandle(forReadingFrom: URL(fileURLWithPath: file))))
    }

    var text: String {
        state.withLock { state in
            state.rest += (try? state.handle.readToEnd()) ?? Data()
            if let end = state.rest.lastIndex(of: UInt8(ascii: "\n")) {
                state.lines += String(decoding: state.rest[...end], as: UTF8.self)
                state.rest.removeSubrange(...end)
            }
            return state.lines + String(decoding: state.rest, as: UTF8.self)
        }
    }
}
