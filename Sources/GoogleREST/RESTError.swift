package import DocumentModel
package import StrictJSON

extension JSONWriter {
    package mutating func error(_ error: DocumentError) {
        raw("{\"error\":{\"code\":")
        integer(error.code.httpStatus)
        raw(",\"message\":")
        string(error.message)
        raw(",\"status\":")
        string(error.code.wireName)
        raw("}}")
    }
}

extension JSONNode {
    /// The error that a response, or an element of one, contains; nil if there is none. In a streamed response it is in
    /// an array.
    package var error: DocumentError? { error(withStatus: nil) }

    /// The error that the body of a failed response contains; nil if there is none.
    ///
    /// - Parameter httpStatus: the response's, which decides about an error that has no code of its own: that of a proxy,
    ///   for example.
    package func error(withStatus httpStatus: Int?) -> DocumentError? {
        if case .array(let elements) = kind { return elements.first?.error(withStatus: httpStatus) }
        guard let error = self["error"] else { return nil }
        let message =
            switch (error["message"] ?? error).kind {
            case .string(let text): text
            default: "the service gave no reason"
            }
        if case .string(let name)? = error["status"]?.kind, let code = StatusCode(wireName: name) {
            return DocumentError(code, message)
        }
        if case .integer(let status)? = error["code"]?.kind {
            return DocumentError(StatusCode(httpStatus: Int(truncatingIfNeeded: status)), message)
        }
        return DocumentError(httpStatus.map(StatusCode.init(httpStatus:)) ?? .unknown, message)
    }
}

extension JSONNode {
    /// Reads a `google.rpc.Status`; nil if it is OK.
    package func status() throws(JSONProblem) -> DocumentError? {
        guard let code = try self["code"]?.integer(), code != 0 else { return nil }
        return DocumentError(
            UInt8(exactly: code).flatMap(StatusCode.init(rawValue:)) ?? .unknown, try self["message"]?.string() ?? "")
    }
}

extension StatusCode {
    init?(wireName: String) {
        guard let code = Self.allCases.first(where: { $0.wireName == wireName }), code != .ok else { return nil }
        self = code
    }

    /// The code that gRPC assigns to an HTTP status, for responses without a code of their own.
    package init(httpStatus: Int) {
        switch httpStatus {
        case 400, 413: self = .invalidArgument
        case 401: self = .unauthenticated
        case 403: self = .permissionDenied
        case 404: self = .notFound
        case 409: self = .aborted
        case 429: self = .resourceExhausted
        case 499: self = .cancelled
        case 500: self = .internal
        case 501: self = .unimplemented
        case 502, 503: self = .unavailable
        case 504: self = .deadlineExceeded
        default: self = .unknown
        }
    }
}
