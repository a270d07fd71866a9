import Testing

@testable import FunctionsRuntime

/// What blocking functions receive, of the host and of Google's sign-in.
@Suite struct BlockingEventTests {
    private func profile(_ json: String) throws -> JSONValue? {
        let text = #"{"event_id":"1","event_type":"beforeSignIn","iat":7,"raw_user_info":\#(json)}"#
        return try CallableDecoder().decode(BlockingPayload.self, from: Array(text.utf8)).profile
    }

    @Test func aProvidersProfileIsAnObjectAlsoWhereItIsSentAsText() throws {
        let octo: JSONValue = ["login": "octo", "id": 7]
        #expect(try profile(#"{"login":"octo","id":7}"#) == octo)
        // As Google's tokens have it.
        #expect(try profile(#""{\"login\":\"octo\",\"id\":7}""#) == octo)
        #expect(try profile(#""octo""#) == .string("octo"))
        #expect(try profile("null") == nil)
    }
}
