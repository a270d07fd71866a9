package import DocumentModel
import StrictJSON

/// The part of a response that tests compare.
package struct RESTAnswer: Equatable, Sendable {
    package var status: Int
    package var body: String

    package init(status: Int, body: String) {
        self.status = status
        self.body = body
    }

    /// An error as Google's REST APIs write it.
    package static func error(_ status: StatusCode, _ message: String) -> RESTAnswer {
        var text = JSONWriter()
        text.string(message)
        let quoted = String(decoding: text.bytes, as: UTF8.self)
        return RESTAnswer(
            status: status.httpStatus,
            body: "{\"error\":{\"code\":\(status.httpStatus),\"message\":\(quoted),\"status\":\"\(status.wireName)\"}}")
    }
}
