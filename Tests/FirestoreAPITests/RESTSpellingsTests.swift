@testable import FirestoreAPI
import FirestoreMessages
import GoogleREST
import NIOCore
import StrictJSON
import Testing

/// Bodies that don't have the common spelling.
@Suite struct RESTSpellingsTests {
    /// How often a body is read that is always refused.
    private func readings(_ text: String, maxMessages: Int) -> Int {
        var count = 0
        let body = RESTBody(ByteBuffer(string: text))
        _ = try? body.read(as: FSCommitRequest.self, maxMessages: maxMessages) { (root) throws(JSONProblem) -> Void in
            count += 1
            throw root.problem("it is refused")
        }
        return count
    }

    @Test func whatHasTooManyMessagesIsReadInTheCommonSpellingOnly() {
        let three = #"{"writes": [{}, {}]}"#
        #expect(readings(three, maxMessages: 3) == 2)
        #expect(readings(three, maxMessages: 2) == 1)
        // Braces in texts don't count.
        let two = #"{"database": "{\"{\\", "writes": [{}]}"#
        #expect(readings(two, maxMessages: 2) == 2)
        #expect(readings(two, maxMessages: 1) == 1)
    }
}
