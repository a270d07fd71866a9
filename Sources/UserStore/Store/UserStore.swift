package import CommitPipeline
package import DocumentModel
import StorageEngine

/// The users of a project, and what signs them in: one kind of data beside the documents, in the same commits.
///
/// A change returns once it is durable, with the events that it causes.
package final class UserStore: Sendable {
    package let project: String
    private let pipeline: CommitPipeline

    /// Adds the users to a pipeline that hasn't started.
    ///
    /// - Throws: `StorageError`.
    package init(on pipeline: CommitPipeline, project: String) throws {
        self.pipeline = pipeline
        self.project = project
        _ = try pipeline.add { _ in UserRows(now: pipeline.now, elapsed: pipeline.elapsed) }
    }

    /// Reads one durable state, which has everything that was acknowledged before the call.
    ///
    /// - Parameters:
    ///   - isLong: whether the read looks at many users, and so waits behind short ones.
    ///   - client: whose turn the read waits for, if anyone may cause it and it looks at many rows.
    /// - Throws: `DocumentError` if the store can't be read, or what the body throws.
    package func read<Result: Sendable>(
        isLong: Bool = false, of client: UInt64? = nil, _ body: @escaping @Sendable (UserSnapshot) throws -> Result
    ) async throws -> Result {
        let caller: ReadCaller? = isLong ? .maintenance : client.map(ReadCaller.client)
        return try await withCheckedThrowingContinuation { continuation in
            let job = UserRead(body: body) { continuation.resume(with: $0) }
            pipeline.read(job, of: caller, limit: pipeline.configuration.maxWaiting)
        }
    }

    /// Decides on a change without making it: what it would lead to in the durable state of this moment.
    ///
    /// - Throws: `DocumentError` if the store can't be read, or what the body throws.
    package func preview<Result: Sendable>(
        _ body: @escaping @Sendable (UserTransaction) throws -> Result
    ) async throws -> Result {
        try await read { [now = pipeline.now] users in
            try body(UserTransaction(users.storage, now: now()))
        }
    }

    /// Changes users, all at once or not at all, and returns when the change is durable.
    ///
    /// - Parameters:
    ///   - context: the author of the change, and the events that it handles.
    ///   - body: decides on the changes, on the writer's thread: it must be quick. It may run once only.
    /// - Throws: `DocumentError` if the store can't commit, or what the body throws. Nothing is changed then.
    package func commit<Result: Sendable>(
        in context: OperationContext = OperationContext(),
        _ body: @escaping @Sendable (UserTransaction) throws -> Result
    ) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            let job = UserJob(project: project, context: context, body: body) { continuation.resume(with: $0) }
            if !pipeline.submit(job, limit: pipeline.configuration.maxWaiting) { job.fail(CommitPipeline.shutDown) }
        }
    }

    /// Changes users without a task.
    ///
    /// - Parameters:
    ///   - body: as with ``commit(in:_:)``.
    ///   - completion: called once the change is durable, or with the error; on the writer's thread.
    package func commit<Result: Sendable>(
        _ body: @escaping @Sendable (UserTransaction) throws -> Result,
        completion: @escaping @Sendable (Swift.Result<Result, any Error>) -> Void
    ) {
        let job = UserJob(project: project, context: OperationContext(), body: body, completion: completion)
        if !pipeline.submit(job, limit: pipeline.configuration.maxWaiting) { job.fail(CommitPipeline.shutDown) }
    }

    /// A change of users as a part of a commit that has others too.
    package func part(_ body: @escaping (UserTransaction) throws -> Void) -> UserCommit {
        UserCommit(project: project, body)
    }
}
