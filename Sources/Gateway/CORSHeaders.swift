import FunctionManifest
import NIOHTTP1

/// The headers that let pages in browsers read a function's answer.
enum CORSHeaders {
    /// The answer to a preflight: the methods and headers that a page of the origin may use.
    static func preflight(_ request: HTTPHeaders, policy: CORSPolicy, methods: String) -> HTTPHeaders {
        var headers = HTTPHeaders()
        add(to: &headers, request, policy: policy)
        headers.add(name: "Access-Control-Allow-Methods", value: methods)
        if let wanted = request.first(name: "Access-Control-Request-Headers") {
            headers.add(name: "Access-Control-Allow-Headers", value: wanted)
            headers.replaceOrAdd(name: "Vary", value: "Origin, Access-Control-Request-Headers")
        }
        return headers
    }

    /// Reflects the origin if the policy allows it. What the function itself allows stays: browsers take two values for
    /// none.
    static func add(to headers: inout HTTPHeaders, _ request: HTTPHeaders, policy: CORSPolicy) {
        guard policy != .off else { return }
        headers.add(name: "Vary", value: "Origin")
        if let origin = request.first(name: "Origin"), policy.allows(origin),
            !headers.contains(name: "Access-Control-Allow-Origin")
        {
            headers.add(name: "Access-Control-Allow-Origin", value: origin)
        }
    }
}
