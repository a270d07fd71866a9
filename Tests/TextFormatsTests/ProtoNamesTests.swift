import Testing
import TextFormats

@Suite struct ProtoNamesTests {
    @Test(arguments: [
        ("page_size", "pageSize"), ("pageSize", "pageSize"), ("mask.field_paths", "mask.fieldPaths"), ("", ""),
        ("a_b_c", "aBC"), ("_a", "A"), ("a__b_", "aB"),
    ])
    func aNameOfAProtoFileHasOneInJSON(name: String, inJSON: String) {
        #expect(ProtoNames.camelCase(name) == inJSON)
    }
}
