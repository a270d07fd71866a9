import FunctionManifest
import Testing

@testable import FunctionsRuntime

/// What an author's options become in the manifest, by which the host goes.
@Suite struct TriggerOptionTests {
    private func callable(_ options: CallableOption...) -> TriggerManifest {
        let function =
            switch options.count {
            case 0: onCall("f") { (request: CallableRequest<NoData>) in true }
            default: onCall("f", options[0]) { (request: CallableRequest<NoData>) in true }
            }
        return function.trigger
    }

    @Test func aCallablesOptions() {
        #expect(callable() == .callable(.init(cors: .any, enforceAppCheck: false, heartbeatSeconds: 30)))
        #expect(
            callable(.cors(.off)) == .callable(.init(cors: .off, enforceAppCheck: false, heartbeatSeconds: 30)))
        #expect(
            callable(.cors(.origins("https://shop.example")))
                == .callable(
                    .init(cors: .origins(["https://shop.example"]), enforceAppCheck: false, heartbeatSeconds: 30)))
        #expect(
            callable(.heartbeat(.seconds(1)))
                == .callable(.init(cors: .any, enforceAppCheck: false, heartbeatSeconds: 1)))
        #expect(
            callable(.heartbeat(nil)) == .callable(.init(cors: .any, enforceAppCheck: false, heartbeatSeconds: nil)))
        #expect(
            callable(.enforceAppCheck())
                == .callable(.init(cors: .any, enforceAppCheck: true, heartbeatSeconds: 30)))
    }

    @Test func anHTTPFunctionsOptions() {
        #expect(onRequest("f") { _ in HTTPResponse(status: 200) }.trigger == .http(.init(cors: .off)))
        #expect(onRequest("f", .cors(.any)) { _ in HTTPResponse(status: 200) }.trigger == .http(.init(cors: .any)))
    }
}
