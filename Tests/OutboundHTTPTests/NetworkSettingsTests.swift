import Testing

@testable import OutboundHTTP

/// The variables that direct requests, with the meaning that libcurl gives them.
@Suite struct NetworkSettingsTests {
    private func proxy(
        _ variables: [String: String], _ scheme: String = "https", _ host: String = "example.com"
    ) throws -> HTTPProxy? {
        try NetworkSettings(variables).proxy(scheme: scheme, host: host)
    }

    @Test(
        arguments: [
            (["http_proxy": "a:1"], "a", nil), (["HTTP_PROXY": "a:1"], nil, nil), (["https_proxy": "b:1"], nil, "b"),
            (["HTTPS_PROXY": "b:1"], nil, "b"), (["https_proxy": "b:1", "HTTPS_PROXY": "c:1"], nil, "b"),
            (["https_proxy": "", "HTTPS_PROXY": "c:1"], nil, "c"), (["all_proxy": "d:1"], "d", "d"),
            (["ALL_PROXY": "e:1", "http_proxy": "a:1"], "a", "e"), (["all_proxy": "d:1", "NO_PROXY": "*"], nil, nil),
            ([:], nil, nil),
        ] as [([String: String], String?, String?)])
    func eachSchemeHasItsProxy(variables: [String: String], http: String?, https: String?) throws {
        #expect(try proxy(variables, "http")?.host == http)
        #expect(try proxy(variables, "https")?.host == https)
    }

    @Test func aProxyHasAPortAndPerhapsAUser() throws {
        let full = try #require(try proxy(["https_proxy": "http://us%40er:pa%3Ass@proxy.local:3128/"]))
        #expect((full.host, full.port) == ("proxy.local", 3128))
        #expect((full.user, full.password) == ("us@er", "pa:ss"))
        let short = try #require(try proxy(["https_proxy": "proxy.local"]))
        #expect((short.host, short.port) == ("proxy.local", 1080))
        #expect(short.user == nil)
        #expect(try proxy(["https_proxy": "http://[::1]:3128"])?.host == "::1")
    }

    @Test(arguments: [
        ("socks5://user:secret@a:1", "https_proxy names a proxy of the kind socks5; only http is supported"),
        ("https://a:1", "https_proxy names a proxy of the kind https; only http is supported"),
        ("http://", "https_proxy is not the address of a proxy"),
        ("http://10.0.0.1:99999", "https_proxy names a port that doesn't exist"),
    ])
    func anotherKindOfProxyIsAnError(text: String, reason: String) {
        #expect(throws: HTTPProxy.Unusable(reason: reason)) { try proxy(["https_proxy": text]) }
        #expect(throws: Never.self) { try proxy(["https_proxy": text], "http") }
        #expect(throws: Never.self) { try proxy(["https_proxy": text, "no_proxy": "example.com"]) }
    }

    @Test(arguments: [
        ("example.com", "example.com", true), ("example.com", "www.Example.com", true),
        (".example.com", "www.example.com", true), ("example.com.", "example.com", true),
        ("example.com", "notexample.com", false), ("www.example.com", "example.com", false),
        ("a, example.com b", "example.com", true), ("10.0.0.0/8", "10.1.2.3", true),
        ("10.0.0.0/8", "11.1.2.3", false), ("10.0.0.1", "10.0.0.1", true), ("10.0.0.1", "10.0.0.2", false),
        ("fd12::1", "fd12::1", true), ("fd00::/8", "[fd12::1]", true), ("", "127.0.0.1", true), ("", "[::1]", true),
        ("", "localhost", true), ("", "169.254.169.254", true), ("", "metadata.google.internal", true),
        ("10.0.0.0/40", "10.0.0.1", false), ("10.0.0.0/x", "10.0.0.1", false), ("0.0.0.0/0", "10.0.0.1", true),
        (".", "example.com", false), ("", "10.0.0.1", false),
    ])
    func hostsAreExceptedAsInCurl(text: String, host: String, isDirect: Bool) throws {
        let proxy = try proxy(["all_proxy": "a:1", "no_proxy": text], "https", host)
        #expect((proxy == nil) == isDirect)
    }

    @Test func rootsAreReadFromAFile() {
        #expect(NetworkSettings(["SSL_CERT_FILE": "/roots.pem"]).rootsFile == "/roots.pem")
        #expect(NetworkSettings(["SSL_CERT_FILE": ""]).rootsFile == nil)
    }
}
