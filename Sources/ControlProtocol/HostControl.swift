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

extension HostControl {
    /// Sends a request whose parameters may be as long as files, with a single result.
    ///
    /// - Throws: as ``ask(_:as:)``.
    package func askWithFiles<Answer: Decodable>(
        _ request: ControlRequest, as type: Answer.Type
    ) async throws -> Answer {
        try await ask(ControlRequest(request.topic, request.verb), body: request.body, as: type)
    }

    /// Sends a request with a body that has a single result.
    ///
    /// - Throws: as ``ask(_:as:)``.
    package func ask<Answer: Decodable>(
        _ request: ControlRequest, body: [UInt8], as type: Answer.Type
    ) async throws -> Answer {
        var answer: Answer?
        try await exchange(request, body: body, as: type) { answer = $0 }
        guard let answer else { throw ControlClient.connectionLost }
        return answer
    }

    /// Sends a request with a body, whose response has several lines.
    ///
    /// - Throws: as ``ask(_:as:)``, or an error of `onLine`.
    package func exchange<Line: Decodable>(
        _ request: ControlRequest, body: [UInt8], as type: Line.Type, onLine: (Line) async throws -> Void
    ) async throws {
        guard let client = try await ControlClient(directory: directory) else { throw NoRunningHost(directory) }
        try await client.exchange(request.path, input: SingleInput(bytes: body)) { line in
            try await onLine(try ControlResponse.read(line, as: type))
        }
    }
}

/// The error of a command that needs a running host if none answers on the data directory. One that starts or stops
/// doesn't.
package struct NoRunningHost: Error, CustomStringConvertible {
    private let directory: String

    init(_ directory: String) { self.directory = directory }

    package var description: String {
        "no host runs on the data directory \(directory), or it is starting or stopping; start one with "
            + "\"functions-host serve\", or name another directory with --data or --config"
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

/// The input of a request with a body in memory.
private struct SingleInput: AsyncSequence, Sendable {
    typealias Failure = any Error

    let bytes: [UInt8]

    struct AsyncIterator: AsyncIteratorProtocol {
        var bytes: [UInt8]?

        mutating func next() async throws -> [UInt8]? {
            defer { bytes = nil }
            return bytes
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(bytes: bytes) }
}
