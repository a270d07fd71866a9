import DocumentModel
import NIOCore
import StrictJSON
import Testing

@testable import GoogleREST

/// The common parts of Google's REST APIs: query parameters, bodies and errors.
@Suite struct RESTParametersTests {
    @Test func knownParametersAreDecoded() throws {
        let parameters = try RESTParameters("a=x+y%2B&b&a=z&key=ignored&%24alt=json", known: ["a", "b"])
        #expect(parameters.all("a") == ["x y+", "z"])
        #expect(parameters["a"] == "z")
        #expect(parameters["b"] == "")
        #expect(parameters["key"] == nil)
        #expect(try RESTParameters(nil, known: [])["a"] == nil)
    }

    @Test func parametersHaveTheNamesOfTheProtoFileToo() throws {
        let parameters = try RESTParameters(
            "mask.field_paths=a&page_size=2&mask.fieldPaths=b", known: ["mask.fieldPaths", "pageSize"])
        #expect(parameters.all("mask.fieldPaths") == ["a", "b"])
        #expect(parameters["pageSize"] == "2")
    }

    @Test func parametersOfAllGooglesAPIsChangeNothing() throws {
        let common = "fields=name&quotaUser=u&uploadType=media&upload_protocol=raw&$.xgafv=2&prettyPrint=false"
        #expect(try RESTParameters("\(common)&a=1", known: ["a"])["a"] == "1")
    }

    @Test(arguments: [
        ("page_sizes=1", "unknown query parameter \"page_sizes\""),
        ("access_token=x", "unknown query parameter \"access_token\""),
        ("c=1", "unknown query parameter \"c\""),
        ("a=%zz", "the query parameter \"a=%zz\" is not valid percent-encoding"),
    ]) func unknownParametersAreRefused(query: String, message: String) {
        let error = #expect(throws: DocumentError.self) { try RESTParameters(query, known: ["a"]) }
        #expect(error == .invalidArgument(message))
    }

    @Test func booleansAreTrueOrFalse() throws {
        let parameters = try RESTParameters("yes=true&no=false&odd=1", known: ["yes", "no", "odd"])
        #expect(try parameters.boolean("yes") == true)
        #expect(try parameters.boolean("no") == false)
        #expect(try parameters.boolean("other") == nil)
        #expect(throws: DocumentError.self) { try parameters.boolean("odd") }
    }

    @Test func aBodyThatIsNotJSONIsRefusedWithItsPosition() {
        let body = RESTBody(ByteBuffer(string: "{\n  \"a\": nul}"))
        let error = #expect(throws: DocumentError.self) { try body.read { _ in } }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message.hasPrefix("the body, line 2, column 8") == true)
    }

    @Test func anEmptyBodyIsAnEmptyObject() throws {
        #expect(try RESTBody(ByteBuffer()).read { $0["a"] == nil })
    }

    @Test func errorsHaveGooglesFormat() {
        var text = JSONWriter()
        text.error(DocumentError(.notFound, "no \"a\""))
        #expect(
            String(decoding: text.bytes, as: UTF8.self)
                == #"{"error":{"code":404,"message":"no \"a\"","status":"NOT_FOUND"}}"#)
    }
}
