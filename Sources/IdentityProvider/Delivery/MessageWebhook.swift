import Crypto
import DocumentModel
package import MailTransfer
package import OutboundHTTP
import StrictJSON
import TextFormats
package import TokenVerification
package import UserStore

/// A service of the team's that takes messages: each is posted to it as JSON, signed as Standard Webhooks describes.
package struct MessageWebhook: MessageTransport {
    /// The key that requests are signed with.
    package struct Key: Hashable, Sendable {
        let bytes: [UInt8]

        private static let leastBytes = 16

        /// - Parameter text: base64 of at least 16 bytes, perhaps after `whsec_`.
        /// - Returns: nil if it is something else.
        package init?(_ text: String) {
            let encoded = text.hasPrefix("whsec_") ? text.dropFirst(6) : Substring(text)
            guard let bytes = Base64.decode(encoded), bytes.count >= Self.leastBytes else { return nil }
            self.bytes = bytes
        }
    }

    private static let limits = OutboundLimits(maxBytes: 64 * 1024, silence: .seconds(10), whole: .seconds(30))

    private let address: String
    private let key: Key
    private let project: String
    private let composer: MailComposer
    private let transport: any OutboundTransport
    private let now: WallClock

    /// - Parameters:
    ///   - address: an http or https URL.
    ///   - project: the project's id, which each request has.
    package init(
        address: String, key: Key, project: String, composer: MailComposer,
        transport: any OutboundTransport = OutboundClient(), now: @escaping WallClock = systemWallClock
    ) {
        self.address = address
        self.key = key
        self.project = project
        self.composer = composer
        self.transport = transport
        self.now = now
    }

    package func send(_ message: OutgoingMessage) async -> TransferOutcome {
        guard let body = try? JSONValue.object(body(of: message)).serialized() else {
            return .refused(reason: "the message isn't UTF-8")
        }
        let response: OutboundResponse
        do throws(OutboundError) {
            response = try await transport.send(
                OutboundRequest(
                    to: address, headers: headers(of: message, body), body: body, limits: Self.limits, need: .status))
        } catch {
            return .failed(reason: "the webhook can't be reached: \(error)", mayHaveArrived: error.kind != .notSent)
        }
        let reason = "the webhook returned status \(response.status)"
        switch response.status {
        case 200..<300: return .accepted
        // It doesn't take this message.
        case 400, 410, 413, 422: return .refused(reason: reason)
        // It takes none at the moment, such as behind a proxy or with another key.
        case 400..<500, 503: return .failed(reason: reason, mayHaveArrived: false)
        default: return .failed(reason: reason, mayHaveArrived: true)
        }
    }

    private func headers(of message: OutgoingMessage, _ body: [UInt8]) -> [String: String] {
        let (id, time) = (message.idText, now())
        var hmac = HMAC<SHA256>(key: SymmetricKey(data: key.bytes))
        hmac.update(data: Array("\(id).\(time).".utf8))
        hmac.update(data: body)
        return [
            "Content-Type": "application/json", "User-Agent": "functions-host", "webhook-id": id,
            "webhook-timestamp": "\(time)",
            "webhook-signature": "v1," + Base64.encode(Array(hmac.finalize())),
        ]
    }

    private func body(of message: OutgoingMessage) -> JSONObject {
        var body: JSONObject = ["id": .string(message.idText), "project": .string(project)]
        switch message.content {
        case .mail(let content):
            let mail = composer.mail(content)
            body["type"] = .string(content.kind.templateName)
            body["to"] = .string(content.to)
            body["from"] = composer.from.map { .string($0.mailbox) }
            body["replyTo"] = composer.replyTo.map { .string($0.mailbox) }
            body["subject"] = .string(mail.subject)
            body["text"] = .string(mail.text)
            body["html"] = mail.html.map(JSONValue.string)
            body["link"] = .string(content.link)
            body["email"] = .string(content.email)
            body["newEmail"] = content.newEmail.map(JSONValue.string)
            body["displayName"] = content.displayName.map(JSONValue.string)
            body["language"] = .string(content.language)
        case .text(let content):
            body["type"] = .string(OutgoingMessage.textKind)
            body["to"] = .string(content.phoneNumber)
            body["code"] = .string(content.code)
            body["text"] = .string("\(content.code) is your verification code for \(composer.appName).")
            body["language"] = .string(content.language)
        case nil: break
        }
        body["createdAt"] = .string(Timestamp(microseconds: message.createdAt * 1000).rfc3339)
        body["expiresAt"] = .string(Timestamp(seconds: message.expires, nanoseconds: 0).rfc3339)
        return body
    }
}

extension OutgoingMessage {
    /// The kind of messages with a code for a phone number.
    static let textKind = "verificationCode"

    var idText: String { Hexadecimal.encode(id) }
}

extension MailAddress {
    /// The name and the address, as people read them.
    fileprivate var mailbox: String { name.map { "\($0) <\(address)>" } ?? address }
}
