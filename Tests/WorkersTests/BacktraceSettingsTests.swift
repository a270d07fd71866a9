import Testing

@testable import Workers

struct BacktraceSettingsTests {
    private static let fixed = "interactive=no,color=no,format=text,registers=none,images=none"

    @Test(
        arguments: [
            (nil, "enable=yes,threads=crashed,limit=32,symbolicate=fast,"),
            ("", "enable=yes,threads=crashed,limit=32,symbolicate=fast,"),
            ("enable=no", "enable=no,threads=crashed,limit=32,symbolicate=fast,"),
            ("threads=all,limit=64,timeout=5s", "threads=all,limit=64,timeout=5s,enable=yes,symbolicate=fast,"),
            (
                "registers=all,Images=all,memory=all,format=json,color=yes,top=8",
                "top=8,enable=yes,threads=crashed,limit=32,symbolicate=fast,"
            ),
            ("nonsense,=,,preset=full", "preset=full,enable=yes,threads=crashed,limit=32,symbolicate=fast,"),
        ] as [(String?, String)])
    func whatPrintsNoSecretsIsKept(given: String?, kept: String) {
        #expect(BacktraceSettings.merged(with: given, program: "/b") == kept + "swift-backtrace=/b," + Self.fixed)
    }

    @Test func theProgramIsTheOneThatIsGivenOrFound() {
        let given = BacktraceSettings.merged(with: "swift-backtrace=/a", program: "/b")
        #expect(given.hasPrefix("swift-backtrace=/a,enable=yes,") && !given.contains("/b"))
        let none = BacktraceSettings.merged(with: nil, program: nil)
        #expect(none.contains("warnings=suppressed") && !none.contains("swift-backtrace"))
    }

    #if os(Linux)
        /// Tests run with a toolchain.
        @Test func theToolchainsProgramIsFound() throws {
            let program = try #require(BacktraceSettings.program)
            #expect(program.contains("/swift-backtrace"))
        }
    #endif
}
