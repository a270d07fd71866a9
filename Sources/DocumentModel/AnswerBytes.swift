/// Counts the bytes of an answer while it is read.
package protocol AnswerBytes: AnyObject, Sendable {
    /// Called with the weight of each document before the next one is read.
    ///
    /// - Throws: what the operation fails with if the answer may not become that large.
    func take(_ bytes: Int) throws(DocumentError)
}
