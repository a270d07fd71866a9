package import TextFormats

/// A mail as it is sent: headers, and a text with its alternative in HTML.
///
/// The same values make the same bytes, so that a message that was sent twice can be recognized.
package struct MailMessage: Hashable, Sendable {
    /// Letters and digits, unique; `Message-ID` has it.
    package var id: String
    package var from: MailAddress
    package var replyTo: MailAddress?
    package var to: MailAddress
    package var subject: String
    package var text: String
    /// Nil for a mail of text alone.
    package var html: String?
    /// Seconds since 1970.
    package var date: Int64

    package init(
        id: String, from: MailAddress, replyTo: MailAddress? = nil, to: MailAddress, subject: String, text: String,
        html: String? = nil, date: Int64
    ) {
        self.id = id
        self.from = from
        self.replyTo = replyTo
        self.to = to
        self.subject = subject
        self.text = text
        self.html = html
        self.date = date
    }

    /// The message by RFC 5322 and RFC 2046, in lines of at most 998 bytes that end with CR LF.
    package var bytes: [UInt8] {
        let domain = from.domain.utf8.allSatisfy { $0 < 128 } ? from.domain : "mail.invalid"
        var lines = [
            "Date: " + HeaderText.date(date),
            "From: " + HeaderText.mailbox(from),
            "To: " + HeaderText.mailbox(to),
        ]
        if let replyTo { lines.append("Reply-To: " + HeaderText.mailbox(replyTo)) }
        lines += [
            "Subject: " + HeaderText.unstructured(subject),
            "Message-ID: <\(id)@\(domain)>",
            "Auto-Submitted: auto-generated",
            "MIME-Version: 1.0",
        ]
        guard let html else {
            lines += Self.part(text, "plain")
            return Self.joined(lines)
        }
        // The encoded parts have no line with this text: they have no equals sign before an underscore.
        let boundary = "=_\(id)"
        lines += ["Content-Type: multipart/alternative; boundary=\"\(boundary)\"", ""]
        for (part, kind) in [(text, "plain"), (html, "html")] { lines += ["--" + boundary] + Self.part(part, kind) }
        lines.append("--\(boundary)--")
        return Self.joined(lines)
    }

    private static func part(_ text: String, _ kind: String) -> [String] {
        [
            "Content-Type: text/\(kind); charset=utf-8", "Content-Transfer-Encoding: quoted-printable", "",
            QuotedPrintable.encode(text),
        ]
    }

    private static func joined(_ lines: [String]) -> [UInt8] { Array((lines.joined(separator: "\r\n") + "\r\n").utf8) }
}
