/// The part of a response that tables of requests and responses compare.
package struct RESTAnswer: Equatable, Sendable {
    package var status: Int
    package var body: String

    package init(status: Int, body: String) {
        self.status = status
        self.body = body
    }
}
