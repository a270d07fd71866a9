import Foundation
import Synchronization

/// The text that a process has written to a file so far; each look reads only what has come since.
final class WrittenText: Sendable {
    let file: String
    private let state: Mutex<State>

    private struct State {
        let handle: FileHandle
        /// Whole lines, as text.
        var lines = ""
        /// What follows them; it may end within a character.
        var rest: [UInt8] = []
    }

    /// Makes the file, empty.
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
