public import FunctionsRuntime

/// Sends an HTTP request from a handler, over connections that are kept between calls.
///
///     let answer = try await fetch("https://api.example/items/7", headers: ["Authorization": "Bearer \(key.value)"])
///     guard answer.status != 404 else { throw HttpsError(.notFound, "There is no such item.") }
///     let item = try await answer.requireSuccess().json(as: Item.self)
///
/// The response is returned when its status and headers have arrived. Its body is read afterwards, whole or part by part.
/// Compressed bodies are decompressed. A request that may be repeated (GET, HEAD, PUT, DELETE, OPTIONS) is sent once more
/// if its connection closes before a response.
///
/// Up to 20 redirects are followed. To another origin, the only headers that are sent are `Accept`, `Accept-Language`,
/// `User-Agent` and the trace. A redirect that would send a body to another origin, or leads from https to http, isn't
/// followed: it is the response.
///
/// In a test of a function nothing is sent: see ``withFetch(_:isolation:run:)``.
///
/// The request ends with the invocation: at its deadline, or when its client disconnects. The incoming request's
/// `traceparent`, `tracestate` and `X-Cloud-Trace-Context` are passed on unless `headers` has them.
///
/// - Parameters:
///   - url: `http` or `https`. A URL that comes from a caller can reach this machine's network: compare its host first, and
///     don't follow redirects.
///   - query: Added to the URL, percent-encoded.
///   - method: POST if there is a body, otherwise GET.
///   - body: Such as `.json(value)`, which also sets the content type unless `headers` has one.
///   - followsRedirects: Default true.
///   - timeout: The longest wait for the response's status, and for its body if that is read whole. Default: the time that
///     the invocation has left; 60 s outside of one.
///   - headers: Sent as they are.
/// - Throws: ``FetchError`` if there is no response. `CancellationError` if the invocation has ended. A status such as 500
///   isn't an error: see ``FetchResponse/requireSuccess()``.
public func fetch(
    _ url: String, query: KeyValuePairs<String, String> = [:], method: String? = nil, headers: Headers = [:],
    body: FetchBody? = nil, followsRedirects: Bool = true, timeout: Duration? = nil
) async throws -> FetchResponse {
    var request = try FetchRequest(
        url: url, query: query, method: method, headers: headers, body: body, deadline: FetchRequest.deadline(timeout))
    let transport = FetchTransports.current
    if transport is PooledTransport, InvocationContext.current?.params != nil {
        throw FetchError(.invalidRequest, "a test sends no requests: answer them with withFetch", url: request.url)
    }
    for _ in 0...20 {
        let response = try await transport.send(request)
        guard followsRedirects, let next = try request.redirected(by: response) else { return response }
        request = next
    }
    throw FetchError(.malformed, "more than 20 redirects", url: request.url)
}
