import CMailTransfer
import Foundation
import Sharing
import Synchronization
package import TextFormats

/// A server that takes mails, by SMTP.
///
/// Each transfer has a connection and a thread of its own, since the library blocks: the caller bounds how many run at the
/// same time.
package struct SMTPServer: Hashable, Sendable {
    package enum Encryption: Hashable, Sendable {
        /// From the first byte.
        case implicit
        /// From the command STARTTLS on, without which nothing is sent.
        case startTLS
        case none
    }

    package struct Login: Hashable, Sendable {
        package var user: String
        package var password: String

        package init(user: String, password: String) {
            self.user = user
            self.password = password
        }
    }

    /// A name, or an IPv4 or IPv6 address.
    package var host: String
    package var port: Int
    package var encryption: Encryption
    package var login: Login?
    /// A file of trusted certificates in PEM; nil for the system's.
    package var authorities: String?

    /// How long connecting may take, in seconds.
    package var connectTime = 10
    /// How long everything may take, in seconds. Less than the time for which a message is leased.
    package var wholeTime = 40
    /// Of a transfer's thread, in bytes; 0 for the system's.
    var stackSize = 0

    package init(
        host: String, port: Int, encryption: Encryption, login: Login? = nil, authorities: String? = nil
    ) {
        self.host = host
        self.port = port
        self.encryption = encryption
        self.login = login
        self.authorities = authorities
    }

    /// Sends a message.
    ///
    /// When the caller's task is cancelled, a transfer ends within about a second, unless a part of the message was sent
    /// already: then it ends as it would have.
    ///
    /// - Parameter message: as ``MailMessage/bytes``.
    package func send(_ message: [UInt8], from: MailAddress, to: MailAddress) async -> TransferOutcome {
        Self.prepared
        let stop = StopFlag()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                do throws(SystemThread.Refused) {
                    try SystemThread.start("mail", stackSize: stackSize) {
                        continuation.resume(returning: transfer(message, from: from, to: to, until: stop))
                    }
                } catch {
                    continuation.resume(returning: .failed(reason: error.description, mayHaveArrived: false))
                }
            }
        } onCancel: {
            stop.isSet.store(true, ordering: .relaxed)
        }
    }

    private static let prepared: Void = functions_mail_prepare()

    private var url: String {
        let scheme = encryption == .implicit ? "smtps" : "smtp"
        return "\(scheme)://\(host.contains(":") ? "[\(host)]" : host):\(port)"
    }

    private func transfer(
        _ message: [UInt8], from: MailAddress, to: MailAddress, until stop: StopFlag
    ) -> TransferOutcome {
        var result = functions_mail_result()
        let texts = [url, login?.user, login?.password, authorities, "<\(from.address)>", "<\(to.address)>"]
        let copies = texts.map { $0.map { strdup($0) } ?? nil }
        defer { for copy in copies { free(copy) } }
        message.withUnsafeBufferPointer { message in
            var mail = functions_mail()
            mail.url = UnsafePointer(copies[0])
            mail.requires_tls = encryption == .none ? 0 : 1
            mail.user = UnsafePointer(copies[1])
            mail.password = UnsafePointer(copies[2])
            mail.authorities = UnsafePointer(copies[3])
            mail.from = UnsafePointer(copies[4])
            mail.to = UnsafePointer(copies[5])
            mail.message = message.baseAddress
            mail.length = message.count
            mail.connect_seconds = connectTime
            mail.whole_seconds = wholeTime
            withExtendedLifetime(stop) {
                functions_mail_send(
                    &mail,
                    { context in
                        guard let context else { return 0 }
                        let stop = Unmanaged<StopFlag>.fromOpaque(context).takeUnretainedValue()
                        return stop.isSet.load(ordering: .relaxed) ? 1 : 0
                    }, Unmanaged.passUnretained(stop).toOpaque(), &result)
            }
        }
        let reason = withUnsafeBytes(of: &result.reason) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        return switch result.status {
        case functions_mail_accepted: .accepted
        case functions_mail_refused: .refused(reason: reason)
        case functions_mail_lost: .failed(reason: reason, mayHaveArrived: true)
        case functions_mail_stopped: .failed(reason: "the host stops", mayHaveArrived: false)
        default: .failed(reason: reason, mayHaveArrived: false)
        }
    }
}

/// Whether a transfer is to end.
private final class StopFlag: Sendable {
    let isSet = Atomic(false)
}
