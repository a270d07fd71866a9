/// The room that one operation's answer has in memory.
package protocol AnswerBytes: AnyObject, Sendable {
    /// Counts a part of the answer, such as a document with its ``Document/weight``.
    ///
    /// - Throws: if the answer may not become that large. The operation ends with this error and changes nothing.
    func take(_ bytes: Int) throws(DocumentError)

    /// The operation waits for others, which may need the room that is kept for its answer.
    func waits()
}

extension AnswerBytes {
    package func waits() {}
}
