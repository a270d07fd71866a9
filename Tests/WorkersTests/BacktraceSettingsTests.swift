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
        #expect(BacktraceSettings.merged(with: given) == kept + Self.fixed)
    }
}
