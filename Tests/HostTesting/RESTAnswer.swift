/// The part of a response that tests compare.
package struct RESTAnswer: Equatable, Sendable {
    package var status: Int
    package var body: String

    package init(status: Int, body: String) {
        self.status = status
        self.body = body
    }
}
