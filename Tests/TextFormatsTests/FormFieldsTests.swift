import Testing
import TextFormats

@Suite struct FormFieldsTests {
    /// As the SDK of iOS sends what a provider tells it.
    @Test(arguments: [
        ("a=50%+x&b=1", ["a": "50% x", "b": "1"]), ("a=%FF&b=%C3%A4", ["a": "\u{FFFD}", "b": "ä"]),
        ("%=1&b=%4", ["%": "1", "b": "%4"]), ("a=1&a=%%41", ["a": "%A"]),
        ("a=b=c&d&&=", ["a": "b=c", "d": "", "": ""]),
    ])
    func aFieldThatIsNotPercentEncodedTakesNoOtherAway(form: String, values: [String: String]) {
        #expect(FormFields.values(form.utf8) == values)
    }

    @Test func aFieldThatTakesLongToCompareIsLeftOut() {
        let marks = String(repeating: "%CC%81%CC%A3", count: 501)
        #expect(FormFields.values("a=\(marks)%&b=1&c=\(marks)".utf8) == ["b": "1"])
    }

    @Test func wholeFormsAreChecked() { #expect(FormFields.pairs("a=%&b=1".utf8) == nil) }
}
