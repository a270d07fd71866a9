package import DocumentModel
package import NIOCore

/// How a call, a request or an event's attempt was answered, for the log and the metrics.
package struct CallRecord: Sendable {
    package enum Status: Hashable, Sendable, CustomStringConvertible {
        case ok
        case failed(StatusCode)
        /// The status of an HTTP function's own response.
        case http(UInt16)

        package var description: String {
            switch self {
            case .ok: "OK"
            case .failed(let code): code.wireName
            case .http(let status): "\(status)"
            }
        }

        /// Whether the function or the host failed, rather than the caller.
        package var isFailure: Bool {
            switch self {
            case .ok: false
            case .failed(let code): code.httpStatus >= 500
            case .http(let status): status >= 500
            }
        }
    }

    package var function: String
    package var status: Status
    package var executionID: String
    /// The verified user; nil if there is none.
    package var user: String?
    /// The method and ``path(of:without:)`` of an HTTP function's request; nil for other functions.
    package var request: (method: String, path: String)?
    package var ended: NIODeadline
    /// From the admission to the answer.
    package var duration: TimeAmount
    /// From the admission to the start of the handler; nil if it wasn't started.
    package var wait: TimeAmount?

    private static let maxPath = 200

    /// A request's path as it is logged: without the query, without secrets, and cut, because records wait in memory.
    static func path(of target: String, without secrets: SecretFilter) -> String {
        let path = target.utf8.prefix { $0 != UInt8(ascii: "?") }
        guard path.count > maxPath else { return secrets.filtered(String(Substring(path))) }
        var end = path.index(path.startIndex, offsetBy: maxPath)
        while end.samePosition(in: target.unicodeScalars) == nil { path.formIndex(before: &end) }
        return secrets.filtered(beginning: path[..<end]) + "…"
    }
}

/// Receives the records of a loop's calls, some at a time and off the calls' way.
package typealias CallRecorder = @Sendable (_ records: [CallRecord], _ loopNow: NIODeadline) -> Void
