public import FunctionsRuntime

/// Answers the requests that code sends with ``fetch(_:query:method:headers:body:followsRedirects:timeout:)``, for tests: nothing is sent.
///
///     try await withFetch { request in
///         #expect(request.url == "https://mail.example/send")
///         return try .json(["id": "m1"])
///     } run: {
///         try await tester.deliverAll()
///     }
///
/// - Parameters:
///   - answer: Returns the response to a request, or throws what `fetch` throws then.
///   - body: The code whose requests are answered, with all tasks that it starts.
///   - isolation: The caller's.
@discardableResult
public func withFetch<Result>(
    _ answer: @escaping @Sendable (FetchRequest) async throws -> HTTPResponse,
    isolation: isolated (any Actor)? = #isolation, run body: () async throws -> Result
) async rethrows -> Result {
    try await FetchTransports.$current.withValue(AnsweringTransport(answer: answer), operation: body)
}

private struct AnsweringTransport: FetchTransport {
    let answer: @Sendable (FetchRequest) async throws -> HTTPResponse

    func send(_ request: FetchRequest) async throws -> FetchResponse {
        try Task.checkCancellation()
        let response = try await answer(try await request.gathered())
        try Task.checkCancellation()
        return FetchResponse(
            status: response.status, headers: response.headers, body: response.parts, to: request)
    }
}
