import DocumentModel
import Foundation
import HummingbirdCore

/// How a request with one answer is spoken: a line of JSON with the answer, or with why there is none.
package enum ControlAnswer {
    package static func line(_ answer: some Encodable) throws -> [UInt8] {
        Array(#"{"answer":"#.utf8) + Array(try JSONEncoder().encode(answer)) + Array("}\n".utf8)
    }

    /// - Throws: the error that the line tells, or `internal` for a line that no host of this version writes.
    static func read<Answer: Decodable>(_ line: [UInt8], as type: Answer.Type) throws(DocumentError) -> Answer {
        if let error = try DataWire.error(line) { throw error }
        do {
            return try JSONDecoder().decode(Content<Answer>.self, from: Data(line)).answer
        } catch {
            throw DocumentError(.internal, "the host's answer can't be read: \(error)")
        }
    }

    private struct Content<Answer: Decodable>: Decodable {
        var answer: Answer
    }
}
