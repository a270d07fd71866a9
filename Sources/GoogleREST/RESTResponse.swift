package import DocumentModel
package import HTTPTypes
package import Hummingbird
import NIOCore
package import StrictJSON

/// Responses in the format of Google's REST APIs.
package enum RESTResponse {
    package static let jsonHeaders: HTTPFields = [.contentType: "application/json; charset=UTF-8"]

    package static func json(_ bytes: [UInt8], status: HTTPResponse.Status) -> Response {
        Response(
            status: status, headers: jsonHeaders,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    package static func error(_ error: DocumentError) -> Response {
        var text = JSONWriter()
        text.error(error)
        return json(text.bytes, status: .init(code: error.code.httpStatus))
    }
}

extension JSONWriter {
    package static let emptyObject: JSONWriter = {
        var text = JSONWriter()
        text.raw("{}")
        return text
    }()
}
