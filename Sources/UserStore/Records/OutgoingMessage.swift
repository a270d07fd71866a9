import DocumentModel

/// A mail or a text message to a user, from the request that asks for it until it is no longer needed.
///
///     waiting ── lease, attempt ──> accepted or given up: settled ── a minute after the request ──> deleted
///        ^             │
///        └── failed ───┘
///
/// A settled message has no content: it only keeps another request within the same minute from sending one more.
package struct OutgoingMessage: Hashable, Sendable {
    package enum Content: Hashable, Sendable {
        case mail(MailContent)
        /// A text message.
        case text(TextContent)
    }

    /// How a message leaves. A server that hangs holds up the messages of its own lane alone.
    package enum Lane: Hashable, Sendable, CaseIterable {
        case mail, text
    }

    /// Unique, and the same for all attempts.
    package var id: [UInt8]
    /// Nil once it was sent or given up.
    package var content: Content?
    /// Messages that were sent or given up count as mails.
    package var lane: Lane {
        if case .text = content { return .text }
        return .mail
    }

    /// Milliseconds since 1970.
    package var createdAt: Int64
    /// When the code in it expires, in seconds since 1970.
    package var expires: Int64
    package var attempts: Int
    /// When it is attempted next, or deleted, in seconds since 1970. While it is being sent, the end of the lease.
    package var due: Int64

    package init(id: [UInt8], _ content: Content, createdAt: Int64, expires: Int64) {
        self.id = id
        self.content = content
        self.createdAt = createdAt
        self.expires = expires
        attempts = 0
        due = createdAt / 1000
    }
}

package struct MailContent: Hashable, Sendable {
    package var kind: MailAction.Kind
    /// Empty if there is no such user.
    package var to: String
    package var link: String
    /// The address that the action is about.
    package var email: String
    package var newEmail: String?
    package var displayName: String?
    /// The language that the client has asked for, such as `de-CH`.
    package var language: String

    /// Whether it goes through the queue like any other mail and isn't sent, so that the time of requests hardly tells
    /// whether there is such a user.
    package var isDecoy: Bool { to.isEmpty }

    package init(
        _ kind: MailAction.Kind, to: String, link: String, email: String, newEmail: String? = nil,
        displayName: String? = nil, language: String
    ) {
        self.kind = kind
        self.to = to
        self.link = link
        self.email = email
        self.newEmail = newEmail
        self.displayName = displayName
        self.language = language
    }
}

package struct TextContent: Hashable, Sendable {
    package var phoneNumber: String
    package var code: String
    package var language: String

    package init(phoneNumber: String, code: String, language: String) {
        self.phoneNumber = phoneNumber
        self.code = code
        self.language = language
    }
}

extension OutgoingMessage {
    init(stored bytes: [UInt8]) throws(DecodingFailure) {
        var reader = ByteReader(bytes)
        id = try reader.blob()
        createdAt = try reader.signed()
        expires = try reader.signed()
        attempts = Int(clamping: try reader.varint())
        due = try reader.signed()
        switch try reader.byte() {
        case 0: content = nil
        case 1: content = .mail(try MailContent(from: &reader))
        case 2:
            content = .text(
                TextContent(
                    phoneNumber: try reader.string(), code: try reader.string(), language: try reader.string()))
        case let kind: throw DecodingFailure("there is no message of kind \(kind)")
        }
        try reader.finish()
    }

    var stored: [UInt8] {
        var writer = ByteWriter(reservingCapacity: 256)
        writer.write(blob: id)
        writer.write(signed: createdAt)
        writer.write(signed: expires)
        writer.write(count: attempts)
        writer.write(signed: due)
        switch content {
        case nil: writer.write(byte: 0)
        case .mail(let mail):
            writer.write(byte: 1)
            mail.write(to: &writer)
        case .text(let text):
            writer.write(byte: 2)
            for field in [text.phoneNumber, text.code, text.language] { writer.write(field) }
        }
        return writer.bytes
    }
}

extension MailContent {
    fileprivate init(from reader: inout ByteReader) throws(DecodingFailure) {
        let name = try reader.string()
        guard let kind = MailAction.Kind(rawValue: name) else {
            throw DecodingFailure("there is no mail of kind \(name)")
        }
        self.kind = kind
        to = try reader.string()
        link = try reader.string()
        email = try reader.string()
        newEmail = try reader.text()
        displayName = try reader.text()
        language = try reader.string()
    }

    fileprivate func write(to writer: inout ByteWriter) {
        for field in [kind.rawValue, to, link, email] { writer.write(field) }
        writer.write(text: newEmail)
        writer.write(text: displayName)
        writer.write(language)
    }
}
