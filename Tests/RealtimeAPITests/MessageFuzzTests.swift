import NIOCore
@testable import RealtimeAPI
import RealtimeModel
import TestSupport
import Testing

/// Hostile frames and messages: each gets an answer, an error or the end of its connection.
@Suite struct MessageFuzzTests {
    private static let messages = [
        #"{"t":"c","d":{"t":"p","d":{}}}"#, #"{"t":"d","d":{"r":1,"a":"s","b":{"c":{"sdk.js.12":1}}}}"#,
        #"{"t":"d","d":{"r":2,"a":"q","b":{"p":"/a/b","h":""}}}"#,
        #"{"t":"d","d":{"r":3,"a":"q","b":{"p":"/a","q":{"i":"x/y","sp":1,"sn":"k","ep":"z","ein":false,"l":2,"vf":"r"},"t":9,"h":"H","ch":{"hs":["A","B",""],"ps":["a/b","c"]}}}}"#,
        #"{"t":"d","d":{"r":4,"a":"n","b":{"p":"/a/b"}}}"#, #"{"t":"d","d":{"r":5,"a":"g","b":{"p":"a","q":{}}}}"#,
        #"{"t":"d","d":{"r":6,"a":"p","b":{"p":"/a","d":{"x":{".sv":"timestamp"},"y":[1,null,{".value":2,".priority":"p"}]},"h":"H"}}}"#,
        #"{"t":"d","d":{"r":7,"a":"m","b":{"p":"/","d":{"a/b":1,"c":null}}}}"#,
        #"{"t":"d","d":{"r":8,"a":"o","b":{"p":"/a","d":{".sv":{"increment":1}}}}}"#,
        #"{"t":"d","d":{"r":9,"a":"om","b":{"p":"/a","d":{"b":1}}}}"#,
        #"{"t":"d","d":{"r":10,"a":"oc","b":{"p":"/a","d":null}}}"#,
        #"{"t":"d","d":{"r":11,"a":"auth","b":{"cred":"T"}}}"#,
        #"{"t":"d","d":{"r":12,"a":"gauth","b":{"cred":"T","authvar":{"uid":"u"}}}}"#,
        #"{"t":"d","d":{"r":13,"a":"unauth","b":{}}}"#,
    ]

    /// Answers what a session asks for, in any order.
    private struct Answering {
        var session: RealtimeSession
        var asked: [RealtimeSession.Action] = []
        var sent = 0
        var isClosed = false

        mutating func take(_ actions: [RealtimeSession.Action]) {
            for action in actions {
                switch action {
                case .send, .sendValue: sent += 1
                case .perform, .verify, .verifyApp, .listen, .authorize, .retry: asked.append(action)
                case .close, .closeLater: isClosed = true
                case .cancel, .setReading, .setTokenEnd, .setAppTokenEnd: break
                }
            }
        }

        mutating func answerOne(_ random: inout SeededGenerator) {
            guard !asked.isEmpty else { return }
            switch asked.remove(at: Int.random(in: 0..<asked.count, using: &random)) {
            case .perform(let id, _, _) where random.once(in: 5):
                take(session.answered(id, .failure(.unavailable("full"))))
            case .perform(let id, .get, _): take(session.answered(id, .value(.bytes(Array("1".utf8)))))
            case .perform(let id, _, _):
                take(session.answered(id, random.once(in: 3) ? .failure(.permissionDenied) : .done))
            case .retry(let id, _): take(session.retry(id))
            case .verify(let id, _, _):
                take(session.verified(id, random.once(in: 3) ? .failure(.invalidToken) : .success(.init(.admin))))
            case .verifyApp(let id, _): take(session.verifiedApp(id, .admitted(until: nil)))
            case .authorize(let id, _, _): take(session.authorized(id))
            case .listen(let id, _, _, _):
                let event: RealtimeListenEvent =
                    random.once(in: 3)
                    ? .ended(random.once(in: 2) ? .permissionDenied : .unavailable("full"))
                    : .began(RealtimeListenStart(.unchanged))
                take(session.received(event, of: id))
            default: break
            }
        }
    }

    @Test func eachRequestIsAnsweredOnce() async {
        await FuzzRounds.run("messages", count: 500) { random, seed in
            var answering = Answering(session: RealtimeSession(id: "S", .init(host: "h")))
            answering.take(answering.session.begin(now: 0))
            var expected = answering.sent
            for _ in 0..<20 where !answering.isClosed {
                var mutator = JSONMutator(random)
                let message = random.pick(Self.messages)
                let bytes = random.once(in: 3) ? mutator.mutated(message) : Array(message.utf8)
                random = mutator.bytes.random
                let read = bytes.withUnsafeBytes { RealtimeMessage(parsing: $0) }
                switch read {
                case .request, .ping: expected += 1
                case .otherControl, .endOfTransmission, .switchTransport, .invalid: break
                }
                answering.take(answering.session.receive(read, bytes: bytes.count))
                if random.once(in: 2) { answering.answerOne(&random) }
            }
            while !answering.asked.isEmpty, !answering.isClosed { answering.answerOne(&random) }
            if !answering.isClosed { #expect(answering.sent == expected, "seed \(seed)") }
            answering.take(answering.session.end())
        }
    }

    @Test func framesNeverHoldMoreThanTheirBound() async {
        await FuzzRounds.run("frames", count: 500) { random, seed in
            var assembler = FrameAssembler(maxMessageBytes: 1_000)
            var mutator = ByteMutator(random)
            for _ in 0..<50 {
                let frame = random.pick(["0", "2", "999999", "", "{}", "é", String(repeating: "x", count: 300)])
                let bytes = random.once(in: 4) ? mutator.mutated(Array(frame.utf8)) : Array(frame.utf8)
                switch assembler.receive(ByteBuffer(bytes: bytes)) {
                case .message(let message): #expect((1...1_000).contains(message.readableBytes), "seed \(seed)")
                case .invalid: return
                case .incomplete, .keepAlive, .tooLarge: #expect(assembler.heldBytes <= 1_000, "seed \(seed)")
                }
            }
        }
    }

    @Test func pollsNeverTrap() async {
        await FuzzRounds.run("polls", count: 500) { random, _ in
            var polling = LongPollConnection(callback: "7", maxMessageBytes: 200)
            _ = polling.start(id: "I", password: "P")
            var mutator = ByteMutator(random)
            for poll in 1...20 as ClosedRange<UInt64> {
                var query = Array(
                    "id=I&pw=P&seg0=\(Int.random(in: 0...9, using: &random))&ts0=\(Int.random(in: 1...3, using: &random))&d0=e30."
                        .utf8)
                if random.once(in: 3) { query = mutator.mutated(query) }
                guard let parameters = URLParameters(Substring(decoding: query, as: UTF8.self)),
                    case .poll(_, _, let segments) = LongPollRequest(parameters)
                else { continue }
                _ = polling.poll(poll, segments)
                if random.once(in: 3) { _ = polling.setReading(random.once(in: 2)) }
                if random.once(in: 3) { _ = polling.send(Array("1".utf8)) }
                if random.once(in: 5) { _ = polling.offerUpgrade() }
                if random.once(in: 5) { _ = polling.confirmUpgrade() }
                if random.once(in: 9) { polling.withdrawUpgrade() }
            }
        }
    }
}
