package import DocumentModel
package import RealtimeModel
import StrictJSON
package import WorkerProtocol

extension DatabaseRequest {
    /// What a read or an observation is of; without a query it is all that exists at the path.
    ///
    /// - Throws: `invalidArgument`.
    package func place() throws(DocumentError) -> (path: RealtimePath, query: RealtimeQuery?) {
        do {
            let query = try query.map { try RealtimeQuery(message: try JSONValue(parsing: $0)) }
            return (try RealtimePath(target), query)
        } catch {
            throw .invalidArgument("\(error)")
        }
    }

    /// The write that a set or an update is.
    ///
    /// - Throws: `invalidArgument`.
    package func write() throws(DocumentError) -> RealtimeWrite {
        do throws(RealtimeError) {
            let target = try RealtimeTarget(self.target)
            guard operation == .update else {
                return .set(target, try RealtimeWriteValue(parsing: value, at: target), ifHash: hash)
            }
            return .update(try RealtimeUpdate(parsing: value, at: target.path))
        } catch {
            throw .invalidArgument("\(error)")
        }
    }
}
