import DocumentModel
import NIOCore
import Testing
@testable import WorkerProtocol

/// The bytes on the link, which a worker of another release must understand.
struct FrameBytesTests {
    private func frame(_ kind: Frame.Kind, invocation: UInt64 = 7, _ body: (inout ByteBuffer) -> Void) -> [UInt8] {
        var buffer = ByteBuffer()
        buffer.writeFrame(kind, invocation: invocation, body)
        return Array(buffer.readableBytesView)
    }

    /// The length of what follows, the kind and the invocation.
    private func header(_ count: UInt8, _ kind: UInt8) -> [UInt8] { [0, 0, 0, count, kind, 0, 0, 0, 0, 0, 0, 0, 7] }

    @Test func emptyFrame() {
        #expect(frame(.ready, invocation: 0x0102_0304_0506_0708) { _ in } == [0, 0, 0, 9, 16, 1, 2, 3, 4, 5, 6, 7, 8])
    }

    @Test func kindsKeepTheirCodes() {
        #expect(Frame.Kind.allCases.map(\.rawValue) == [1, 2, 3, 4, 5, 6, 16, 17, 18, 19, 20, 21, 22, 23])
    }

    @Test func invocationHead() {
        let head = InvocationHead(
            executionID: "e", timeLeft: 0x0001_0203, auth: .init(id: "u", claims: ByteBuffer(string: "{}")),
            streams: true, method: "PUT", target: "/é", headers: HeaderBlock([("A", "b")]),
            address: IPAddress("192.0.2.1"))
        let payload: [UInt8] =
            [0, 0, 0, 1, 0x65] + [0, 1, 2, 3] + [1, 0, 0, 0, 1, 0x75, 0, 0, 0, 2, 0x7B, 0x7D] + [0] + [0] + [0] + [0]
            + [1]
            + [0, 0, 0, 3, 0x50, 0x55, 0x54] + [0, 0, 0, 3, 0x2F, 0xC3, 0xA9]
            + [0, 0, 0, 10, 0, 0, 0, 1, 0x41, 0, 0, 0, 1, 0x62]
            + [1] + [0, 0, 0, 0, 0, 0, 0, 0] + [0, 0, 0xFF, 0xFF, 192, 0, 2, 1]
        #expect(frame(.invoke) { head.write(to: &$0) } == header(UInt8(9 + payload.count), 1) + payload)
    }

    @Test func failure() {
        let failure = InvocationFailure(code: .notFound, message: "no", details: ByteBuffer(string: "1"))
        let payload: [UInt8] = [StatusCode.notFound.rawValue, 0, 0, 0, 2, 0x6E, 0x6F, 1, 0, 0, 0, 1, 0x31, 0]
        #expect(StatusCode.notFound.rawValue == 5)
        #expect(frame(.failure) { failure.write(to: &$0) } == header(23, 18) + payload)
        let bare = InvocationFailure(code: .notFound, message: "", isPermanent: true)
        #expect(frame(.failure) { bare.write(to: &$0) } == header(16, 18) + [5, 0, 0, 0, 0, 0, 1])
    }

    @Test func answerHead() {
        let head = HTTPAnswerHead(status: 404, headers: HeaderBlock([("A", "")]))
        #expect(
            frame(.httpHead) { head.write(to: &$0) } == header(24, 20) + [
                1, 0x94, 0, 0, 0, 9, 0, 0, 0, 1, 0x41, 0, 0, 0, 0,
            ])
    }

    @Test func logLine() {
        let line = LogLine(level: 3, label: "l", message: "m", metadata: ["k": "v"])
        #expect(
            frame(.log) { line.write(to: &$0) } == header(32, 22) + [
                3, 0, 0, 0, 1, 0x6C, 0, 0, 0, 1, 0x6D, 0, 1, 0, 0, 0, 1, 0x6B, 0, 0, 0, 1, 0x76,
            ])
    }
}
