package import DocumentModel
import FirestoreClient
import FunctionManifest
import GoogleREST
import OutboundHTTP
import Sharing
import StrictJSON
import TextFormats
import TokenVerification
package import UserModel

/// The users of functions that are served alone: those of Firebase Authentication, by Identity Toolkit's REST API, or of
/// an Auth emulator.
///
/// Identity Toolkit has no transactions, so neither have users here.
package final class RemoteUsers: UserBackend {
    /// Waits before a retry.
    typealias Pause = @Sendable (_ seconds: Double) async -> Void

    private let project: String
    /// `https://identitytoolkit.googleapis.com`, or the emulator's address with that name as the path.
    private let origin: String
    private let transport: any OutboundTransport
    /// Nil for an emulator, which accepts every request as the owner's.
    private let tokens: AccessTokens?
    private let signer: CustomTokenSigner
    private let pause: Pause
    private let operations = RemoteOperations()
    /// Bounds the requests under way, and with them the memory of answers.
    private let places: AsyncSemaphore

    /// A page of 1,000 users with all that they may have.
    private static let maxAnswerBytes = 16 * 1024 * 1024
    private static let maxTime: Duration = .seconds(60)
    private static let backoff = Backoff(min: 0.1, max: 5)
    private static let maxAttempts = 3

    /// - Parameter places: how many requests may be under way at a time.
    init(
        project: String, origin: String, transport: any OutboundTransport, tokens: AccessTokens?,
        signer: CustomTokenSigner, places: Int = 16, pause: @escaping Pause
    ) {
        self.project = project
        self.origin = origin
        self.transport = transport
        self.tokens = tokens
        self.signer = signer
        self.places = AsyncSemaphore(places)
        self.pause = pause
    }

    /// The number of requests that wait for a place.
    var waiterCount: Int { places.waiterCount }

    package func perform(
        _ request: UserRequest, in context: OperationContext, completion: @escaping Completion<[UInt8]>
    ) {
        operations.run(for: context.owner ?? 0) { [self] slots in
            do throws(UserFailure) {
                completion(.success(try await answer(request, slots, context)))
            } catch {
                completion(.failure(error))
            }
        }
    }

    package func release(owner: UInt64) { operations.cancel(owner: owner) }

    /// - Parameter slots: Those of the invocation, so that one with many requests doesn't hold up others.
    private func answer(
        _ request: UserRequest, _ slots: AsyncSemaphore, _ context: OperationContext
    ) async throws(UserFailure) -> [UInt8] {
        do throws(DocumentError) { try request.check() } catch { throw .failed(error) }
        do throws(CancellationError) { try await slots.acquire() } catch { throw .failed(.callerLeft) }
        defer { slots.release() }
        do throws(CancellationError) { try await places.acquire() } catch { throw .failed(.callerLeft) }
        defer { places.release() }
        guard context.cancellation?.isCancelled != true else { throw .failed(.callerLeft) }
        guard request.operation != .customToken else { return try await customToken(request.body) }
        return try await send(request.operation, request.body)
    }

    // MARK: Custom tokens

    private func customToken(_ body: [UInt8]) async throws(UserFailure) -> [UInt8] {
        guard let fields = (try? JSONValue(parsing: body))?.objectValue, let uid = fields["uid"]?.stringValue,
            (1...128).contains(uid.utf16.count)
        else { throw .refused("INVALID_LOCAL_ID : A user id has 1 to 128 characters.") }
        let claims = fields["claims"]?.objectValue
        for name in CustomTokenSigner.reserved where claims?[name] != nil {
            throw .refused("FORBIDDEN_CLAIM : \(name)")
        }
        do throws(CustomTokenSigner.Failure) {
            return JSONValue.object(["token": .string(try await signer.token(for: uid, claims: claims))]).utf8
        } catch {
            let code: StatusCode = if case .notConfigured = error { .failedPrecondition } else { .unavailable }
            throw .failed(DocumentError(code, "a custom token can't be signed: \(error)"))
        }
    }

    // MARK: Requests

    private func send(_ operation: UserRequest.Operation, _ body: [UInt8]) async throws(UserFailure) -> [UInt8] {
        let request = outbound(operation, body)
        var failures = 1
        while true {
            let failure: DocumentError
            let mayRepeat: Bool
            switch await authorized(request) {
            case .success(let answer) where answer.status == 200: return answer.body
            case .success(let answer) where answer.status < 500 && answer.status != 429:
                throw .refused(Self.refusal(answer))
            case .success(let answer):
                failure = DocumentError(
                    StatusCode(httpStatus: answer.status), "Identity Toolkit returned status \(answer.status)")
                mayRepeat = operation.isRead
            case .failure(let error):
                failure = Self.error(error, operation)
                mayRepeat = error.kind == .notSent || (error.kind == .lost && operation.isRead)
            }
            guard mayRepeat, failures < Self.maxAttempts else { throw .failed(failure) }
            await pause(Self.backoff.pause(afterFailures: failures) * .random(in: 0.5...1))
            failures += 1
        }
    }

    private func outbound(_ operation: UserRequest.Operation, _ body: [UInt8]) -> OutboundRequest {
        var path = "\(origin)/v1/projects/\(project)/accounts"
        switch operation {
        case .create, .customToken: break
        case .lookUp: path += ":lookup"
        case .update: path += ":update"
        case .delete: path += ":delete"
        case .deleteBatch: path += ":batchDelete"
        case .mailLink: path += ":sendOobCode"
        case .list: path += ":batchGet" + Self.query(of: body)
        }
        return OutboundRequest(
            to: path, headers: ["Content-Type": "application/json", "User-Agent": "functions-host"],
            body: operation == .list ? nil : body,
            limits: OutboundLimits(maxBytes: Self.maxAnswerBytes, whole: Self.maxTime))
    }

    /// The members of a JSON object as parameters of a GET.
    private static func query(of body: [UInt8]) -> String {
        let members = (try? JSONValue(parsing: body))?.objectValue ?? [:]
        let pairs = members.compactMap { name, value -> String? in
            switch value {
            case .string(let text): "\(name)=\(PercentEncoding.encoded(text))"
            case .integer(let number): "\(name)=\(number)"
            default: nil
            }
        }
        return pairs.isEmpty ? "" : "?" + pairs.joined(separator: "&")
    }

    /// Sends a request, and sends it again with a new token if its token is no longer accepted.
    private func authorized(_ request: OutboundRequest) async -> Result<OutboundResponse, OutboundError> {
        var request = request
        do throws(OutboundError) {
            guard let tokens else {
                request.headers["Authorization"] = "Bearer owner"
                return .success(try await transport.send(request))
            }
            let token = try await tokens.token()
            request.headers["Authorization"] = "Bearer \(token)"
            let answer = try await transport.send(request)
            guard answer.status == 401 else { return .success(answer) }
            request.headers["Authorization"] = "Bearer \(try await tokens.token(insteadOf: token))"
            return .success(try await transport.send(request))
        } catch {
            return .failure(error)
        }
    }

    /// The error's message, which begins with its name.
    private static func refusal(_ answer: OutboundResponse) -> String {
        let error = (try? JSONValue(parsing: answer.body))?["error"]
        let message = error?["message"]?.stringValue ?? "status \(answer.status)"
        let status = error?["status"]?.stringValue
        // Errors of Google's platform have a sentence there, and the name beside it.
        let hasName = message.prefix { $0 != " " && $0 != ":" }.allSatisfy {
            $0.isUppercase || $0 == "_" || $0.isNumber
        }
        if hasName { return message }
        return answer.status == 403 || answer.status == 401
            ? "PERMISSION_DENIED : \(message)" : status.map { "\($0) : \(message)" } ?? message
    }

    private static func error(_ failure: OutboundError, _ operation: UserRequest.Operation) -> DocumentError {
        let caveat = operation.isRead ? "" : "; the change may have been made"
        switch failure.kind {
        case .notSent: return DocumentError(.unavailable, "Identity Toolkit can't be reached: \(failure)")
        case .lost: return DocumentError(.unavailable, "Identity Toolkit's answer was lost: \(failure)\(caveat)")
        case .timedOut:
            return DocumentError(
                .deadlineExceeded,
                "Identity Toolkit didn't answer within \(maxTime.components.seconds) s\(caveat)")
        case .cancelled: return .callerLeft
        case .tooLarge, .outOfMemory:
            return DocumentError(
                .resourceExhausted,
                "Identity Toolkit's answer has more than \(maxAnswerBytes / 1_048_576) MiB; ask for fewer users at once"
            )
        }
    }
}

extension JSONValue {
    /// Compact JSON, without numbers that could fail.
    var utf8: [UInt8] { Array(description.utf8) }
}
