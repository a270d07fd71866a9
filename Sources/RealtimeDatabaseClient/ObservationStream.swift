import DatabaseObservations
import DocumentModel
import OutboundHTTP
import RealtimeModel

/// What one observation receives of the service: a stream of events, which is opened again whenever it breaks off.
///
/// Each stream begins with the whole value, so that nothing is missed between two of them.
struct ObservationStream: Sendable {
    let service: DatabaseService
    let address: String
    let reader: DatabaseEventReader
    let observation: Observation
    /// Reads the value of a query that REST can't say exactly. The stream then only shows that something has changed.
    let reread: (@Sendable () async throws(DocumentError) -> [UInt8])?

    /// How often it is opened without handing anything on before the observation fails.
    private static let maxFailures = 8

    private enum Ending {
        case again(DocumentError)
        case failed(DocumentError)
    }

    /// Runs until the observation ends, which cancels the task.
    func run() async {
        var failures = 0
        while !Task.isCancelled {
            let (ending, hasProgress) = await receive()
            guard !Task.isCancelled else { return }
            failures = hasProgress ? 1 : failures + 1
            switch ending {
            case .failed(let error): return observation.fail(error)
            case .again(let error) where failures >= Self.maxFailures: return observation.fail(error)
            case .again: await service.wait(afterFailures: failures)
            }
        }
    }

    /// Receives one stream, up to its end.
    ///
    /// - Returns: Also whether the stream has brought the observation on: by an event, or if the query is read at each
    ///   change, by a value that was read. A service that sends events and answers no reads is given up.
    private func receive() async -> (ending: Ending, hasProgress: Bool) {
        let intake = EventIntake(observation)
        defer { intake.close() }
        let (pieces, feed) = AsyncStream.makeStream(of: [UInt8].self)
        async let outcome = { () async -> Result<OutboundResponse, OutboundError> in
            defer { feed.finish() }
            return await service.stream(address) { bytes in
                guard intake.take(bytes.count) else { return false }
                feed.yield(bytes)
                return true
            }
        }()
        var parser = EventStreamParser()
        var hasProgress = false
        for await piece in pieces {
            let events = parser.append(piece)
            guard !events.isEmpty else { continue }
            if reread == nil { hasProgress = true }
            if let ending = await handle(events, intake, &hasProgress) { return (ending, hasProgress) }
        }
        return (Self.ending(of: await outcome, service), hasProgress)
    }

    private static func ending(
        of outcome: Result<OutboundResponse, OutboundError>, _ service: DatabaseService
    ) -> Ending {
        switch outcome {
        case .success(let answer) where answer.status == 200:
            return .again(DocumentError(.unavailable, "the Realtime Database has ended the stream"))
        // The service has failed, or has had too many requests.
        case .success(let answer) where answer.status >= 500 || answer.status == 429:
            return .again(service.refusal(answer))
        case .success(let answer): return .failed(service.refusal(answer))
        case .failure(let failure):
            return .again(DocumentError(.unavailable, "the Realtime Database can't be reached: \(failure)"))
        }
    }

    /// - Returns: nil if the stream goes on.
    private func handle(
        _ events: [EventStreamParser.Event], _ intake: EventIntake, _ hasProgress: inout Bool
    ) async -> Ending? {
        var hasChanged = false
        for event in events {
            switch event.name {
            case "put" where reread == nil, "patch" where reread == nil:
                do throws(DocumentError) {
                    let settings = try reader.settings(event.data, isPatch: event.name == "patch")
                    intake.handOn(settings, ofBytes: event.byteCount)
                } catch {
                    return .failed(error)
                }
            case "cancel":
                return .failed(
                    DocumentError(.permissionDenied, "the Realtime Database doesn't allow the observation any more"))
            case "auth_revoked":
                return .again(DocumentError(.permissionDenied, "the access token is not accepted any more"))
            default:
                hasChanged = hasChanged || event.name == "put" || event.name == "patch"
                intake.handOn([], ofBytes: event.byteCount)
            }
        }
        guard hasChanged, let reread else { return nil }
        do throws(DocumentError) {
            intake.handOn([ReferenceChange.Setting("", try await reread())], ofBytes: 0)
            hasProgress = true
            return nil
        } catch {
            switch error.code {
            case .unavailable, .deadlineExceeded, .internal: return .again(error)
            default: return .failed(error)
            }
        }
    }
}
