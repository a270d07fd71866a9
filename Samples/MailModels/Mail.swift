import FunctionsRuntime

/// `mail/{id}`: a mail to send. The bundle of mails sends it; other bundles write it.
public struct Mail: Codable, Equatable, Sendable {
    public var to: String
    public var subject: String
    public var text: String
    /// How sending went; nil until then.
    public var delivery: Delivery?

    public struct Delivery: Codable, Equatable, Sendable {
        /// The provider's id of the mail.
        public var id: String
        public var time: Timestamp

        public init(id: String, time: Timestamp) {
            self.id = id
            self.time = time
        }
    }

    public init(to: String, subject: String, text: String) {
        self.to = to
        self.subject = subject
        self.text = text
    }
}
