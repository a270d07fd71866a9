package import MailTransfer
package import TextFormats
package import UserStore

/// Sends mails by SMTP.
package struct MailBySMTP: MessageTransport {
    private let server: SMTPServer
    private let composer: MailComposer
    private let from: MailAddress

    package init(_ server: SMTPServer, from: MailAddress, composer: MailComposer) {
        self.server = server
        self.from = from
        self.composer = composer
    }

    package func send(_ message: OutgoingMessage) async -> TransferOutcome {
        guard case .mail(let content)? = message.content else { return .refused(reason: "it isn't a mail") }
        guard let to = MailAddress(content.to) else { return .refused(reason: "its address can't receive mail") }
        let composed = composer.mail(content)
        let mail = MailMessage(
            id: message.idText, from: from, replyTo: composer.replyTo, to: to, subject: composed.subject,
            text: composed.text, html: composed.html, date: message.createdAt / 1000)
        return await server.send(mail.bytes, from: from, to: to)
    }
}
