import Foundation
import TestSupport
import Testing

/// `firebase_admin.auth`, unmodified, against the host.
@Suite(.endsHangs, .enabled(if: ClientScript.isInstalled, "firebase-admin is not installed: .ci/oracles"))
struct AdminAuthTests {
    @Test func theAdminLibraryManagesUsers() async throws {
        let directory = try HostDirectory()
        try directory.configure([], extra: #""auth": { "passwords": { "hashMiB": 1 } }"#)
        try await RunningHost.serving(in: directory) { host in
            let script = try ClientScript("admin_auth.py", ["\(host.auth.port)", "demo-shop"], in: directory.path)
            try await script.succeed()
            #expect(script.lines.contains { $0.hasPrefix("deleted ") }, "\(script.lines)")
        }
    }
}
