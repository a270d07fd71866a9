import CommitPipeline
import DocumentModel

/// Work on the indexes that a caller requests.
struct IndexJob: CommitJob {
    typealias Completion = @Sendable (Result<Void, DocumentError>) -> Void

    enum Work: Sendable {
        case configure(IndexConfiguration, Completion)
        /// Completed once all entries are recreated.
        case rebuild(Completion)
        /// Completed once no work is left.
        case done(Completion)
    }

    let work: Work
    let writer: DocumentWriter

    func run(in batch: CommitBatch) { writer.run(work) }

    func fail(_ error: DocumentError) {
        writer.fail(work)
        switch work {
        case .configure(_, let completion), .rebuild(let completion), .done(let completion):
            completion(.failure(error))
        }
    }
}
