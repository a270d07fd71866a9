import FunctionManifest
import Testing

@Suite struct ParamProblemTests {
    private func problems(_ params: ParamManifest...) -> [String] {
        Manifest(functions: [], params: params).problems.map(\.description)
    }

    @Test(arguments: ["greeting", "1A", "", "A-B", "Ä", String(repeating: "A", count: 129)])
    func aNameThatNoFileCanHaveIsRefused(name: String) {
        #expect(problems(.init(name, .string)).count == 1)
    }

    @Test(arguments: [
        "PORT", "K_SERVICE", "FIREBASE_TOKEN", "X_GOOGLE_A", "K_ANY", "HOST", "TRUSTED_PROXIES", "GCE_METADATA_HOST",
    ])
    func aNameThatMeansSomethingElseIsRefused(name: String) {
        #expect(problems(.init(name, .string)) == ["param \"\(name)\": the name is reserved; choose another"])
    }

    @Test func namesAreUniqueAndDefaultsOfTheirType() {
        #expect(problems(.init("A", .int, defaultValue: .int(1)), .init("_B2", .secret)).isEmpty)
        #expect(
            problems(.init("A", .int), .init("A", .string)) == [#"param "A": two params have this name; rename one"#])
        #expect(
            problems(.init("A", .int, defaultValue: .string("1")))
                == [#"param "A": it is an integer, and its default is a string"#])
        #expect(problems(.init("A", .float, defaultValue: .float(0.5))).isEmpty)
        #expect(
            problems(.init("A", .float, defaultValue: .int(1)))
                == [#"param "A": it is a finite number, and its default is an integer"#])
        for number in [Double.infinity, -.infinity, .nan] {
            #expect(
                problems(.init("A", .float, defaultValue: .float(number)))
                    == [#"param "A": its default isn't a finite number"#])
        }
        #expect(problems(.init("A", .secret, defaultValue: .string("1"))).count == 1)
    }
}
