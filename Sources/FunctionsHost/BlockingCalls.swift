import Deployments
import DocumentModel
import FunctionManifest
import IdentityProvider
import NIOCore
import StrictJSON
import WorkerProtocol
import Workers

/// Runs the functions that may refuse sign-ups, sign-ins and mails: as invocations, like calls.
struct BlockingCalls: BlockingFunctions {
    let served: ReleaseSwitch
    let loops: [InvocationLoop]

    func has(_ moment: BlockingMoment) -> Bool { function(moment) != nil }

    private func function(_ moment: BlockingMoment) -> ServedFunction? {
        TriggerManifest.BlockingTrigger.Moment(rawValue: moment.rawValue).flatMap { served.current.blocking($0) }
    }

    func run(_ moment: BlockingMoment, _ event: JSONObject) async throws(BlockingRefusal) -> JSONValue? {
        guard let function = function(moment), let loop = loops.randomElement() else { return nil }
        let name = function.manifest.name
        guard let body = try? JSONValue.object(event).serialized() else { return nil }
        let address = event["ip_address"]?.stringValue.flatMap { IPAddress($0) }
        let outcome = await withCheckedContinuation { (continuation: CheckedContinuation<InvocationOutcome, Never>) in
            loop.eventLoop.execute {
                Self.ask(function, body, from: address, on: loop) { continuation.resume(returning: $0) }
            }
        }
        if case .result(let result) = outcome {
            return try? JSONValue(parsing: Array(result.readableBytesView))
        }
        let failure = outcome.failure ?? .internal
        throw BlockingRefusal(
            function: name, httpStatus: failure.code.httpStatus, status: failure.code.wireName,
            message: failure.message,
            details: failure.details.flatMap { try? JSONValue(parsing: Array($0.readableBytesView)) })
    }

    /// Begins the invocation; called on its loop.
    ///
    /// - Parameters:
    ///   - event: JSON.
    ///   - address: of the client that signs in, whose share of the queue it uses and whose limits it counts for; nil
    ///     for the host's own callers.
    static func ask(
        _ function: ServedFunction, _ event: [UInt8], from address: IPAddress?, on loop: InvocationLoop,
        answer: @escaping (InvocationOutcome) -> Void
    ) {
        let call = BlockingCall(answer)
        do throws(AdmissionRefusal) {
            _ = try function.admit(address: address, for: call, on: loop) {
                InvocationRequest(
                    head: InvocationHead(headers: HeaderBlock([("Content-Type", "application/json")])),
                    body: .bytes(ByteBuffer(bytes: event)))
            }
        } catch {
            function.countRefusal(error.failure, now: loop.eventLoop.now)
            call.invocationAnswered(.notStarted(error.failure))
        }
    }
}

/// Waits for one answer. Belongs to its loop.
private final class BlockingCall: InvocationClient {
    private var answer: ((InvocationOutcome) -> Void)?

    init(_ answer: @escaping (InvocationOutcome) -> Void) { self.answer = answer }

    func invocationSent(_ head: HTTPAnswerHead) {}
    func invocationSent(chunk: ByteBuffer, taken: @escaping () -> Void) { taken() }

    func invocationAnswered(_ outcome: InvocationOutcome) {
        answer?(outcome)
        answer = nil
    }
}
