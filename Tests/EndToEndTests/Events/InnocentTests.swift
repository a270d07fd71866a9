import Foundation
import TestSupport
import Testing

/// A failure that isn't the handler's own costs an event nothing, even one without retry.
@Suite(.endsHangs) struct InnocentTests {
    @Test func aTrapDropsItsOwnEventAndNoneThatRanBesideIt() async throws {
        try await RunningHost.serving { host in
            let calm = (0..<20).map { "calm\($0)" }
            try await host.set("company", ids: Array(calm[..<10]) + ["bad"] + Array(calm[10...]), n: 1)
            try await host.waitForLog("the event is dropped", "trapsInCompany", "the process ended")
            let received = try await host.wait(for: 20, of: "trapsInCompany")
            #expect(Set(received.compactMap { $0.value("document") }) == Set(calm.map { "company/\($0)" }))
            #expect(received.allSatisfy { $0.value("attempt") == "1" })
            let dropped = host.process.errors.split(separator: "\n").count { $0.contains("the event is dropped") }
            #expect(dropped == 1)
        }
    }

    @Test func anEventWaitsWhileNoProcessCanBeStarted() async throws {
        await HostSlots.take()
        defer { HostSlots.release() }
        let directory = try HostDirectory()
        let broken = directory.path + "/broken"
        let bundle = try directory.script(
            """
            if [ "$1" = worker ] && [ -e '\(broken)' ]; then exit 3; fi
            exec '\(BuiltProducts.fixture)' "$@"
            """)
        try directory.configure(bundles: #"{ "name": "fixture", "executable": "\#(bundle)" }"#)
        let host = try await RunningHost.start(in: directory)
        try directory.write("", to: "broken")
        // Neither of them is retried once its handler has failed.
        try await host.set("company", ids: (0..<8).map { "c\($0)" }, n: 1)
        try await host.waitForLog("a handler can't be started; its event waits", "trapsInCompany")
        try FileManager.default.removeItem(atPath: broken)
        try await host.wait(for: 8, of: "trapsInCompany")
        try await host.kill()
    }
}
