import Testing
import TextFormats

struct BearerTokenTests {
    @Test(
        arguments: [
            ("Bearer abc", "abc"), ("bearer abc", "abc"), ("BEARER a b", "a b"), ("Bearer", nil), ("Bearer ", nil),
            ("", nil), ("Basic abc", nil), ("abc", nil),
        ] as [(String, Substring?)])
    func theTokenFollowsTheScheme(header: String, token: Substring?) {
        #expect(BearerToken.of(header) == token)
    }
}
