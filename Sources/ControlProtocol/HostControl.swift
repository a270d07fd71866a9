/// The running host of a data directory, as its commands reach it.
package struct HostControl: Sendable {
    private let directory: String

    /// - Parameter directory: the data directory.
    package init(_ directory: String) { self.directory = directory }

    /// Asks for one answer.
    ///
    /// - Throws: ``NoRunningHost``, or `DocumentError` as the host says it.
    package func ask<Answer: Decodable>(_ request: ControlRequest, as type: Answer.Type) async throws -> Answer {
        guard let client = try await ControlClient(directory: directory) else { throw NoRunningHost(directory) }
        var answer: Answer?
        try await client.exchange(request.path, input: nil as EmptyPieces?) { line in
            answer = try ControlAnswer.read(line, as: type)
        }
        guard let answer else { throw ControlClient.brokeOff }
        return answer
    }
}

/// That a command needs a running host, and none has the data directory.
package struct NoRunningHost: Error, CustomStringConvertible {
    private let directory: String

    init(_ directory: String) { self.directory = directory }

    package var description: String {
        "no host runs on the data directory \(directory); start one with \"functions-host serve\", or name another "
            + "directory with --data or --config"
    }
}

/// The input of a request that has none.
struct EmptyPieces: AsyncSequence, Sendable {
    typealias Failure = any Error

    struct AsyncIterator: AsyncIteratorProtocol {
        mutating func next() async throws -> [UInt8]? { nil }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator() }
}
