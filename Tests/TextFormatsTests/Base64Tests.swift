import Testing
import TextFormats

@Suite struct Base64Tests {
    /// RFC 4648, section 10, and what the two alphabets differ in.
    private static let pairs: [(bytes: [UInt8], padded: String, url: String)] = [
        ([], "", ""), (Array("f".utf8), "Zg==", "Zg"), (Array("fo".utf8), "Zm8=", "Zm8"),
        (Array("foo".utf8), "Zm9v", "Zm9v"), (Array("foob".utf8), "Zm9vYg==", "Zm9vYg"),
        (Array("fooba".utf8), "Zm9vYmE=", "Zm9vYmE"), (Array("foobar".utf8), "Zm9vYmFy", "Zm9vYmFy"),
        ([0xFB, 0xFF, 0xBF], "+/+/", "-_-_"), ([0xFF, 0xEF], "/+8=", "_-8"), ([0], "AA==", "AA"),
    ]

    @Test func bytesAndTextsStandForEachOther() {
        for (bytes, padded, url) in Self.pairs {
            #expect(Base64.encode(bytes) == padded)
            #expect(Base64URL.encode(bytes) == url)
            let padding = String(repeating: "=", count: padded.count - url.count)
            #expect(Base64.encodePaddedForURL(bytes) == url + padding)
            #expect(Base64.decode(padded) == bytes)
            #expect(Base64URL.decode(url.utf8) == bytes)
            for text in [padded, url] { #expect(Base64.decodeAnyAlphabet(text) == bytes) }
        }
    }

    @Test func everyByteKeepsItsValue() {
        for count in 0..<70 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 167 + count) }
            #expect(Base64.decode(Base64.encode(bytes)) == bytes)
            #expect(Base64URL.decode(Array(Base64URL.encode(bytes).utf8)[...]) == bytes)
            #expect(Base64.encode(bytes.lazy.map { $0 }) == Base64.encode(bytes))
        }
    }

    @Test(arguments: [
        "A", "A===", "====", "=", "AA=A", "=AAA", "AAAA==", "AAAA====", "AA==AA==", "AA==\n", " AA==", "AA*=", "AÄ=",
        "AAAA\u{0}", "AA=",
    ])
    func whatIsNotBase64IsRefused(text: String) {
        #expect(Base64.decode(text) == nil)
        #expect(Base64.decodeAnyAlphabet(text) == nil)
        #expect(Base64URL.decode(text.utf8) == nil)
    }

    @Test func eachFormHasItsAlphabetAndPadding() {
        for text in ["-_-_", "Zg", "Zm8"] { #expect(Base64.decode(text) == nil) }
        for text in ["+/+/", "Zg==", "Zm8="] { #expect(Base64URL.decode(text.utf8) == nil) }
        #expect(Base64.decodeAnyAlphabet("-/+_") == [0xFB, 0xFF, 0xBF])
    }

    /// A token has exactly one text; protobuf's JSON takes these, as its own readers do.
    @Test(arguments: ["Zh", "Zm9", "AB", "A_"])
    func strayBitsAreRefusedInTokensOnly(text: String) {
        #expect(Base64URL.decode(text.utf8) == nil)
        #expect(Base64.decodeAnyAlphabet(text) != nil)
    }
}
