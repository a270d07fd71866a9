package import CommitPipeline
import DocumentModel
import RealtimeModel

extension RealtimeStore {
    /// Decides whether writes would be allowed in the durable state of this moment, without writing.
    ///
    /// - Parameter completion: receives the reason if they wouldn't.
    package func check(
        _ request: RealtimeCommit, of caller: ReadCaller? = nil,
        completion: @escaping @Sendable (Result<Void, RealtimeFailure>) -> Void
    ) {
        guard request.check != nil else { return hub.complete { completion(.success(())) } }
        let job = EarlyCheckJob(
            request: request, catalogs: catalogs, configuration: configuration,
            limits: configuration.limits, now: pipeline.now, cancellation: nil
        ) { [hub, configuration] result in
            hub.complete {
                completion(
                    result.flatMap { decision in
                        guard let decision else { return .failure(.tooLarge(configuration.limits.maxBytes)) }
                        return decision.failure.map { .failure($0) } ?? .success(())
                    })
            }
        }
        pipeline.read(job, of: caller, limit: pipeline.configuration.maxWaiting)
    }
}
