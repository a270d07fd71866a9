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
        let outcome = await withCheckedContinuation { continuation in
            loop.eventLoop.execute {
                let call = BlockingCall { continuation.resume(returning: $0) }
                do throws(AdmissionRefusal) {
                    _ = try function.admit(for: call, on: loop) {
                        InvocationRequest(
                            head: InvocationHead(headers: HeaderBlock([("Content-Type", "application/json")])),
                            body: .bytes(ByteBuffer(bytes: body)))
                    }
                } catch {
                    function.countRefusal(error.failure, now: loop.eventLoop.now)
                    call.invocationAnswered(.notStarted(error.failure))
                }
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
