package import MailTransfer
package import UserStore

/// Takes messages to their receivers.
package protocol MessageTransport: Sendable {
    /// Attempts to send a message. Every attempt has the same id.
    ///
    /// - Returns: within a minute, for which the message is leased.
    func send(_ message: OutgoingMessage) async -> TransferOutcome
}

/// How codes reach users, as functions.json has it.
package struct MessageDelivery: Sendable {
    /// Nil if no mail is sent.
    package var mail: (any MessageTransport)?
    /// Takes text messages; nil if none is sent.
    package var texts: (any MessageTransport)?
    /// How many messages may wait at a time.
    package var maxWaiting = 10_000

    package init(mail: (any MessageTransport)? = nil, texts: (any MessageTransport)? = nil) {
        self.mail = mail
        self.texts = texts
    }

    func transport(of content: OutgoingMessage.Content) -> (any MessageTransport)? {
        switch content {
        case .mail: mail
        case .text: texts
        }
    }
}
