import Testing
import TextFormats

@Suite struct MailAddressTests {
    @Test(arguments: [
        ("ada@example.com", nil, "ada@example.com"), ("a.b+c@x-y.example", nil, "a.b+c@x-y.example"),
        ("Ada <ada@example.com>", "Ada", "ada@example.com"), ("<ada@example.com>", nil, "ada@example.com"),
        (#""Shop, Inc." <shop@example.com>"#, "Shop, Inc.", "shop@example.com"),
        ("Läden <lä@läden.example>", "Läden", "lä@läden.example"), ("ops@localhost", nil, "ops@localhost"),
    ]) func addressesAreRead(text: String, name: String?, address: String) throws {
        let read = try #require(MailAddress(mailbox: text))
        #expect(read.name == name)
        #expect(read.address == address)
    }

    @Test(arguments: [
        "", "ada", "@example.com", "ada@", "a b@example.com", "a\r\nb@example.com", "ada@example.com>",
        "<ada@example.com",
        "a>b@example.com", "a,b@example.com", "a..b@example.com", ".a@example.com", "\"a\"@example.com",
        "ada@exa mple.com",
        "ada@-x.example", "ada@x-.example", "ada@example..com", "ada@[127.0.0.1]", "a@b@example.com",
        "ada@exam;ple.com",
        "Eve\nBcc: x <ada@example.com>", "a\u{7F}@example.com", "a\u{85}@example.com", "a\u{2028}b@example.com",
    ]) func othersAreRefused(text: String) { #expect(MailAddress(mailbox: text) == nil) }
}
