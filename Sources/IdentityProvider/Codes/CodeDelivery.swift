import Logging
import UserStore

/// Takes codes to their receivers: in development to the log, beside the list of codes.
struct CodeDelivery: Sendable {
    let isDevelopment: Bool
    let logger: Logger

    /// Whether there is a way for mails, and for text messages.
    var sendsMail: Bool { isDevelopment }
    var sendsTexts: Bool { isDevelopment }

    func announce(_ action: MailAction, link: String) {
        guard isDevelopment else { return }
        logger.notice(
            "a mail would be sent",
            metadata: [
                "mail.purpose": "\(action.kind.rawValue)", "mail.to": "\(action.email)", "mail.link": "\(link)",
            ])
    }

    func announce(code: String, to phoneNumber: String) {
        guard isDevelopment else { return }
        logger.notice("a text message would be sent", metadata: ["sms.to": "\(phoneNumber)", "sms.code": "\(code)"])
    }
}
