import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

/// An error in the format that Firebase's sign-in clients read.
struct IdentityToolkitError: Error, Hashable {
    var status: HTTPResponse.Status = .badRequest
    /// The text that clients compare, such as `INVALID_ID_TOKEN`.
    var message: String
    var reason = "invalid"
    /// The name of the canonical status, for errors where clients expect it beside the message.
    var name: String?

    static let invalidIDToken = Self(message: "INVALID_ID_TOKEN")
    static let tokenExpired = Self(message: "TOKEN_EXPIRED")
    static let userNotFound = Self(message: "USER_NOT_FOUND")
    static let userDisabled = Self(message: "USER_DISABLED")
    static let missingIDToken = Self(message: "MISSING_ID_TOKEN")
    static let missingLocalID = Self(message: "MISSING_LOCAL_ID")
    static let missingRefreshToken = Self(message: "MISSING_REFRESH_TOKEN")
    static let invalidRefreshToken = Self(message: "INVALID_REFRESH_TOKEN")
    static let missingGrantType = Self(message: "MISSING_GRANT_TYPE")
    static let invalidGrantType = Self(message: "INVALID_GRANT_TYPE")
    static let operationNotAllowed = Self(message: "OPERATION_NOT_ALLOWED")
    static let projectMismatch = Self(message: "PROJECT_NUMBER_MISMATCH")
    static let invalidBody = Self(
        message: "Invalid JSON payload received.", reason: "badRequest", name: "INVALID_ARGUMENT")
    static let bodyTooLarge = Self(
        status: .contentTooLarge, message: "Request body is larger than 64 KiB.", reason: "uploadTooLarge")
    static let missingKey = Self(
        status: .forbidden, message: "The request is missing a valid API key.", reason: "forbidden",
        name: "PERMISSION_DENIED")
    static let permissionDenied = Self(
        status: .forbidden, message: "The caller does not have permission", reason: "forbidden",
        name: "PERMISSION_DENIED")
    static let notFound = Self(
        status: .notFound, message: "Not Found", reason: "notFound", name: "NOT_FOUND")
    static let unavailable = Self(
        status: .serviceUnavailable, message: "The service is currently unavailable.", reason: "backendError",
        name: "UNAVAILABLE")
    static let `internal` = Self(
        status: .internalServerError, message: "Internal error encountered.", reason: "backendError",
        name: "INTERNAL")

    var response: Response {
        get throws {
            try .json(
                Body(
                    error: .init(
                        code: status.code, message: message,
                        errors: [.init(message: message, reason: reason)], status: name)),
                status: status)
        }
    }

    private struct Body: Encodable {
        var error: Details

        struct Details: Encodable {
            var code: Int
            var message: String
            var errors: [Item]
            var status: String?
        }

        struct Item: Encodable {
            var message: String
            var reason: String
            var domain = "global"
        }
    }
}

extension Response {
    /// A JSON response that must not be cached.
    static func json(_ body: some Encodable, status: HTTPResponse.Status = .ok) throws -> Response {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Response(
            status: status,
            headers: [.contentType: "application/json; charset=UTF-8", .cacheControl: "no-store"],
            body: .init(byteBuffer: ByteBuffer(bytes: try encoder.encode(body))))
    }
}
