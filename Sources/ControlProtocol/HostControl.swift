/// Sends commands to the host that runs on a data directory.
package struct HostControl: Sendable {
    private let directory: String

    /// - Parameter directory: the data directory.
    package init(_ directory: String) { self.directory = directory }

    /// Sends a request that has a single result.
    ///
    /// - Throws: ``NoRunningHost``, or the host's `DocumentError`.
    package func ask<Answer: Decodable>(_ request: ControlRequest, as type: Answer.Type) async throws -> Answer {
        guard let client = try await ControlClient(directory: directory) else { throw NoRunningHost(directory) }
        var answer: Answer?
        try await client.exchange(request.path, input: nil as EmptyInput?) { line in
            answer = try ControlResponse.read(line, as: type)
        }
        guard let answer else { throw ControlClient.connectionLost }
        return answer
    }
}

/// The error of a command that needs a running host if no host runs on the data directory.
package struct NoRunningHost: Error, CustomStringConvertible {
    private let directory: String

    init(_ directory: String) { self.directory = directory }

    package var description: String {
        "no host runs on the data directory \(directory); start one with \"functions-host serve\", or name another "
            + "directory with --data or --config"
    }
}

/// The input of a request without a body.
struct EmptyInput: AsyncSequence, Sendable {
    typealias Failure = any Error

    struct AsyncIterator: AsyncIteratorProtocol {
        mutating func next() async throws -> [UInt8]? { nil }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator() }
}
