import FunctionManifest
import Testing

@Suite struct OriginPatternTests {
    @Test(arguments: [
        ("https://*.example.com", "https://a.example.com"),
        ("https://*.example.com", "https://xn--bcher-kva.example.com"),
        ("https://*.example.com", "https://a-b_1.example.com"),
        ("https://*.eu.example.com", "https://a.eu.example.com"),
        ("https://*.example.com:8443", "https://a.example.com:8443"),
        ("http://*.localhost:3000", "http://a.localhost:3000"),
        ("http://*.localhost", "http://a.localhost"),
    ])
    func anOriginOfASubdomainMatches(pattern: String, origin: String) throws {
        #expect(try #require(OriginPattern(pattern)).matches(origin))
        #expect(CORSPolicy.origins(["https://other.example", pattern]).allows(origin))
    }

    @Test(arguments: [
        "https://evil-example.com", "https://example.com.evil.org", "https://a.example.com.evil.org",
        "https://example.com", "https://.example.com", "https://a.b.example.com", "https://a.example.com.",
        "http://a.example.com", "https://a.example.com:8443", "https://a.example.com:443", "https://A.example.com",
        "https://a.Example.com", "https://a@b.example.com", "https://evil.org/.example.com",
        "https://evil.org#.example.com", "https://evil.org?.example.com", "https://evil.org:1.example.com",
        "https://evil.org\\.example.com", "https://é.example.com", "https://a .example.com", "https://*.example.com",
        "https://a%2e.example.com", "https://a\u{0}.example.com", "https://a\n.example.com", "xhttps://a.example.com",
        "null", "", "https://",
    ])
    func otherOriginsDoNotMatch(origin: String) throws {
        #expect(try !#require(OriginPattern("https://*.example.com")).matches(origin))
    }

    @Test func overlappingPartsDoNotMatch() throws {
        // The label would be shared by both ends.
        #expect(try !#require(OriginPattern("http://*.a.localhost")).matches("http://.a.localhost"))
        #expect(try !#require(OriginPattern("https://*.example.com")).matches("https:/.example.com"))
    }

    @Test(arguments: [
        "*", "https://*", "https://*.", "https://*.com", "https://*..com", "https://*.example.",
        "https://*.*.example.com",
        "https://a.*.example.com", "https://*a.example.com", "https://a*.example.com", "https://example.*",
        "*://*.example.com", "*.example.com", "https://*.example.com/", "https://*.example.com/a",
        "https://*.Example.com", "https://*.example.com:443", "http://*.example.com:80", "https://*.example.com:",
        "https://*.example.com:0", "https://*.example.com:08443", "https://*.example.com:+84",
        "https://*.example.com:70000",
        "https://*.example.com:*", "https://*.1.2.3", "https://*.[::1]", "https://*.a@example.com", "https://*.é.com",
        "capacitor://*.example.com", "HTTPS://*.example.com", "https://*.example.com https://*.b.com", "",
        "https://example.com",
    ])
    func otherTextsAreNoPatterns(text: String) {
        #expect(OriginPattern(text) == nil)
    }

    /// As a bundle that doesn't check its origins might have it.
    @Test func aTextThatIsNotAPatternIsAnOrigin() {
        let policy = CORSPolicy.origins(["https://*.com"])
        #expect(!policy.allows("https://a.com"))
        #expect(policy.allows("https://*.com"))
    }
}
