import Logging
import UserStore

/// Takes codes to their receivers: to the queue of messages if functions.json has a way for them, and in development to the
/// log, beside the list of codes.
struct CodeDelivery: Sendable {
    let isDevelopment: Bool
    let delivery: MessageDelivery
    let queue: MessageQueue
    let logger: Logger

    /// Whether there is a way for codes, even if only to the log.
    var takesMail: Bool { isDevelopment || sendsMail }
    var takesTexts: Bool { isDevelopment || sendsTexts }

    /// Whether messages leave the host.
    var sendsMail: Bool { delivery.mail != nil }
    var sendsTexts: Bool { delivery.texts != nil }

    /// Goes on with the code of a mail once it is stored.
    func announce(_ action: MailAction, link: String) {
        queue.wake.raise()
        guard isDevelopment else { return }
        logger.notice(
            sendsMail ? "code of a mail" : "a mail would be sent",
            metadata: [
                "mail.purpose": "\(action.kind.rawValue)", "mail.to": "\(action.receiver)", "mail.link": "\(link)",
            ])
    }

    /// Tells developers why no mail comes, where clients may not know. It takes as long as the other.
    func announceDecoy(_ action: MailAction, link: String) {
        queue.wake.raise()
        guard isDevelopment else { return }
        logger.notice(
            "no mail is sent: no user has its address",
            metadata: [
                "mail.purpose": "\(action.kind.rawValue)", "mail.to": "\(action.receiver)",
                "mail.unusableLink": "\(link)",
            ])
    }

    func announce(code: String, to phoneNumber: String) {
        queue.wake.raise()
        guard isDevelopment else { return }
        logger.notice(
            sendsTexts ? "code of a text message" : "a text message would be sent",
            metadata: ["sms.to": "\(phoneNumber)", "sms.code": "\(code)"])
    }
}

extension MailAction {
    /// Whose mail it is: a new address is verified before it takes the place of the old one.
    var receiver: String { kind == .verifyAndChangeEmail ? newEmail ?? email : email }
}
