/// A served function as operators see it.
package struct FunctionReport: Codable, Hashable, Sendable {
    package var name: String
    package var bundle: String
    /// The release's id; `local` for a local build.
    package var release: String
    /// The kind of function and where it is reached.
    package var trigger: String
    /// Why it is paused; nil if it isn't.
    package var paused: String?
    /// The number of its processes that are ready.
    package var workers: Int
    /// Calls, requests and event attempts: in the last minute, and since the host's start.
    package var callsLastMinute: Int
    package var calls: Int
    package var failures: Int
    /// Seconds within which half, and 95 %, of all calls were answered; nil without calls.
    package var medianSeconds: Double?
    package var p95Seconds: Double?

    package init(
        name: String, bundle: String, release: String, trigger: String, paused: String?, workers: Int,
        callsLastMinute: Int, calls: Int, failures: Int, medianSeconds: Double?, p95Seconds: Double?
    ) {
        self.name = name
        self.bundle = bundle
        self.release = release
        self.trigger = trigger
        self.paused = paused
        self.workers = workers
        self.callsLastMinute = callsLastMinute
        self.calls = calls
        self.failures = failures
        self.medianSeconds = medianSeconds
        self.p95Seconds = p95Seconds
    }
}

/// The functions of `functions/list`.
package struct FunctionListing: Codable, Hashable, Sendable {
    package var functions: [FunctionReport]

    package init(functions: [FunctionReport]) { self.functions = functions }
}

/// A line of the response to `functions/call`.
package struct CallLine: Codable, Hashable, Sendable {
    /// A chunk of a streaming function, as JSON.
    package var chunk: String?
    /// The result as JSON, at the end.
    package var result: String?
    /// Or the error: its status, message, and details as JSON.
    package var status: String?
    package var message: String?
    package var details: String?

    package init(
        chunk: String? = nil, result: String? = nil, status: String? = nil, message: String? = nil,
        details: String? = nil
    ) {
        self.chunk = chunk
        self.result = result
        self.status = status
        self.message = message
        self.details = details
    }
}
