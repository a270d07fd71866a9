import DocumentModel
import Foundation
import HummingbirdCore

/// The response to a request with a single result: a line of JSON with the result or an error.
package enum ControlResponse {
    package static func line(_ answer: some Encodable) throws -> [UInt8] {
        Array(#"{"answer":"#.utf8) + Array(try JSONEncoder().encode(answer)) + Array("}\n".utf8)
    }

    /// - Throws: the error in the line, or `internal` if no host of this version writes such a line.
    static func read<Answer: Decodable>(_ line: [UInt8], as type: Answer.Type) throws(DocumentError) -> Answer {
        if let error = try DataWire.error(line) { throw error }
        do {
            return try JSONDecoder().decode(Content<Answer>.self, from: Data(line)).answer
        } catch {
            throw DocumentError(.internal, "the host's response can't be decoded: \(error)")
        }
    }

    private struct Content<Answer: Decodable>: Decodable {
        var answer: Answer
    }
}
