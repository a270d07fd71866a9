package import RealtimeModel
import StrictJSON

/// Why a request to a database is refused.
///
/// It is a closed set: each case has its status in messages, and its HTTP status and text in REST.
package enum RealtimeServiceError: Error, Hashable, Sendable {
    /// The rules don't allow it.
    case permissionDenied
    /// A write's condition doesn't hold: what exists has another hash.
    case stale
    case invalidToken
    case expiredToken
    /// A value, a path or an update is refused.
    case invalid(RealtimeError)
    case query(RealtimeQueryError)
    /// What would be read exceeds the limit.
    case tooMuchToRead
    /// What would be written exceeds the limit.
    case tooMuchToWrite
    /// A query without an index would look at more nodes than the limit.
    case tooManyNodes
    /// A setting can't have the value; a sentence.
    case invalidSetting(String)
    /// A write takes longer than the time that its sender allows.
    case writeTooSlow
    /// A write that is one step of the commits has more nodes than the limit: an update, a value with server values, or one
    /// for the end of a session.
    case updateTooLarge(nodes: Int)
    /// A write would call more functions, or with larger events, than it may; a sentence.
    case triggerLimit(String)
    /// In production, the configuration doesn't name the database.
    case unknownDatabase(String)
    /// The connection has as many listens as the limit allows.
    case tooManyListens(limit: Int)
    /// The client's app hasn't proved itself.
    case unverifiedApp
    /// A rules source doesn't compile.
    case rules(RealtimeRulesProblem)
    /// The request isn't one that the server knows.
    case unknownRequest(String)
    /// The request may succeed later, such as after the host has stopped.
    case unavailable(String)
    /// Any other failure, in a sentence.
    case failed(String)
}

extension RealtimeServiceError {
    static let appKeysUnavailable = Self.unavailable(
        "The keys to verify App Check tokens are unavailable at the moment.")
}

/// What is wrong in a rules source.
package struct RealtimeRulesProblem: Error, Hashable, Sendable {
    /// From 1; nil if the problem isn't about one place.
    package var line: Int?
    package var column: Int?
    package var message: String

    package init(line: Int? = nil, column: Int? = nil, message: String) {
        self.line = line
        self.column = column
        self.message = message
    }

    /// As tools show it: `3:15: Unknown variable 'tr'.`
    package var text: String {
        guard let line, let column else { return message }
        return "\(line):\(column): \(message)"
    }
}

extension RealtimeServiceError {
    /// The status of an answer to a message.
    package var status: String {
        switch self {
        case .permissionDenied, .unverifiedApp: "permission_denied"
        case .stale: "datastale"
        case .invalidToken: "invalid_token"
        case .expiredToken: "expired_token"
        case .tooMuchToRead: "too_big"
        case .tooMuchToWrite, .updateTooLarge: "write_too_big"
        case .unavailable: "unavailable"
        case .invalid, .query, .tooManyNodes, .writeTooSlow, .unknownDatabase, .tooManyListens, .rules,
            .unknownRequest, .invalidSetting, .triggerLimit, .failed:
            "failed"
        }
    }

    /// The text beside the status, and of REST unless the text depends on the request's body.
    package var message: String {
        switch self {
        case .permissionDenied: "Permission denied"
        case .stale: "The data has changed since it was read."
        case .invalidToken: "Could not parse auth token."
        case .expiredToken: "Auth token is expired"
        case .invalid(let error): "Invalid data; \(error.message) (at \(error.path))"
        case .query(let error): error.description
        case .tooMuchToRead: "Data requested exceeds the maximum size that can be accessed with a single request."
        case .tooMuchToWrite: "Data to write exceeds the maximum size that can be modified with a single request."
        case .tooManyNodes:
            "The query looks at too many nodes without an index; add \".indexOn\" to the rules, or wait until it is built"
        case .writeTooSlow: "The write takes longer than its writeSizeLimit allows."
        case .updateTooLarge(let nodes):
            "The write has more than \(nodes) nodes, the limit of an update, of a value with server values and of one for a "
                + "disconnection; write it in parts."
        case .unknownDatabase(let name): "There is no database \(name.excerpt)."
        case .tooManyListens(let limit): "The connection has \(limit) listens, the limit."
        case .unverifiedApp: "The app has no valid App Check token."
        case .rules(let problem): problem.text
        case .unknownRequest(let name): "There is no request \"\(name.excerpt)\"."
        case .invalidSetting(let sentence), .triggerLimit(let sentence), .unavailable(let sentence),
            .failed(let sentence):
            sentence
        }
    }

    /// The status of a REST answer.
    package var httpStatus: Int {
        switch self {
        case .permissionDenied, .invalidToken, .expiredToken, .unverifiedApp: 401
        case .stale: 412
        case .unknownDatabase: 404
        case .unavailable: 503
        case .failed: 500
        case .invalid, .query, .tooMuchToRead, .tooMuchToWrite, .tooManyNodes, .writeTooSlow, .updateTooLarge,
            .tooManyListens, .rules, .unknownRequest, .invalidSetting, .triggerLimit:
            400
        }
    }
}
