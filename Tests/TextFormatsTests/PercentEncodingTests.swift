import Testing
import TextFormats

@Suite struct PercentEncodingTests {
    @Test(arguments: [
        ("", ""), ("a b", "a%20b"), ("ä/😀", "%C3%A4/%F0%9F%98%80"), ("a-b.c_d/9", "a-b.c_d/9"),
        ("~+&=%?#", "%7E%2B%26%3D%25%3F%23"),
        ("\u{0}\n", "%00%0A"),
    ])
    func textsAreEncodedAndDecoded(text: String, encoded: String) {
        #expect(PercentEncoding.encoded(text) == encoded)
        #expect(PercentEncoding.decoded(encoded) == text)
    }

    @Test func bothCasesOfDigitsAreRead() { #expect(PercentEncoding.decoded("%c3%A4%2f") == "ä/") }

    @Test func plusIsASpaceWhereAsked() {
        #expect(PercentEncoding.decoded("a+b%2B") == "a+b+")
        #expect(PercentEncoding.decoded("a+b%2B", plusIsSpace: true) == "a b+")
    }

    @Test(arguments: ["%", "%4", "a%", "%4g", "%g4", "%+1", "%-1", "% 1", "%%41", "%FF", "%C3", "%C3%28", "%ED%A0%80"])
    func malformedTextIsRefused(text: String) { #expect(PercentEncoding.decoded(text) == nil) }

    /// What is decoded is compared.
    @Test(arguments: ["%CC%81%CC%A3", "\u{301}\u{323}"])
    func aTextThatTakesLongToCompareIsRefused(pair: String) {
        #expect(PercentEncoding.decoded("a" + String(repeating: pair, count: 500)) != nil)
        #expect(PercentEncoding.decoded("a" + String(repeating: pair, count: 501)) == nil)
    }
}

@Suite struct HexadecimalTests {
    @Test func bytesBecomeTwoDigitsEach() {
        #expect(Hexadecimal.encode([0x00, 0x0F, 0xA5, 0xFF]) == "000fa5ff")
        #expect(Hexadecimal.encode([]) == "")
    }

    @Test func numbersKeepTheirLeadingZeros() {
        #expect(Hexadecimal.encode(UInt64(0xABC)) == "0000000000000abc")
        #expect(Hexadecimal.encode(UInt32.max) == "ffffffff")
        #expect(Hexadecimal.encode(UInt32(0)) == "00000000")
    }

    @Test func digitsHaveValuesInEitherCase() {
        for (value, digits) in zip(
            0..., ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "aA", "bB", "cC", "dD", "eE", "fF"])
        {
            for digit in digits.utf8 { #expect(Hexadecimal.value(digit) == UInt8(value)) }
        }
        for byte in "/:@G`g +-".utf8 { #expect(Hexadecimal.value(byte) == nil) }
    }
}
